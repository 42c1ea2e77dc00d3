package jet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/record/arrowipc"
)

// Keys of a stream's metadata.
const (
	metaVersion = "sanflow"
	metaSchema  = "sanflow_schema"
	metaRecipe  = "sanflow_recipe"

	// MetaGraph is a key of a schema's: the SHA-256 of the file of the graph whose
	// roots a stream has.
	MetaGraph = "graph_sha256"

	// GraphBucket is the object store of graphs.
	GraphBucket = "graphs"

	version = "1"

	// mostSchema is what the broker takes as metadata, with room for the rest.
	mostSchema = 96 << 10
)

// Settings are those of a stream that is made.
type Settings struct {
	Name        string
	Queue       bool // messages that were acknowledged are deleted
	MaxBytes    int64
	MaxMessages int64
	Window      time.Duration
	Recipe      string
}

// CheckName says what is wrong with the name of a stream.
func CheckName(name string) error {
	if name == "" || strings.ContainsAny(name, " \t\r\n.*>/\\") {
		return fmt.Errorf("Stream is %q, want a name without spaces, dots, stars and slashes", name)
	}
	return nil
}

// Make makes the stream for records of that schema, or joins it where it is there
// and has the same.
func (c *Client) Make(ctx context.Context, s Settings, schema *arrow.Schema) (jetstream.Stream, error) {
	text, err := encodeSchema(schema)
	if err != nil {
		return nil, err
	}
	config := jetstream.StreamConfig{
		Name: s.Name, Subjects: []string{s.Name + ".p.*", EndSubject(s.Name)}, Discard: jetstream.DiscardNew,
		Replicas: c.Replicas, AllowDirect: true, MaxBytes: cmp.Or(s.MaxBytes, -1), MaxMsgs: cmp.Or(s.MaxMessages, -1), Duplicates: s.Window,
		Metadata: map[string]string{metaVersion: version, metaSchema: text},
	}
	if s.Queue {
		config.Retention = jetstream.WorkQueuePolicy
	}
	if s.Recipe != "" {
		config.Metadata[metaRecipe] = s.Recipe
	}
	var stream jetstream.Stream
	err = c.Ask(ctx, func(ctx context.Context) (err error) {
		stream, err = c.JS.Stream(ctx, s.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			stream, err = c.JS.CreateStream(ctx, config)
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another client was quicker
				stream, err = c.JS.Stream(ctx, s.Name)
			}
		}
		return err
	})
	if err != nil {
		return nil, Of(s.Name, err)
	}
	there, err := SchemaOf(stream.CachedInfo())
	if err != nil {
		return nil, err
	}
	have, err := there.Arrow()
	switch {
	case err != nil:
		return nil, Of(s.Name, err)
	case manifest.Fingerprint(have) != manifest.Fingerprint(schema):
		return nil, Of(s.Name, differ(schema, have))
	case s.Queue != (stream.CachedInfo().Config.Retention == jetstream.WorkQueuePolicy):
		return nil, Of(s.Name, fmt.Errorf("it is there, and Queue is %t of it", !s.Queue))
	case s.Recipe != "" && stream.CachedInfo().Config.Metadata[metaRecipe] != s.Recipe:
		return nil, Of(s.Name, errors.New("it is there, and was made by another recipe"))
	}
	return stream, nil
}

// differ says in which column two schemas differ.
func differ(got, want *arrow.Schema) error {
	for i, f := range got.Fields() {
		if i >= want.NumFields() || want.Field(i).Name != f.Name {
			break
		}
		w := want.Field(i)
		if g, h := fmt.Sprint(f.Type, f.Metadata.ToMap()), fmt.Sprint(w.Type, w.Metadata.ToMap()); g != h {
			return fmt.Errorf("its schema is another: column %q is %s there, and %s here", f.Name, h, g)
		}
	}
	return fmt.Errorf("its schema is another: there are the columns %v there, and %v here", names(want), names(got))
}

func names(s *arrow.Schema) (all []string) {
	for _, f := range s.Fields() {
		all = append(all, f.Name)
	}
	return all
}

// Find finds a stream, for which it waits that long.
func (c *Client) Find(ctx context.Context, name string, wait time.Duration) (stream jetstream.Stream, err error) {
	begin := time.Now()
	for {
		err = c.Ask(ctx, func(ctx context.Context) (err error) {
			stream, err = c.JS.Stream(ctx, name)
			return err
		})
		if !errors.Is(err, jetstream.ErrStreamNotFound) || time.Since(begin) > wait {
			break
		}
		if !Sleep(ctx, 100*time.Millisecond) {
			return nil, context.Cause(ctx)
		}
	}
	if err != nil {
		return nil, Of(name, err)
	}
	return stream, nil
}

// Delete deletes a stream, its stream NAME-late and its object store, and returns the names of what
// was there. A stream that has no metadata of this library is an error.
func (c *Client) Delete(ctx context.Context, stream string) (deleted []string, err error) {
	for _, name := range []string{stream, sideOf(stream)} {
		s, err := c.Find(ctx, name, 0)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return deleted, err
		}
		if s.CachedInfo().Config.Metadata[metaVersion] == "" {
			return deleted, Of(name, errors.New("it was not made by this library, and is not deleted"))
		}
		if err := c.remove(ctx, func(ctx context.Context) error { return c.JS.DeleteStream(ctx, name) }); err != nil {
			return deleted, Of(name, err)
		}
		deleted = append(deleted, name)
	}
	if _, err := c.Objects(ctx, Bucket(stream), false); errors.Is(err, jetstream.ErrBucketNotFound) {
		return deleted, nil
	} else if err != nil {
		return deleted, err
	}
	if err := c.remove(ctx, func(ctx context.Context) error { return c.JS.DeleteObjectStore(ctx, Bucket(stream)) }); err != nil {
		return deleted, Of(stream, err)
	}
	return append(deleted, Bucket(stream)), nil
}

// remove asks the broker to delete something that may be gone already, by an earlier try.
func (c *Client) remove(ctx context.Context, f func(context.Context) error) error {
	err := c.Ask(ctx, f)
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	}
	return err
}

// Recipe returns what a stream was made by, where it says so.
func Recipe(info *jetstream.StreamInfo) string { return info.Config.Metadata[metaRecipe] }

// SchemaOf reads the schema of a stream.
func SchemaOf(info *jetstream.StreamInfo) (*arrowipc.Schema, error) {
	m := info.Config.Metadata
	if m[metaVersion] != version {
		return nil, Of(info.Config.Name, fmt.Errorf("it is not of sanflow, or of another version: its metadata has %s = %q, want %q", metaVersion, m[metaVersion], version))
	}
	b, err := base64.StdEncoding.DecodeString(m[metaSchema])
	if err != nil {
		return nil, Of(info.Config.Name, fmt.Errorf("its schema: %w", err))
	}
	s, err := arrowipc.DecodeSchema(b)
	if err != nil {
		return nil, Of(info.Config.Name, fmt.Errorf("its schema: %w", err))
	}
	return s, nil
}

func encodeSchema(s *arrow.Schema) (string, error) {
	b, err := schemaMessage(s)
	if err != nil {
		return "", err
	}
	text := base64.StdEncoding.EncodeToString(b)
	if len(text) > mostSchema {
		return "", fmt.Errorf("the schema has %d bytes, and a stream takes %d: names of classes or channels are long", len(text), mostSchema)
	}
	return text, nil
}

// endMark is what Arrow writes at the end of a stream.
const endMark = 8

// schemaMessage returns the schema as a message of Arrow IPC.
func schemaMessage(s *arrow.Schema) ([]byte, error) {
	var b bytes.Buffer
	if err := ipc.NewWriter(&b, ipc.WithSchema(s)).Close(); err != nil {
		return nil, err
	}
	return b.Bytes()[:b.Len()-endMark], nil
}

// Encoder makes messages of records.
type Encoder struct {
	w      *ipc.Writer
	b      bytes.Buffer
	header int // bytes of the schema, which come before the first record
}

// NewEncoder begins with a schema.
func NewEncoder(s *arrow.Schema) (*Encoder, error) {
	e := &Encoder{}
	m, err := schemaMessage(s)
	e.header = len(m)
	e.w = ipc.NewWriter(&e.b, ipc.WithSchema(s))
	return e, err
}

// Encode returns a record batch as a message of Arrow IPC.
func (e *Encoder) Encode(rec arrow.Record) ([]byte, error) {
	e.b.Reset()
	if err := e.w.Write(rec); err != nil {
		return nil, err
	}
	b := bytes.Clone(e.b.Bytes()[e.header:])
	e.header = 0
	return b, nil
}

// Split returns the metadata and the body of a message of Arrow IPC.
func Split(b []byte) (meta, body []byte, err error) {
	if len(b) < 8 || string(b[:4]) != "\xff\xff\xff\xff" {
		return nil, nil, errors.New("it is no message of Arrow IPC")
	}
	n := int64(b[4]) | int64(b[5])<<8 | int64(b[6])<<16 | int64(b[7])<<24
	if n > int64(len(b)-8) {
		return nil, nil, errors.New("its metadata is longer than it is")
	}
	return b[:8+n], b[8+n:], nil
}
