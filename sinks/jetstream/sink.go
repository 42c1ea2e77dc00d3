package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/jet"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// Connection is the address of the broker and the credentials for it.
type Connection = jetstream.Connection

// ErrFull is the error of a broker or an account that has no room for a message or a stream. It
// wraps the broker's own error, a *jetstream.APIError of nats.go, which has the code.
var ErrFull = jet.ErrFull

// ErrOtherRun is the error of a stream that a run with other data or settings writes or wrote.
var ErrOtherRun = jet.ErrOtherRun

// Sink publishes records to a stream, one message each, for sources/jetstream to read. It makes a
// stream that is not there; a stream that is there has to have the same schema.
//
// Rows have left the pipeline when the broker has acknowledged them. The sink sends a message again
// until that, for as long as Connection.Patience, or FullWait, lasts. No message is stored twice:
// the broker refuses a position that it has.
//
// Rows need a column pos, and the rows of one position have to be in one record. A record that is
// larger than the broker's longest message is cut by rows; a row that is larger goes through the
// object store NAME-objects.
type Sink struct {
	Connection
	// Stream is the name of the stream.
	Stream string
	// Queue makes the stream a work queue: each message is for one worker, and is deleted when its
	// rows have left that. By default the stream is kept, and can be read any number of times. A
	// queue whose end an earlier run has marked gets no message again: the same data end well, and
	// other data are an error.
	Queue bool
	// Graph, if set, is the path of the file of large graphs that sources.Mapped reads, for records
	// of chunks of roots. Messages then hold the roots alone. The stream holds the SHA-256 of the
	// file, by which jetstream.Attach finds it, and the object store Bucket holds the file, for
	// machines without it.
	Graph string
	// Bucket is the object store. The default is graphs.
	Bucket string
	// Recipe, if set, is kept with the stream that is made, and must be that of a stream that is
	// there.
	Recipe string
	// MaxBytes and MaxMessages bound a stream that is made; a stream that is there keeps its bounds.
	// While it is full the sink waits, and with it the pipeline, until workers take messages or the
	// reader purges them. The default is no bound.
	MaxBytes    int64
	MaxMessages int64
	// FullWait is how long the sink waits for room in a full stream. The default is an hour. One
	// case has a default of 4 s and ends with ErrFull: the broker itself is full, the stream is kept,
	// and the reader of the stream does not purge it.
	FullWait time.Duration
	// Pending is the number of messages that may wait for the broker's acknowledgement. The default
	// is 64.
	Pending int
	// Most is the size from which on a record is cut, in bytes. The default, and the maximum, is
	// the longest message of the broker, less 2 KiB for headers.
	Most int
	// NoEnd leaves the stream open when the pipeline ends well, for other sinks to add to. By
	// default a mark behind the last message has the count and digest of all. Each worker of a
	// queue publishes that mark. The broker keeps the first, since a worker ends with the whole
	// queue. The mark of a Queue counts the messages of one sink: of several sinks of one queue all
	// but the last to end set NoEnd.
	NoEnd bool
}

var _ flow.Sink = Sink{}

// Name is its name in plans and errors.
func (Sink) Name() string { return "jetstream" }

// String names the stream, for the plan of a pipeline.
func (s Sink) String() string { return "JetStream(" + s.Stream + ")" }

// Open checks the settings and makes the stream. If the broker is away the first Write waits
// for it.
func (s Sink) Open(in *arrow.Schema) (flow.Writer, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	f, ok, err := record.Field(in, record.Pos)
	if err != nil || !ok || f.Type.ID() != arrow.INT64 {
		return nil, fmt.Errorf("there is no column %q of positions, by which messages are known", record.Pos)
	}
	if s.Graph != "" {
		if in, err = rootsOnly(in, s.Graph); err != nil {
			return nil, err
		}
	}
	s.Pending = cmp.Or(s.Pending, 64)
	encoder, err := jet.NewEncoder(in)
	if err != nil {
		return nil, err
	}
	w := &writer{Sink: s, schema: in, encoder: encoder, last: context.Background()}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	if err := w.connect(ctx); err != nil && ctx.Err() == nil {
		return nil, jet.Of(s.Stream, err)
	}
	return w, nil
}

// rootsOnly returns the schema without the columns of the graph.
func rootsOnly(in *arrow.Schema, path string) (*arrow.Schema, error) {
	var fields []arrow.Field
	for _, name := range []string{record.GraphID, record.Pos, record.Roots} {
		f, ok, err := record.Field(in, name)
		if err != nil || !ok {
			return nil, fmt.Errorf("Graph is set, and there is no column %q", name)
		}
		fields = append(fields, f)
	}
	sum, err := jet.HashFile(path)
	if err != nil {
		return nil, fmt.Errorf("Graph: %w", err)
	}
	m := arrow.NewMetadata([]string{jet.MetaGraph}, []string{sum})
	return arrow.NewSchema(fields, &m), nil
}

func (s Sink) check() error {
	switch {
	case s.Pending < 0:
		return fmt.Errorf("Pending is %d, want 0 or more", s.Pending)
	case s.MaxBytes < 0 || s.MaxMessages < 0:
		return fmt.Errorf("MaxBytes is %d and MaxMessages %d, want 0 or more", s.MaxBytes, s.MaxMessages)
	case s.Most < 0:
		return fmt.Errorf("Most is %d, want 0 or more", s.Most)
	case s.FullWait < 0:
		return fmt.Errorf("FullWait is %v, want 0 or more", s.FullWait)
	case len(s.Recipe) > 16<<10:
		return errors.New("Recipe is longer than 16 KiB, which a stream does not keep")
	}
	if err := jet.CheckName(s.Stream); err != nil {
		return err
	}
	return jet.Connection(s.Connection).Check()
}
