package record_test

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// A slice has the digest of its copy, and whatever differs has another digest.
func TestDigest(t *testing.T) {
	mem := flowtest.Mem(t)
	sum := func(recs ...arrow.Record) string {
		t.Helper()
		s, err := record.Digest(recs...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	seen := map[string]bool{}
	rows := 0
	for _, rec := range flowtest.Sample(mem) {
		defer rec.Release()
		for from := range rec.NumRows() {
			for to := from + 1; to <= rec.NumRows(); to++ {
				part := rec.NewSlice(from, to)
				var refs []record.Ref
				for row := from; row < to; row++ {
					refs = append(refs, record.Ref{Row: int32(row)})
				}
				whole, err := record.Take(mem, []arrow.Record{rec}, refs)
				if err != nil {
					t.Fatal(err)
				}
				if a, b := sum(part), sum(whole); a != b {
					t.Errorf("rows %d to %d: %.8s of a slice, %.8s of its copy", from, to, a, b)
				}
				seen[sum(part)] = true
				rows++
				part.Release()
				whole.Release()
			}
		}
	}
	if len(seen) != rows {
		t.Errorf("%d digests of %d parts", len(seen), rows)
	}

	of := func(l record.Layout, edit func(*graph.Graph)) string {
		t.Helper()
		g, err := graph.New(3, l.Directed, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}})
		if err != nil {
			t.Fatal(err)
		}
		edit(g)
		b := record.NewBuilder(mem, l)
		if err := b.Append(g, record.Row{}); err != nil {
			t.Fatal(err)
		}
		rec := b.Record()
		defer rec.Release()
		return sum(rec)
	}
	sparse := func(values, offsets []int32) func(*graph.Graph) {
		return func(g *graph.Graph) { g.NodeSparse, g.SparseOffsets, g.SparseCard = values, offsets, 3 }
	}
	bare, words := func(*graph.Graph) {}, record.Layout{NodeSparse: record.Channel{Name: "x", Card: 3}}
	all := []string{
		of(record.Layout{}, bare), of(record.Layout{Directed: true}, bare),
		of(words, sparse([]int32{1, 2}, []int32{0, 1, 1, 2})), of(words, sparse([]int32{1, 2}, []int32{0, 1, 2, 2})),
		of(words, sparse([]int32{0, 2}, []int32{0, 1, 2, 2})),
	}
	for i, a := range all {
		for j, b := range all[:i] {
			if a == b {
				t.Errorf("graphs %d and %d have one digest", j, i)
			}
		}
	}
}
