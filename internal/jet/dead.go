package jet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Headers of dead letters.
const (
	HeadStage  = "Sanflow-Stage"
	HeadGraph  = "Sanflow-Graph"
	HeadReason = "Sanflow-Reason"
	HeadFrom   = "Sanflow-From"  // stream of a message as it was
	HeadHole   = "Sanflow-Holes" // stream that has a hole instead
	headWas    = "Sanflow-Was-"  // before headers of a message as it was
)

// Dead is that of sources/jetstream, which documents the fields.
type Dead struct {
	Stream, Holes string
	After         int
}

// Letters is an open stream of dead letters.
type Letters struct {
	Dead
	client *Client
}

// OpenLetters makes the stream.
func (c *Client) OpenLetters(ctx context.Context, d Dead) (*Letters, error) {
	if err := CheckName(d.Stream); err != nil {
		return nil, fmt.Errorf("Dead: %w", err)
	}
	err := c.Ask(ctx, func(ctx context.Context) error {
		_, err := c.JS.Stream(ctx, d.Stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			_, err = c.JS.CreateStream(ctx, jetstream.StreamConfig{
				Name: d.Stream, Subjects: []string{d.Stream + ".l.*"}, Replicas: c.Replicas, AllowDirect: true, Discard: jetstream.DiscardNew,
				Metadata: map[string]string{metaVersion: version},
			})
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
				err = nil
			}
		}
		return err
	})
	if err != nil {
		return nil, Of(d.Stream, err)
	}
	return &Letters{d, c}, nil
}

// Row puts a row that a stage has refused.
func (l *Letters) Row(ctx context.Context, stage string, graph, pos int64, reason error, row arrow.Record) error {
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(row.Schema()))
	if err := w.Write(row); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	m := nats.NewMsg("")
	m.Data = b.Bytes()
	m.Header.Set(headPos, strconv.FormatInt(pos, 10))
	if err := l.put(ctx, m, stage, graph, reason); err != nil || pos < 0 {
		return err
	}
	return l.hole(ctx, pos)
}

// Message puts a message as it is.
func (l *Letters) Message(ctx context.Context, from, subject string, h nats.Header, body []byte, why error) error {
	m := nats.NewMsg("")
	m.Data = body
	for k, v := range h {
		if strings.HasPrefix(k, "Sanflow-") && len(v) > 0 {
			m.Header.Set(headWas+k, v[0])
		}
	}
	m.Header.Set(HeadFrom, from+" "+subject)
	if err := l.put(ctx, m, "jetstream", -1, why); err != nil || h.Get(headPos) == "" {
		return err
	}
	spans, err := parseSpans(h.Get(headPos))
	if err != nil || subject != Subject(from, spans[0].From) {
		return nil // no reader waits for it
	}
	n := 0
	for _, s := range spans {
		for p := s.From; p <= s.To && n < 1<<16; p, n = p+1, n+1 {
			if err := l.hole(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Letters) put(ctx context.Context, m *nats.Msg, stage string, graph int64, reason error) error {
	text := strings.Join(strings.Fields(reason.Error()), " ")
	m.Header.Set(HeadStage, stage)
	m.Header.Set(HeadGraph, strconv.FormatInt(graph, 10))
	m.Header.Set(HeadReason, text[:min(len(text), 1000)])
	if l.Holes != "" {
		m.Header.Set(HeadHole, l.Holes)
	}
	h := sha256.New()
	fmt.Fprintln(h, stage, graph, m.Header.Get(headPos), m.Header.Get(HeadFrom))
	h.Write(m.Data)
	id := hex.EncodeToString(h.Sum(nil)[:16])
	m.Subject = l.Stream + ".l." + id
	// The same letter again, of a message that came again, is refused.
	m.Header.Set(nats.ExpectedLastSubjSeqHdr, "0")
	return l.client.Publish(ctx, l.Stream, m)
}

func (l *Letters) hole(ctx context.Context, pos int64) error {
	if l.Holes == "" {
		return nil
	}
	return l.client.Publish(ctx, l.Holes, Hole(l.Holes, pos))
}

// Unhole deletes the holes at these positions, and the mark of the end.
func (c *Client) Unhole(ctx context.Context, stream string, spans []Span) error {
	subjects := []string{EndSubject(stream)}
	for _, x := range spans {
		for p := x.From; p <= x.To; p++ {
			subjects = append(subjects, Subject(stream, p))
		}
	}
	for i, subject := range subjects {
		if err := c.clear(ctx, stream, subject, i > 0); err != nil {
			return Of(stream, err)
		}
	}
	return nil
}

// clear deletes the message of a subject, perhaps only a hole, until it is not there.
func (c *Client) clear(ctx context.Context, stream, subject string, hole bool) error {
	for {
		m, err := c.Last(ctx, stream, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && hole && m.Header.Get(headKind) != kindHole {
			return nil
		}
		if err == nil {
			err = c.Ask(ctx, func(ctx context.Context) error {
				s, err := c.JS.Stream(ctx, stream)
				if err == nil {
					err = s.DeleteMsg(ctx, m.Sequence)
				}
				return err
			})
		}
		if err != nil {
			return err
		}
	}
}

// Publish publishes a message and waits for it. One that is there is fine.
func (c *Client) Publish(ctx context.Context, stream string, m *nats.Msg) error {
	_, err := c.Offer(ctx, stream, m)
	return err
}

// Offer publishes a message and waits for it, and reports whether its position was taken. The
// broker says so of one that is on its way too, as this one is when it is sent again: it is sent
// until there is one.
func (c *Client) Offer(ctx context.Context, stream string, m *nats.Msg) (taken bool, err error) {
	err = c.Ask(ctx, func(ctx context.Context) error {
		_, err := c.JS.PublishMsg(ctx, m)
		if taken = Taken(err); !taken {
			return err
		}
		if _, err = c.get(ctx, stream, getRequest{LastFor: m.Subject}); errors.Is(err, jetstream.ErrMsgNotFound) {
			return fmt.Errorf("%s: %w", m.Subject, errUnderWay)
		}
		return err
	})
	return taken, Of(stream, err)
}

// There reports whether a stream has a message where m belongs, and not a hole. One with
// another content is an error.
func (c *Client) There(ctx context.Context, stream string, m *nats.Msg) (there bool, err error) {
	got, err := c.Last(ctx, stream, m.Subject)
	switch there = err == nil && got.Header.Get(headKind) != kindHole; {
	case err == nil && !there, errors.Is(err, jetstream.ErrMsgNotFound):
		return false, nil
	case err == nil && SumOf(got.Header) != SumOf(m.Header):
		err = fmt.Errorf("%s has another content: what was refused of it can be sent when that is done", m.Subject)
	}
	return there, Of(stream, err)
}

// Was returns a message as it was before it became a letter, or nil.
func Was(h nats.Header, body []byte) *nats.Msg {
	_, subject, ok := strings.Cut(h.Get(HeadFrom), " ")
	if !ok {
		return nil
	}
	m := nats.NewMsg(subject)
	m.Data = body
	for k, v := range h {
		if name, ok := strings.CutPrefix(k, headWas); ok {
			m.Header.Set(name, v[0])
		}
	}
	return m
}
