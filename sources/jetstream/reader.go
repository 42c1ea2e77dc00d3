package jetstream

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v15/arrow"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/internal/jet"
)

// reader is what both readers have.
type reader struct {
	Source
	client  *jet.Client
	stream  nc.Stream
	decoder *decoder
	dead    *jet.Letters // or nil
	closed  bool
}

var errClosed = errors.New("the reader is closed")

// Schema returns the schema in the metadata of the stream.
func (r *reader) Schema() *arrow.Schema { return r.decoder.plan.Schema }

// object fetches the body of a message that is too large for one.
func (r *reader) object(ctx context.Context, name string) ([]byte, error) {
	store, err := r.client.Objects(ctx, jet.Bucket(r.Stream), false)
	if err != nil {
		return nil, err
	}
	return r.client.Object(ctx, store, name, r.MaxBytes)
}
