package operators

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Replay stores the stream and plays it Epochs times, each time in a new random order. Put it
// after Normalize, so that each field is computed once. Stored records are shared, not copied.
type Replay struct {
	// Epochs is how often each row goes out. The default is 1.
	Epochs int
	// Seed decides the orders.
	Seed uint64
	// Rows is how many rows a record has that goes out. A record never spans
	// two epochs. The default is 64.
	Rows int
}

var _ flow.Operator = Replay{}

// Open checks the settings.
func (r Replay) Open(in *arrow.Schema) (flow.Stage, error) {
	if r.Epochs == 0 {
		r.Epochs = 1
	}
	if r.Rows == 0 {
		r.Rows = 64
	}
	switch {
	case r.Epochs < 1:
		return nil, fmt.Errorf("Epochs is %d, want 1 or more", r.Epochs)
	case r.Rows < 1:
		return nil, fmt.Errorf("Rows is %d, want 1 or more", r.Rows)
	}
	return &replayer{Replay: r, schema: in}, nil
}

// replayer is a running Replay.
type replayer struct {
	Replay
	schema *arrow.Schema
	recs   []arrow.Record
}

func (r *replayer) Schema() *arrow.Schema { return r.schema }

func (r *replayer) Process(rec arrow.Record, _ *flow.Out) error {
	if rec.NumRows() > 0 {
		rec.Retain()
		r.recs = append(r.recs, rec)
	}
	return nil
}

func (r *replayer) Flush(out *flow.Out) error {
	var refs []record.Ref
	for i, rec := range r.recs {
		refs = appendRefs(refs, i, rec)
	}
	for epoch := range r.Epochs {
		order := r.order(refs, epoch)
		emit := out.Repeat
		if epoch == r.Epochs-1 {
			emit = out.Emit
		}
		for len(order) > 0 {
			n := min(len(order), r.Rows)
			rec, err := record.Take(out.Allocator(), r.recs, order[:n])
			if err != nil {
				return err
			}
			order = order[n:]
			if err := emit(rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// order returns the rows in the order of an epoch. Each epoch permutes the order of the stream, so
// its order does not depend on the epochs before.
func (r *replayer) order(refs []record.Ref, epoch int) (order []record.Ref) {
	order = append(order, refs...)
	newRand(r.Seed, uint64(epoch)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// Close releases the records of the stream.
func (r *replayer) Close() error {
	r.recs = releaseAll(r.recs)
	return nil
}
