package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/jet"
	"github.com/sanflow/sanflow/internal/tabular"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// Dead is the destination of refused rows.
type Dead = jetstream.Dead

// Letters is an open stream of dead letters: rows that stages have refused, with the
// stage, the graph and the reason in the headers Sanflow-Stage, -Graph and -Reason.
//
//	letters, err := jetstream.OpenLetters(ctx, c, jetstream.Dead{Stream: "dead", Holes: "fields"})
//	…
//	err = p.With(flow.Options{Refused: flow.Keep, DeadLetters: letters.Put}).Run(ctx)
type Letters struct {
	client *jet.Client
	dead   *jet.Letters
	ctx    context.Context
}

// OpenLetters makes the stream, or joins it. What is put into it ends with ctx.
func OpenLetters(ctx context.Context, c Connection, d Dead) (*Letters, error) {
	client, err := jet.Connection(c).Dial(ctx, "letters")
	if err != nil {
		return nil, err
	}
	l, err := client.OpenLetters(ctx, jet.Dead(d))
	if err != nil {
		client.Close()
		return nil, err
	}
	return &Letters{client, l, ctx}, nil
}

// Put publishes a letter and waits for the broker, so that the row has left only
// then. The same letter again is not stored twice.
func (l *Letters) Put(letter flow.Letter) error {
	return l.dead.Row(l.ctx, letter.Stage, letter.Graph, letter.Pos, letter.Err, letter.Row)
}

// Close ends the connection.
func (l *Letters) Close() { l.client.Close() }

// Resend sends the letters of the stream dead to the stream to, and deletes them. The letters came
// from that stream, or have its columns. Resend also deletes the holes that were left for
// them, and the end of the stream with the holes, so that the new rows take their places; run the
// workers again afterwards. It returns the number of letters sent. A row without the columns of the
// stream is an error, and stays; so is a row whose position is taken, as the first row of a message
// is while a worker has its other rows. A letter that an interrupted call has sent is not sent twice.
func Resend(ctx context.Context, c Connection, dead, to string) (n int, err error) {
	client, err := jet.Connection(c).Dial(ctx, "resend")
	if err != nil {
		return 0, err
	}
	defer client.Close()
	letters, err := client.Find(ctx, dead, 0)
	if err != nil {
		return 0, err
	}
	target, err := client.Find(ctx, to, 0)
	if err != nil {
		return 0, err
	}
	schema, err := jet.SchemaOf(target.CachedInfo())
	if err != nil {
		return 0, err
	}
	want, err := schema.Arrow()
	if err != nil {
		return 0, err
	}
	state := letters.CachedInfo().State
	for seq := state.FirstSeq; seq <= state.LastSeq; seq++ {
		m, err := client.At(ctx, dead, seq)
		if errors.Is(err, nc.ErrMsgNotFound) {
			continue
		}
		if err == nil {
			err = resend(ctx, client, to, want, m)
		}
		if err == nil {
			err = letters.DeleteMsg(ctx, seq)
		}
		if err != nil {
			return n, fmt.Errorf("stream %s: letter %d: %w", dead, seq, err)
		}
		n++
	}
	return n, nil
}

func resend(ctx context.Context, client *jet.Client, to string, want *arrow.Schema, m *nc.RawStreamMsg) error {
	msg := jet.Was(m.Header, m.Data)
	var spans []jet.Span
	if msg == nil {
		rec, err := rowOf(ctx, m.Data, want)
		if err != nil {
			return err
		}
		defer rec.Release()
		pos, err := record.Values[int64](rec, record.Pos)
		if err != nil {
			return err
		}
		if spans, err = jet.SpansOf(pos); err != nil {
			return err
		}
		e, err := jet.NewEncoder(want)
		if err != nil {
			return err
		}
		body, err := e.Encode(rec)
		if err != nil {
			return err
		}
		msg = jet.Record(to, spans, len(pos), body)
	} else if note, err := jet.Read(to, msg.Subject, msg.Header, 0); err == nil {
		spans = note.Spans
		again := jet.Record(to, spans, note.Rows, msg.Data)
		msg = again
	} else {
		return err
	}
	there, err := client.There(ctx, to, msg)
	if err != nil {
		return err
	}
	if holes := m.Header.Get(jet.HeadHole); holes != "" {
		if err := client.Unhole(ctx, holes, spans); err != nil {
			return err
		}
	}
	if there {
		return nil
	}
	jet.Afresh(msg)
	taken, err := client.Offer(ctx, to, msg)
	if err == nil && taken { // another client was quicker
		if there, err = client.There(ctx, to, msg); err == nil && !there {
			err = fmt.Errorf("%s is taken", msg.Subject)
		}
	}
	return err
}

// rowOf reads the row of a letter, with the columns of that schema.
func rowOf(ctx context.Context, body []byte, want *arrow.Schema) (arrow.Record, error) {
	letter := tabular.Files{Source: "letter", MaxBytes: 1 << 30, Wrap: func(_ string, err error) error { return err }}
	letter.Given = func(b *tabular.Budget) (tabular.Decoder, error) {
		in := bytes.NewReader(body)
		return tabular.NewIPC(in, in, in.Size(), true, b)
	}
	r, err := letter.Open(ctx, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	rec, err := r.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	if rec.NumRows() != 1 {
		return nil, errors.New("it has " + strconv.FormatInt(rec.NumRows(), 10) + " rows, want one")
	}
	return record.Project(want, rec, nil)
}
