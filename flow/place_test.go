package flow

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/record"
)

// positioned is a record of rows at those positions.
func positioned(pos []int64) arrow.Record {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(pos, nil)
	column := b.NewInt64Array()
	defer column.Release()
	s := arrow.NewSchema([]arrow.Field{{Name: record.Pos, Type: arrow.PrimitiveTypes.Int64}}, nil)
	return array.NewRecord(s, []arrow.Array{column}, int64(len(pos)))
}

// Rows that are never asked for are not remembered: a stream has any number of them.
func TestPlacesNotAsked(t *testing.T) {
	var p Places
	rec := positioned([]int64{1, 2, 3})
	defer rec.Release()
	for range 1000 {
		p.hand(rec)
	}
	if len(p.queue) != 0 {
		t.Errorf("%d records remembered", len(p.queue))
	}
	if _, ok := p.Rows(); ok {
		t.Error("rows are known, and none was remembered")
	}
}

// Rows of the source are counted up to the last that arrives, whichever of them are
// dropped on the way or come several times in turn, in any pieces and over epochs.
func TestPlacesCountsRows(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		p := Places{asked: true}
		n, given, want := int64(2+rnd.IntN(40)), int64(0), int64(0)
		var way []int64 // positions that are on the way
		var rows []int64
		for range 3 { // epochs
			for i := int64(0); i < n; {
				var pos []int64
				for k := 1 + rnd.IntN(5); k > 0 && i < n; k-- {
					pos = append(pos, i)
					given++
					i++
					if i > 1 && i < n && rnd.IntN(4) == 0 {
						continue // dropped
					}
					for range 1 + rnd.IntN(3) {
						way, rows = append(way, pos[len(pos)-1]), append(rows, given)
					}
				}
				rec := positioned(pos)
				p.hand(rec)
				rec.Release()
				for k := rnd.IntN(len(way) + 1); k > 0 && len(way) > 0; {
					m := 1 + rnd.IntN(min(k, len(way)))
					p.Pass(way[:m])
					want = rows[m-1]
					way, rows, k = way[m:], rows[m:], k-m
					if got, ok := p.Rows(); !ok || got != want {
						t.Fatalf("seed %d: %d rows, %t, want %d", seed, got, ok, want)
					}
				}
			}
		}
		// A position that the source never had makes the number unknown, for good.
		p.Pass([]int64{1 << 40})
		if _, ok := p.Rows(); ok {
			t.Fatalf("seed %d: the count of rows is known after an unknown position", seed)
		}
		if left := len(p.queue); left != 0 {
			t.Fatalf("seed %d: %d records are remembered still", seed, left)
		}
	}
}
