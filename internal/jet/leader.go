package jet

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Streams have AllowDirect, so that any of their servers may answer a read by a
// jetstream.Stream, and a server that is behind answers that a message is not there. If that
// matters these ask the leader of the stream.

// Last returns the last message of a subject, or jetstream.ErrMsgNotFound.
func (c *Client) Last(ctx context.Context, stream, subject string) (*jetstream.RawStreamMsg, error) {
	return c.led(ctx, stream, getRequest{LastFor: subject})
}

// At returns the message with a sequence, or jetstream.ErrMsgNotFound.
func (c *Client) At(ctx context.Context, stream string, seq uint64) (*jetstream.RawStreamMsg, error) {
	return c.led(ctx, stream, getRequest{Seq: seq})
}

// Next returns the first message of a subject, which may have stars, from a sequence on, or
// jetstream.ErrMsgNotFound.
func (c *Client) Next(ctx context.Context, stream, subject string, seq uint64) (*jetstream.RawStreamMsg, error) {
	return c.led(ctx, stream, getRequest{Seq: seq, NextFor: subject})
}

// End returns what the mark of the end of a stream says, or nil if there is none.
func (c *Client) End(ctx context.Context, stream string) (*End, error) {
	m, err := c.Last(ctx, stream, EndSubject(stream))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n, err := Read(stream, m.Subject, m.Header, m.Sequence)
	return n.End, err
}

func (c *Client) led(ctx context.Context, stream string, r getRequest) (m *jetstream.RawStreamMsg, err error) {
	err = c.Ask(ctx, func(ctx context.Context) (err error) {
		m, err = c.get(ctx, stream, r)
		return err
	})
	return m, err
}

// getRequest asks for a message, as the broker wants it.
type getRequest struct {
	Seq     uint64 `json:"seq,omitempty"`
	LastFor string `json:"last_by_subj,omitempty"`
	NextFor string `json:"next_by_subj,omitempty"`
}

// getResponse is its answer.
type getResponse struct {
	Error   *jetstream.APIError `json:"error"`
	Message *struct {
		Subject string    `json:"subject"`
		Seq     uint64    `json:"seq"`
		Header  []byte    `json:"hdrs"`
		Data    []byte    `json:"data"`
		Time    time.Time `json:"time"`
	} `json:"message"`
}

// get asks once.
func (c *Client) get(ctx context.Context, stream string, r getRequest) (*jetstream.RawStreamMsg, error) {
	question, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	answer, err := c.NC.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, question)
	if err != nil {
		return nil, err
	}
	var got getResponse
	switch err := json.Unmarshal(answer.Data, &got); {
	case err != nil:
		return nil, err
	case got.Error != nil && got.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, jetstream.ErrMsgNotFound
	case got.Error != nil:
		return nil, got.Error
	case got.Message == nil:
		return nil, errors.New("the broker's answer has no message")
	}
	m := &jetstream.RawStreamMsg{Subject: got.Message.Subject, Sequence: got.Message.Seq, Data: got.Message.Data, Time: got.Message.Time}
	if len(got.Message.Header) > 0 {
		m.Header, err = nats.DecodeHeadersMsg(got.Message.Header)
	}
	return m, err
}
