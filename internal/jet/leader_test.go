package jet

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/internal/jet/jettest"
)

// follower answers like a server that is behind, whatever is read by a stream; and
// it says of so many messages that their position is taken, and does not keep them.
type follower struct {
	jetstream.JetStream
	taken int
}

type empty struct{ jetstream.Stream }

func (f *follower) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	s, err := f.JetStream.Stream(ctx, name)
	return empty{s}, err
}

func (f *follower) PublishMsg(ctx context.Context, m *nats.Msg, o ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if f.taken--; f.taken >= 0 {
		return nil, &jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequenceConstant}
	}
	return f.JetStream.PublishMsg(ctx, m, o...)
}

func (empty) GetLastMsgForSubject(context.Context, string) (*jetstream.RawStreamMsg, error) {
	return nil, jetstream.ErrMsgNotFound
}

func (empty) GetMsg(context.Context, uint64, ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return nil, jetstream.ErrMsgNotFound
}

// behind returns a connection to a broker with the stream s and no message, which a follower answers.
func behind(t *testing.T) (*Client, *follower) {
	t.Helper()
	c, err := Connection{URL: jettest.Start(t, nil).ClientURL()}.Dial(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	config := jetstream.StreamConfig{Name: "s", Subjects: []string{"s.>"}, AllowDirect: true}
	if _, err := c.JS.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	f := &follower{JetStream: c.JS}
	c.JS = f
	return c, f
}

// Decisions ask the leader: holes and the end are found and deleted, and existing messages are
// found, whatever a follower says.
func TestLeaderAnswers(t *testing.T) {
	t.Parallel()
	c, _ := behind(t)
	ctx := t.Context()
	end, err := EndMessage("s", End{})
	if err != nil {
		t.Fatal(err)
	}
	large := Record("s", []Span{{9, 9}}, 1, make([]byte, int(c.NC.MaxPayload())-HeaderRoom))
	for _, m := range []*nats.Msg{Hole("s", 3), Record("s", []Span{{4, 4}}, 1, []byte("row")), end, nats.NewMsg("s.p.hello"), large} {
		if err := c.Publish(ctx, "s", m); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := c.There(ctx, "s", large); !there || err != nil {
		t.Errorf("a message is there: %t, %v", there, err)
	}
	if m, err := c.At(ctx, "s", 5); err != nil || len(m.Data) != len(large.Data) || SumOf(m.Header) != SumOf(large.Header) || m.Subject != "s.p.9" {
		t.Errorf("another message, or %v", err)
	}
	if m, err := c.Next(ctx, "s", "s.p.*", 3); err != nil || m.Sequence != 4 || m.Subject != "s.p.hello" || m.Header.Get(headPos) != "" {
		t.Errorf("another message, or %v", err)
	}
	if _, err := c.Next(ctx, "s", "s.p.*", 6); !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Errorf("behind the last message: %v", err)
	}
	if _, err := c.Last(ctx, "none", "none.end"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("of no stream: %v", err)
	}
	s, err := c.JS.Stream(ctx, "s")
	if err == nil {
		_, err = c.Get(ctx, s, 2)
	}
	if err != nil {
		t.Errorf("a message that a follower has not: %v", err)
	}
	if err := c.Unhole(ctx, "s", []Span{{3, 4}}); err != nil {
		t.Fatal(err)
	}
	for subject, there := range map[string]bool{"s.p.3": false, "s.p.4": true, "s.end": false} {
		if _, err := c.Last(ctx, "s", subject); there && err != nil || !there && !errors.Is(err, jetstream.ErrMsgNotFound) {
			t.Errorf("%s: %v, want it there: %t", subject, err, there)
		}
	}
}

// That a position is taken is believed when there is a message: one that was on its way, as a letter
// is that is sent again, may never arrive.
func TestOfferUnderWay(t *testing.T) {
	t.Parallel()
	c, f := behind(t)
	f.taken = 2
	hole := Hole("s", 3)
	if taken, err := c.Offer(t.Context(), "s", hole); taken || err != nil {
		t.Errorf("taken %t: %v", taken, err)
	}
	if _, err := c.Last(t.Context(), "s", hole.Subject); err != nil {
		t.Errorf("it is not there: %v", err)
	}
	if taken, err := c.Offer(t.Context(), "s", hole); !taken || err != nil {
		t.Errorf("again: taken %t: %v", taken, err)
	}
}
