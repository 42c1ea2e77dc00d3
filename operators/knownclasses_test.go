package operators_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// The class of a member is given where it is known, and never the root's.
func TestKnownClasses(t *testing.T) {
	g, class, err := generate.Communities(60, 3, 5, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	set := &sources.NodeSet{Graph: g, Class: class, Classes: []string{"a", "b", "c"}}
	roots, known := make([]int32, 60), slices.Clone(class)
	for i, v := range rand.New(rand.NewPCG(4, 4)).Perm(60) {
		if roots[i] = int32(v); i%3 == 0 {
			known[v] = -1
		}
	}
	const k, batch = 8, 7
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	var out sinks.Collect
	defer out.Release()
	err = flow.From(set).
		Via(operators.Roots{Nodes: roots}).
		Via(operators.Chunk{Size: 10}).
		Via(operators.Normalize{K: k, Distances: 3}).
		Via(operators.PerRoot{}).
		Via(operators.Batch{Size: batch}).
		Via(operators.KnownClasses{Class: known, Names: set.Classes}).
		With(flow.Options{Allocator: mem, Workers: 2}).
		To(&out).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	at, given := 0, 0
	for _, rec := range out.Records() {
		members, _, err := record.FixedValues[int32](rec, record.Members)
		if err != nil {
			t.Fatal(err)
		}
		cats, width, err := record.FixedValues[int32](rec, record.NodesCat)
		if err != nil || width != 2*k {
			t.Fatalf("%v, %d values a row", err, width)
		}
		for row := range int(rec.NumRows()) {
			for i, v := range members[row*k : (row+1)*k] {
				want := int32(-1)
				if v >= 0 && v != roots[at] {
					if want = known[v]; want >= 0 {
						given++
					}
				}
				if got := cats[row*width+2*i+1]; got != want {
					t.Errorf("root %d: node %d has class %d, want %d", roots[at], v, got, want)
				}
			}
			at++
		}
	}
	if at != 60 || given == 0 {
		t.Errorf("%d roots, %d classes given", at, given)
	}
}
