package jet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Objects returns the object store of that name, which is made where it is
// missing and make is set.
func (c *Client) Objects(ctx context.Context, name string, make bool) (store jetstream.ObjectStore, err error) {
	err = c.Ask(ctx, func(ctx context.Context) (err error) {
		store, err = c.JS.ObjectStore(ctx, name)
		if errors.Is(err, jetstream.ErrBucketNotFound) && make {
			store, err = c.JS.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, Replicas: c.Replicas})
			if errors.Is(err, jetstream.ErrBucketExists) {
				store, err = c.JS.ObjectStore(ctx, name)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("object store %s: %w", name, err)
	}
	return store, nil
}

// Bucket is the object store of what is too large for messages of a stream.
func Bucket(stream string) string { return stream + "-objects" }

// PutBody puts the body of m into the object store, if it is not there already.
func (c *Client) PutBody(ctx context.Context, stream string, m *nats.Msg) error {
	name, body := Elsewhere(m)
	store, err := c.Objects(ctx, Bucket(stream), true)
	if err != nil {
		return err
	}
	return c.Put(ctx, store, name, body)
}

// objectWait is how long one try to store or fetch an object may take.
const objectWait = 30 * time.Second

// Put stores an object, if it is not there already.
func (c *Client) Put(ctx context.Context, store jetstream.ObjectStore, name string, body []byte) error {
	return c.tryObject(ctx, name, func(ctx context.Context) error {
		if info, err := store.GetInfo(ctx, name); err == nil && info.Size == uint64(len(body)) {
			return nil
		}
		_, err := store.Put(ctx, jetstream.ObjectMeta{Name: name}, bytes.NewReader(body))
		return err
	})
}

// Object returns an object of at most so many bytes.
func (c *Client) Object(ctx context.Context, store jetstream.ObjectStore, name string, most int64) (body []byte, err error) {
	err = c.tryObject(ctx, name, func(ctx context.Context) error {
		info, err := store.GetInfo(ctx, name)
		if err != nil {
			return err
		}
		if info.Size > uint64(most) {
			return fmt.Errorf("it has %d bytes, more than %d, which MaxBytes leaves", info.Size, most)
		}
		body, err = store.GetBytes(ctx, name)
		return err
	})
	return body, err
}

// tryObject does something with an object, again for as long as the broker is away.
func (c *Client) tryObject(ctx context.Context, name string, f func(context.Context) error) error {
	err := c.retry(ctx, func() error {
		ctx, stop := context.WithTimeout(ctx, objectWait)
		defer stop()
		return f(ctx)
	}, func(err error) bool { return c.Err() != nil || !Passing(err) })
	if err != nil {
		return fmt.Errorf("object %.16s…: %w", name, err)
	}
	return nil
}
