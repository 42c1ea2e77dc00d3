package operators

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Replay keeps the stream in memory and plays it Epochs times, each time in a
// new random order. It is put after Normalize, so that fields are computed
// once however long the training. What it holds are the records that come in,
// shared and not copied.
type Replay struct {
	// Epochs is how often each row goes out. The default is 1.
	Epochs int
	// Seed decides the orders.
	Seed uint64
	// InOrder plays every epoch in the order of the stream.
	InOrder bool
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

type replayer struct {
	Replay
	schema *arrow.Schema
	recs   []arrow.Record
}

func (r *replayer) Schema() *arrow.Schema { return r.schema }

func (r *replayer) Process(rec arrow.Record, _ *flow.Out) error {
	rec.Retain()
	r.recs = append(r.recs, rec)
	return nil
}

func (r *replayer) Flush(out *flow.Out) error {
	var refs []record.Ref
	for i, rec := range r.recs {
		refs = appendRefs(refs, i, rec)
	}
	for epoch := range r.Epochs {
		order := refs
		if !r.InOrder {
			// Each epoch starts from the order of the stream, so that its order
			// is known without those before it.
			order = append([]record.Ref(nil), refs...)
			newRand(r.Seed, uint64(epoch)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		emit := out.Repeat
		if epoch == r.Epochs-1 {
			emit = out.Emit
		}
		for len(order) > 0 {
			n := min(len(order), r.Rows)
			rec, err := record.Take(out.Mem(), r.recs, order[:n])
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

// Close releases the stream.
func (r *replayer) Close() error {
	r.recs = releaseAll(r.recs)
	return nil
}
