package operators

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/internal/note"
)

// Replay stores the stream and plays it Epochs times, each time in a new random order. Put it
// after Normalize, so that each field is computed once. Stored records are shared, not copied.
// Records beyond Memory go to a file.
type Replay struct {
	// Epochs is how often each row goes out. The default is 1.
	Epochs int
	// Seed decides the orders.
	Seed uint64
	// Rows is how many rows a record has that goes out. A record never spans
	// two epochs. The default is 64.
	Rows int
	// Memory bounds the bytes that are held in memory; records beyond it are
	// written to a temporary file and played from there, to the same rows. The
	// default is no bound. Pages of the file that are in memory are the operating
	// system's to take back.
	Memory int64
	// Dir is where that file is made. The default is os.TempDir(). It is gone when the run ends,
	// however it ends.
	Dir string
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
	case r.Memory < 0:
		return nil, fmt.Errorf("Memory is %d, want 0 or more", r.Memory)
	}
	return &replayer{Replay: r, schema: in}, nil
}

// replayer is a running Replay. The records before the bound are in recs, those
// behind it in spill.
type replayer struct {
	Replay
	schema *arrow.Schema
	recs   []arrow.Record
	bytes  bufferBytes // of recs
	spill  *spill      // nil while everything fits
}

func (r *replayer) Schema() *arrow.Schema { return r.schema }

func (r *replayer) Process(rec arrow.Record, _ *flow.Out) (err error) {
	if rec.NumRows() == 0 {
		return nil
	}
	if r.Memory > 0 && r.spill == nil && r.bytes.add(rec) > r.Memory {
		if r.spill, err = newSpill(nil, r.Dir, r.schema); err != nil {
			return err
		}
	}
	if r.spill != nil {
		return r.spill.write(rec)
	}
	rec.Retain()
	r.recs = append(r.recs, rec)
	return nil
}

func (r *replayer) Flush(out *flow.Out) error {
	if r.spill != nil {
		spilled, err := r.spill.read()
		r.recs = append(r.recs, spilled...) // also what was read before an error
		if err != nil {
			return err
		}
		out.Note(note.Spilled, int64(len(spilled)))
	}
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

// order returns the rows in the order of an epoch. Each starts from the order of
// the stream, so that it is known without those before it.
func (r *replayer) order(refs []record.Ref, epoch int) (order []record.Ref) {
	order = append(order, refs...)
	newRand(r.Seed, uint64(epoch)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// Close releases the stream, and removes the file.
func (r *replayer) Close() error {
	r.recs = releaseAll(r.recs)
	if r.spill == nil {
		return nil
	}
	err := r.spill.close()
	r.spill = nil
	return err
}
