package operators_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// columns runs p and returns the values of a column of whole numbers.
func columns[T record.Value](t *testing.T, p flow.Pipeline, name string) (values []T) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	var out sinks.Collect
	defer out.Release()
	if err := p.With(flow.Options{Allocator: mem}).To(&out).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, rec := range out.Records() {
		v, _, err := record.FixedValues[T](rec, name)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v...)
	}
	return values
}

// Two sizes in one pipeline give the fields of two pipelines, edges and mask
// included.
func TestNormalizeTwice(t *testing.T) {
	roots := flow.From(sources.Families{Graphs: 12}).
		Via(operators.Channel{By: labeling.NormalizedDegree}).
		Via(operators.Select{W: 25})
	sizes := func(k int, suffix string) (operators.Assemble, operators.Normalize) {
		return operators.Assemble{K: k}, operators.Normalize{Suffix: suffix, KeepGraph: true, Mask: true, Edges: true}
	}
	a5, n5 := sizes(5, "_k5")
	a9, n9 := sizes(9, "_k9")
	both := roots.Via(a5).Via(n5).Via(a9).Via(n9)
	for _, k := range []int{5, 9} {
		a, n := sizes(k, "")
		alone := roots.Via(a).Via(n)
		suffix := fmt.Sprintf("_k%d", k)
		members := columns[int32](t, alone, record.Members)
		if got := columns[int32](t, both, record.Members+suffix); !slices.Equal(got, members) {
			t.Errorf("k %d: members differ", k)
		}
		if got, want := columns[float32](t, both, record.Nodes+suffix), columns[float32](t, alone, record.Nodes); !slices.Equal(got, want) {
			t.Errorf("k %d: nodes differ", k)
		}
		if got, want := columns[float32](t, both, record.Edges+suffix), columns[float32](t, alone, record.Edges); !slices.Equal(got, want) {
			t.Errorf("k %d: edges differ", k)
		}
		mask := columns[uint8](t, both, record.Mask+suffix)
		if len(mask) != len(members) || !slices.Contains(mask, 0) {
			t.Fatalf("k %d: %d cells of the mask, %d members, want as many, and dummies among them", k, len(mask), len(members))
		}
		for i, v := range members {
			if (mask[i] == 1) != (v >= 0) || mask[i] > 1 {
				t.Fatalf("k %d: cell %d: member %d, mask %d", k, i, v, mask[i])
			}
		}
	}
}

// Normalize makes the same fields with an Assemble before it and without, bounded
// ones too.
func TestNormalizeGathers(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	var items []sources.Item
	for range 20 {
		n := 1 + rng.IntN(30)
		var edges []graph.Edge
		for range rng.IntN(3 * n) {
			edges = append(edges, graph.Edge{U: rng.Int32N(int32(n)), V: rng.Int32N(int32(n))})
		}
		g, err := graph.New(n, true, edges)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, sources.Item{Graph: decorated(g)})
	}
	for _, direction := range []field.Direction{field.Both, field.Out, field.In} {
		for _, norm := range []operators.Normalize{
			{Edges: true, Mask: true, Distances: 4}, {By: labeling.Degree, Global: true}, {IgnoreAttributes: true, KeepGraph: true},
		} {
			var whole []string
			for i, more := range [][]flow.Operator{nil, {operators.Chunk{Size: 3}}, nil} {
				bound := i / 2 * 7
				roots := flow.From(sources.Graphs{Items: items, Rows: 7}).Via(operators.Select{W: 8, By: labeling.Degree})
				for _, op := range more {
					roots = roots.Via(op)
				}
				rows := func(p flow.Pipeline) []string {
					var out sinks.Collect
					defer out.Release()
					if err := p.To(&out).Run(context.Background()); err != nil {
						t.Fatal(err)
					}
					return flowtest.Rows(out.Records()...)
				}
				want := rows(roots.Via(operators.Assemble{K: 6, Direction: direction, Bound: bound}).Via(norm))
				norm := norm
				norm.K, norm.Direction, norm.Bound = 6, direction, bound
				if got := rows(roots.Via(norm)); !slices.Equal(got, want) || len(want) < len(items) {
					t.Errorf("%+v: the rows differ", norm)
				}
				if i == 0 {
					whole = want
				}
				if bound > 0 && slices.Equal(whole, want) {
					t.Errorf("%+v: the bound changes nothing", norm)
				}
			}
		}
	}
}

func TestNormalizeTwiceNeedsSuffix(t *testing.T) {
	p := flow.From(sources.Families{Graphs: 6}).Via(operators.Select{W: 2}).
		Via(operators.Assemble{K: 3}).Via(operators.Normalize{KeepGraph: true}).
		Via(operators.Assemble{K: 4}).Via(operators.Normalize{})
	if err := p.Run(context.Background()); err == nil {
		t.Error("two columns of one name are accepted")
	} else {
		t.Log(err)
	}
}

// Fields of two sizes, side by side.
func ExampleNormalize_severalSizes() {
	p := flow.From(sources.Families{Graphs: 6}).
		Via(operators.Select{W: 18, By: labeling.Degree}).
		Via(operators.Assemble{K: 5}).Via(operators.Normalize{Suffix: "_k5", KeepGraph: true}).
		Via(operators.Assemble{K: 10}).Via(operators.Normalize{Suffix: "_k10", Mask: true})
	plan, err := p.Plan(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan)
	// Output:
	// families     Families(6 graphs, seed 0)  + graph_id pos offsets neighbors target
	// select       W=18 By=degree              + roots
	// assemble     K=5                         + hood dist
	// normalize    KeepGraph=true Suffix=_k5   + members_k5  - hood dist
	// assemble 2   K=10                        + hood dist
	// normalize 2  Mask=true Suffix=_k10       + members_k10 mask_k10  - offsets neighbors hood dist
	// discard
}

// member_ids has the ids of the members, as the graph that is kept has them; without ids there is no
// such column.
func TestNormalizeMemberIDs(t *testing.T) {
	g, err := graph.New(7, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 0}, {U: 4, V: 5}})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"a", "Bob", "", "ü", "five", "6", "last"}
	ends, text := []int32{0}, []byte(nil)
	for _, s := range texts {
		text = append(text, s...)
		ends = append(ends, int32(len(text)))
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, ids := range []graph.IDs{{}, graph.IDsOf([]int64{7, -3, 1 << 40, 0, 9, 5, 6}), graph.IDsOfText(ends, text)} {
		set := &sources.NodeSet{Graph: g, IDs: ids}
		for _, more := range [][]flow.Operator{nil, {operators.Assemble{K: 3}}} {
			p := flow.From(set).Via(operators.Select{W: 9})
			for _, op := range more {
				p = p.Via(op)
			}
			var out sinks.Collect
			err := p.Via(operators.Normalize{K: 3, MemberIDs: true, Suffix: "_x"}).With(flow.Options{Allocator: mem, Workers: 2}).To(&out).Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rec := out.Records()[0]
			if ids.Len() == 0 {
				if rec.Schema().HasField(record.MemberIDs + "_x") {
					t.Error("there is a column of ids, and no node has one")
				}
				out.Release()
				continue
			}
			got, err := record.IDsOfColumn(rec, record.MemberIDs+"_x")
			if err != nil {
				t.Fatal(err)
			}
			members, _, err := record.FixedValues[int32](rec, record.Members+"_x")
			if err != nil || len(members) != 9*3 {
				t.Fatalf("%d members, %v", len(members), err)
			}
			row := got.Row(0)
			for i, v := range members {
				want := ids.Name(max(v, 0))
				if v < 0 {
					want = map[graph.IDKind]string{graph.Int64IDs: "0"}[ids.Kind()]
				}
				if name := row.Name(int32(i)); name != want {
					t.Errorf("member %d has the id %q, want %q", v, name, want)
				}
			}
			out.Release()
		}
	}
}
