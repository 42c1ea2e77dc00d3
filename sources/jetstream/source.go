package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet"
)

// Source reads the records of a stream that sinks/jetstream has published, in one
// of two ways.
//
// With Durable it is one of the workers of a queue. Each message goes to one of
// them, in any order; it is acknowledged when its rows have left the pipeline, and goes
// to another worker when this one is silent for AckWait. The run ends when the end
// of the stream is there, and the worker has in hand all that is left of the queue:
// stages that hold rows back until the end (Batch, Shuffle) need a MaxWait beside
// other workers.
//
// With Ordered it reads a stream that is kept, in the order of positions, each
// once, and acknowledges nothing. It waits for a position that is missing until the
// end of the stream; then positions that never came are passed over, and the
// count and digest that the end has must be those of what was there. What came
// early is fetched later, so that memory does not grow with it.
type Source struct {
	Connection
	// Stream is the name.
	Stream string
	// Wait is how long a stream that is not there yet is waited for.
	Wait time.Duration
	// MaxBytes bounds the memory for one message, beside the record that is made
	// of it. The default is 1 GiB.
	MaxBytes int64
	// Dead says where messages go that cannot be read or worked on. The default
	// is nowhere: then they end the run, and stay in the stream. With Ordered those go
	// there whose headers are not of sanflow, which are passed over; one that is ours and
	// is damaged ends the run all the same, since its rows are counted, and without them
	// another model would come out. A worker makes it again when it is deleted.
	Dead Dead

	// Durable is the name that the workers of a queue have in common.
	Durable string
	// AckWait is after how long without a sign of life a message goes to another
	// worker. Signs are given as long as the run goes on. The default is 30 s.
	AckWait time.Duration
	// Pending is the most messages that this worker has in hand, and one more while others
	// may wait for that. Stages that hold rows back need as many. The default is 16.
	Pending int
	// MaxPending is the most that all workers have in hand. The default is 1024.
	MaxPending int

	// Ordered reads in the order of positions.
	Ordered bool
	// Epochs is how often the stream is read. The default is 1: once, as it comes.
	Epochs int
	// Block is how many rows belong together in an epoch after the first: the order
	// is that of record.Blocks, as of operators.Replay with this Block, and Block
	// rows are in memory. The default is 1024.
	Block int
	// Seed decides the order.
	Seed uint64
	// Skip is how many rows are passed over, in the order in which they would
	// come, over all epochs. A sink that keeps places, as Train does with a
	// Checkpoint, needs none: the reader then begins at the place that the checkpoint
	// has, and fetches no message before it (flow.Seeker).
	Skip int64
	// Purge deletes messages that nobody will begin before, since a checkpoint is
	// behind them. With it a stream that has MaxBytes holds what workers are ahead of the
	// trainer, and the broker's disk does not grow with the data; it is read once, so
	// that Epochs is 1, and by one reader. Without it the stream is kept. It needs a
	// sink that keeps places, as sinks.Train with a Checkpoint does, and stages that
	// can begin in the middle, and makes the stream NAME-late, which stays.
	Purge bool
	// Ahead is how many messages are fetched before they are asked for. The default
	// is 8.
	Ahead int
}

var _ flow.Source = Source{}

// Name is what plans and errors call it.
func (Source) Name() string { return "jetstream" }

// String names the stream, for the plan of a pipeline.
func (s Source) String() string { return "JetStream(" + s.Stream + ")" }

// Open finds the stream, and reads its schema.
func (s Source) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	s.MaxBytes, s.AckWait, s.Pending = cmp.Or(s.MaxBytes, 1<<30), cmp.Or(s.AckWait, 30*time.Second), cmp.Or(s.Pending, 16)
	s.MaxPending, s.Epochs, s.Block, s.Ahead = cmp.Or(s.MaxPending, 1024), cmp.Or(s.Epochs, 1), cmp.Or(s.Block, 1024), cmp.Or(s.Ahead, 8)
	client, err := jet.Connection(s.Connection).Dial(ctx, "from "+s.Stream)
	if err != nil {
		return nil, jet.Of(s.Stream, err)
	}
	r, err := s.open(ctx, mem, client)
	if err != nil {
		client.Close()
		return nil, jet.Of(s.Stream, err)
	}
	return r, nil
}

func (s Source) open(ctx context.Context, mem memory.Allocator, client *jet.Client) (flow.Reader, error) {
	stream, err := client.Find(ctx, s.Stream, s.Wait)
	if err != nil {
		return nil, err
	}
	d, err := newDecoder(stream.CachedInfo(), mem, s.MaxBytes)
	if err != nil {
		return nil, err
	}
	r := reader{Source: s, client: client, stream: stream, decoder: d}
	if s.Dead.Stream != "" {
		if r.dead, err = client.OpenLetters(ctx, jet.Dead(s.Dead)); err != nil {
			return nil, err
		}
	}
	if s.Ordered {
		return newOrdered(ctx, r)
	}
	return newQueue(ctx, r)
}

// maxInHand bounds the messages that are made room for.
const maxInHand = 1 << 16

func (s Source) check() error {
	switch {
	case s.Ordered == (s.Durable != ""):
		return errors.New("set either Durable, the name of the workers of a queue, or Ordered")
	case s.Durable != "" && jet.CheckName(s.Durable) != nil:
		return fmt.Errorf("Durable is %q, want a name without spaces, dots, stars and slashes", s.Durable)
	case s.Pending < 0 || s.MaxPending < 0 || s.AckWait < 0:
		return fmt.Errorf("Pending is %d, MaxPending %d and AckWait %v, want 0 or more", s.Pending, s.MaxPending, s.AckWait)
	case s.Pending > maxInHand || s.Ahead > maxInHand:
		return fmt.Errorf("Pending is %d and Ahead %d, want at most %d", s.Pending, s.Ahead, maxInHand)
	case s.Epochs < 0 || s.Block < 0 || s.Skip < 0 || s.Ahead < 0:
		return fmt.Errorf("Epochs is %d, Block %d, Skip %d and Ahead %d, want 0 or more", s.Epochs, s.Block, s.Skip, s.Ahead)
	case !s.Ordered && (s.Epochs > 1 || s.Skip > 0):
		return errors.New("Epochs and Skip are of a stream that is read in order: set Ordered")
	case s.Purge && (!s.Ordered || s.Epochs > 1):
		return errors.New("Purge is set, and is of a stream that is read in order, once: set Ordered, and Epochs to 1")
	case s.MaxBytes < 0 || s.Wait < 0:
		return fmt.Errorf("MaxBytes is %d and Wait %v, want 0 or more", s.MaxBytes, s.Wait)
	}
	if err := jet.CheckName(s.Stream); err != nil {
		return err
	}
	return jet.Connection(s.Connection).Check()
}
