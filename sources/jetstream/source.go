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

// Source reads the records of a stream that sinks/jetstream has published, in one of two ways.
//
// With Durable it is one of the workers of a queue. Each message goes to one worker, in any order.
// It is acknowledged when its rows have left the pipeline, and goes to another worker when this
// one is silent for AckWait. The run ends when the end of the stream is there and this worker has
// all the rest of the queue in hand: beside other workers, stages that hold rows back until
// the end (Batch, Shuffle) need a MaxWait.
//
// With Ordered it reads a stream that is kept, in the order of positions, each once, and
// acknowledges nothing. It waits for a missing position until the end of the stream, and then skips
// it. The count and digest of the end must match the messages. A message that comes early is
// fetched in its turn, so that memory does not grow with it.
type Source struct {
	Connection
	// Stream is the name of the stream.
	Stream string
	// Wait is how long the source waits for a stream that is not there yet. The default is 0.
	Wait time.Duration
	// MaxBytes bounds the memory for one message, beside its record. The default is 1 GiB.
	MaxBytes int64
	// Dead is the destination of messages that cannot be read or processed. By default they end the
	// run, and stay in the stream. With Ordered only messages without headers of sanflow go there.
	// A damaged message of sanflow ends the run: without its rows the model would be another. A
	// worker makes the message again when it is deleted.
	Dead Dead

	// Durable is the name that the workers of a queue have in common.
	Durable string
	// AckWait is how long a worker may be silent before its messages go to another one. A worker
	// gives signs for as long as its run lasts. The default is 30 s.
	AckWait time.Duration
	// Pending is the largest number of messages that this worker has in hand, but for one more
	// while other workers may wait for it. Stages that hold rows back need as many. The default is
	// 16.
	Pending int
	// MaxPending is the largest number of messages that all workers have in hand. The default is
	// 1024.
	MaxPending int

	// Ordered reads in the order of positions.
	Ordered bool
	// Epochs is the number of times that the stream is read. The default is 1: once, as it comes.
	Epochs int
	// Block is the number of rows that are shuffled together, and in memory, in an epoch after
	// the first: the order of record.Blocks, and of operators.Replay with this Block. The default
	// is 1024.
	Block int
	// Seed decides the order.
	Seed uint64
	// Skip is the number of rows to pass over, in their order over all epochs. A sink that keeps
	// places, as Train with a Checkpoint, needs none: the reader begins at the place of the
	// checkpoint, and fetches no message before it (flow.Seeker).
	Skip int64
	// Purge deletes the messages before the place of the last checkpoint. A stream with MaxBytes
	// then holds the lead of the workers over the trainer, and the disk of the broker does not grow
	// with the data. Epochs has to be 1, and there is one reader. Purge needs a sink that keeps places,
	// as sinks.Train with a Checkpoint, and stages that can begin in the middle. It makes the
	// stream NAME-late, which stays. Without Purge the stream is kept.
	Purge bool
	// Ahead is the number of messages that are fetched ahead. The default is 8.
	Ahead int
}

var _ flow.Source = Source{}

// Name is its name in plans and errors.
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
