package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Side is the small stream NAME-late beside a stream that its reader purges. It has
// what must find room when that is full:
//
//	NAME-late.note   how far the reader is, and what it waits for
//	NAME-late.p.POS  the message at the position that it waits for
//	NAME-late.end    the end
//
// So a full stream cannot keep away the only message that would empty it.
type Side struct {
	client  *Client
	stream  jetstream.Stream
	name    string
	created int64 // when the stream was made that it stands beside, in ns
}

// Progress is how far a reader is.
type Progress struct {
	Base
	Want    int64 `json:"want"`    // the position that it waits for, or -1
	Created int64 `json:"created"` // of the stream: one that was made again begins anew
}

func sideOf(stream string) string { return stream + "-late" }

// MakeSide makes the side stream of a stream, if it is missing.
func (c *Client) MakeSide(ctx context.Context, of *jetstream.StreamInfo) (*Side, error) {
	name := sideOf(of.Config.Name)
	s := &Side{client: c, name: name, created: of.Created.UnixNano()}
	err := c.Ask(ctx, func(ctx context.Context) (err error) {
		s.stream, err = c.JS.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: name, Subjects: []string{name + ".note", name + ".p.*", EndSubject(name)}, MaxMsgsPerSubject: 1, AllowDirect: true,
			Replicas: c.Replicas, Metadata: map[string]string{metaVersion: version},
		})
		return err
	})
	if err != nil {
		return nil, Of(name, err)
	}
	return s, nil
}

// Side returns the side stream of a stream, or nil if there is none.
func (c *Client) Side(ctx context.Context, of *jetstream.StreamInfo) (*Side, error) {
	name := sideOf(of.Config.Name)
	var s jetstream.Stream
	err := c.Ask(ctx, func(ctx context.Context) (err error) {
		s, err = c.JS.Stream(ctx, name)
		return err
	})
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, nil
	case err != nil:
		return nil, Of(name, err)
	}
	return &Side{c, s, name, of.Created.UnixNano()}, nil
}

// last returns the message of a subject, or nil.
func (s *Side) last(ctx context.Context, subject string) (m *jetstream.RawStreamMsg, err error) {
	m, err = s.client.Last(ctx, s.name, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, Of(s.name, err)
	}
	return m, nil
}

// Progress returns what the reader has told last.
func (s *Side) Progress(ctx context.Context) (p Progress, err error) {
	p.Want, p.Seq = -1, 1
	m, err := s.last(ctx, s.name+".note")
	if err != nil || m == nil {
		return p, err
	}
	if err := json.Unmarshal(m.Data, &p); err != nil {
		return p, Of(s.name, fmt.Errorf("its note: %w", err))
	}
	if p.Created != s.created {
		return Progress{Base: Base{Seq: 1}, Want: -1}, nil
	}
	return p, nil
}

// Clear deletes what is left beside a stream of that name that is gone.
func (s *Side) Clear(ctx context.Context) error {
	m, err := s.last(ctx, s.name+".note")
	var p Progress
	if err != nil || m == nil || json.Unmarshal(m.Data, &p) == nil && p.Created == s.created {
		return err
	}
	return s.client.Purge(ctx, s.stream, m.Sequence+1)
}

// unchanged returns errPurged if the reader has gone on.
func (s *Side) unchanged(ctx context.Context, b Base) error {
	p, err := s.Progress(ctx)
	if err == nil && (p.Next != b.Next || p.Total != b.Total || !slices.Equal(p.Covered, b.Covered)) {
		err = errPurged
	}
	return err
}

// Tell publishes how far the reader is.
func (s *Side) Tell(ctx context.Context, p Progress) error {
	p.Created = s.created
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return s.client.Ask(ctx, func(ctx context.Context) error {
		_, err := s.client.JS.Publish(ctx, s.name+".note", b)
		return err
	})
}

// Put publishes a message of the stream here.
func (s *Side) Put(ctx context.Context, m *nats.Msg) error {
	_, rest, _ := strings.Cut(m.Subject, ".")
	late := &nats.Msg{Subject: s.name + "." + rest, Header: nats.Header{}, Data: m.Data}
	for k, v := range m.Header {
		late.Header[k] = v
	}
	Afresh(late)
	return s.client.Publish(ctx, s.name, late)
}

// Find adds the message at a position, if it is here.
func (s *Side) Find(ctx context.Context, pos int64, x *Index) error {
	return s.find(ctx, Subject(s.name, pos), x)
}

func (s *Side) find(ctx context.Context, subject string, x *Index) error {
	m, err := s.last(ctx, subject)
	if err != nil || m == nil {
		return err
	}
	n, err := Read(s.name, m.Subject, m.Header, m.Sequence)
	if err != nil {
		return Of(s.name, err)
	}
	n.Late = true
	x.Add(&n)
	return nil
}

// Had reports whether the message that begins at a position is here, or was taken by the reader.
func (s *Side) Had(ctx context.Context, first int64) (bool, error) {
	m, err := s.last(ctx, Subject(s.name, first))
	if err != nil || m != nil {
		return m != nil, err
	}
	p, err := s.Progress(ctx) // which the reader tells before it purges
	return first < p.Next, err
}

// End returns the end of the stream, if it is here.
func (s *Side) End(ctx context.Context) (*Note, error) {
	m, err := s.last(ctx, EndSubject(s.name))
	if err != nil || m == nil {
		return nil, err
	}
	n, err := Read(s.name, m.Subject, m.Header, m.Sequence)
	n.Late = true
	return &n, err
}

// late returns the subjects of the messages that are here.
func (s *Side) late(ctx context.Context) (subjects []string, err error) {
	var info *jetstream.StreamInfo
	err = s.client.Ask(ctx, func(ctx context.Context) (err error) {
		info, err = s.stream.Info(ctx, jetstream.WithSubjectFilter(s.name+".p.*"))
		return err
	})
	if err != nil {
		return nil, Of(s.name, err)
	}
	for subject := range info.State.Subjects {
		subjects = append(subjects, subject)
	}
	return subjects, nil
}

// Add adds all messages that are here.
func (s *Side) Add(ctx context.Context, x *Index) error {
	subjects, err := s.late(ctx)
	for _, subject := range subjects {
		if err == nil {
			err = s.find(ctx, subject, x)
		}
	}
	return err
}

// Purge deletes what begins before a position.
func (s *Side) Purge(ctx context.Context, next int64) error {
	subjects, err := s.late(ctx)
	for _, subject := range subjects {
		var first int64
		if _, scan := fmt.Sscanf(strings.TrimPrefix(subject, s.name+".p."), "%d", &first); err != nil || scan != nil || first >= next {
			continue
		}
		err = s.client.Ask(ctx, func(ctx context.Context) error { return s.stream.Purge(ctx, jetstream.WithPurgeSubject(subject)) })
	}
	return err
}

// Get returns a message by its sequence here.
func (s *Side) Get(ctx context.Context, seq uint64) (*jetstream.RawStreamMsg, error) {
	return s.client.Get(ctx, s.stream, seq)
}

// Name is that of the side stream.
func (s *Side) Name() string { return s.name }

// Purge deletes the messages of a stream before a sequence.
func (c *Client) Purge(ctx context.Context, s jetstream.Stream, seq uint64) error {
	return c.Ask(ctx, func(ctx context.Context) error { return s.Purge(ctx, jetstream.WithPurgeSequence(seq)) })
}
