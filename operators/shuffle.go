package operators

import (
	"fmt"
	"math/rand/v2"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Shuffle changes the order of rows at random within a bounded buffer: it holds Size rows and
// emits a random one for each row that arrives. It permutes a stream of up to Size rows
// uniformly. The order depends on the seed and the order of the input, not on its cuts into
// records.
type Shuffle struct {
	// Size is how many rows are held. The default is 1024.
	Size int
	// Seed decides the order.
	Seed uint64
	// Rows is how many rows a record has that goes out. The default is 64.
	Rows int
}

var _ flow.Operator = Shuffle{}

// Open checks the settings.
func (s Shuffle) Open(in *arrow.Schema) (flow.Stage, error) {
	if s.Size == 0 {
		s.Size = 1024
	}
	if s.Rows == 0 {
		s.Rows = 64
	}
	switch {
	case s.Size < 1:
		return nil, fmt.Errorf("Size is %d, want 1 or more", s.Size)
	case s.Rows < 1:
		return nil, fmt.Errorf("Rows is %d, want 1 or more", s.Rows)
	}
	return &shuffler{Shuffle: s, schema: in, rng: newRand(s.Seed, 0)}, nil
}

// newRand returns the generator of one of the streams of random numbers of a seed.
func newRand(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// shuffler is a running Shuffle. It holds rows as references to their records, which live until
// their last row is emitted.
type shuffler struct {
	Shuffle
	schema *arrow.Schema
	rng    *rand.Rand
	held   []heldRow // rows to draw from, at most Size
	ready  []heldRow // rows that were drawn and are not yet emitted, at most Rows
}

var _ flow.Flusher = (*shuffler)(nil)

type heldRow struct {
	rec *sharedRecord
	row int32
}

// sharedRecord is a record with the number of its held rows. It is released with the last one.
type sharedRecord struct {
	rec  arrow.Record
	rows int
}

func (s *shuffler) Schema() *arrow.Schema { return s.schema }

func (s *shuffler) Process(rec arrow.Record, out *flow.Out) error {
	n := int(rec.NumRows())
	if n == 0 {
		return nil
	}
	rec.Retain()
	shared := &sharedRecord{rec: rec, rows: n}
	next := int32(0)
	// After an error the remaining rows are held too, so that Close releases their record.
	defer func() {
		for ; int(next) < n; next++ {
			s.held = append(s.held, heldRow{shared, next})
		}
	}()
	for int(next) < n {
		r := heldRow{shared, next}
		next++
		if len(s.held) < s.Size {
			s.held = append(s.held, r)
			continue
		}
		i := s.rng.IntN(s.Size)
		s.ready = append(s.ready, s.held[i])
		s.held[i] = r
		if len(s.ready) == s.Rows {
			if err := s.emit(out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *shuffler) Flush(out *flow.Out) error {
	s.rng.Shuffle(len(s.held), func(i, j int) { s.held[i], s.held[j] = s.held[j], s.held[i] })
	for len(s.held) > 0 {
		n := min(len(s.held), s.Rows-len(s.ready))
		s.ready = append(s.ready, s.held[:n]...)
		s.held = s.held[n:]
		if len(s.ready) == s.Rows {
			if err := s.emit(out); err != nil {
				return err
			}
		}
	}
	if len(s.ready) == 0 {
		return nil
	}
	return s.emit(out)
}

// emit emits the drawn rows as one record.
func (s *shuffler) emit(out *flow.Out) error {
	var recs []arrow.Record
	at := map[*sharedRecord]int32{}
	refs := make([]record.Ref, len(s.ready))
	for i, r := range s.ready {
		j, ok := at[r.rec]
		if !ok {
			j = int32(len(recs))
			at[r.rec] = j
			recs = append(recs, r.rec.rec)
		}
		refs[i] = record.Ref{Record: j, Row: r.row}
	}
	rec, err := record.Take(out.Allocator(), recs, refs)
	if err != nil {
		return err
	}
	s.ready = drop(s.ready)
	return out.Emit(rec)
}

// drop releases rows, and each record with its last row.
func drop(rows []heldRow) []heldRow {
	for _, r := range rows {
		if r.rec.rows--; r.rec.rows == 0 {
			r.rec.rec.Release()
		}
	}
	return rows[:0]
}

// Close releases the held rows.
func (s *shuffler) Close() error {
	s.held, s.ready = drop(s.held), drop(s.ready)
	return nil
}
