package jetstream

import (
	"context"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/jet"
)

// putter publishes records as sinks/jetstream does, which imports this package.
type putter struct {
	client *jet.Client
	stream jet.Settings
	e      *jet.Encoder
	end    jet.End
}

func (p *putter) Open(in *arrow.Schema) (_ flow.Writer, err error) {
	if _, err = p.client.Make(context.Background(), p.stream, in); err == nil {
		p.e, err = jet.NewEncoder(in)
	}
	return p, err
}

func (p *putter) Write(ctx context.Context, rec arrow.Record) error {
	pos, err := record.Values[int64](rec, record.Pos)
	if err != nil {
		return err
	}
	spans, err := jet.SpansOf(pos)
	if err != nil {
		return err
	}
	body, err := p.e.Encode(rec)
	if err != nil {
		return err
	}
	m := jet.Record(p.stream.Name, spans, len(pos), body)
	n, err := jet.Read(p.stream.Name, m.Subject, m.Header, 0)
	if err != nil {
		return err
	}
	p.end.Count(&n)
	return p.client.Publish(ctx, p.stream.Name, m)
}

func (p *putter) Close(err error) error { return err }

// put publishes what a pipeline makes, and returns a client. A queue gets its end.
func put(t *testing.T, c Connection, s jet.Settings, from flow.Pipeline) *jet.Client {
	t.Helper()
	client, err := jet.Connection(c).Dial(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	p := &putter{client: client, stream: s}
	if err := from.To(p).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.Queue {
		m, err := jet.EndMessage(s.Name, p.end)
		if err == nil {
			err = client.Publish(t.Context(), s.Name, m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return client
}
