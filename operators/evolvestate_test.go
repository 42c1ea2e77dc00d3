package operators_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/evolve"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// rowsOf runs Evolve over records and returns its rows.
func rowsOf(t *testing.T, op operators.Evolve, recs []arrow.Record) (rows []string) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	var out sinks.Collect
	if err := flow.From(sources.Records{Records: recs}).Via(op).To(&out).With(flow.Options{Allocator: mem}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, rec := range out.Records() {
		rows = append(rows, flowtest.Rows(rec)...)
	}
	out.Release()
	mem.AssertSize(t, 0)
	return rows
}

// Runs over the segments of a stream give the rows of one run, from the state that the run
// before has left or from one that was saved.
func TestEvolveState(t *testing.T) {
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	for i, l := range eventLayouts {
		for _, z := range []operators.Normalize{{K: 4, Edges: true}, {K: 4, Bound: 6}, {K: 3, By: labeling.Degree}, {K: 3, Uniform: true, IgnoreAttributes: true}} {
			for _, op := range []operators.Evolve{{Every: 10, Last: 25}, {Every: 5, Within: 40}, {Every: 10, Forget: true}} {
				op.Normalize, op.Size = z, 4
				recs, _ := eventRecords(memory.DefaultAllocator, l, 200, 25, 10, uint64(i))
				want := rowsOf(t, op, recs)
				var got []string
				op.State = &operators.EvolveState{}
				for at := 0; at < len(recs); at += 4 {
					got = append(got, rowsOf(t, op, recs[at:min(at+4, len(recs))])...)
					if at%8 == 0 {
						continue // the next run goes on in the same process
					}
					var text, again bytes.Buffer
					if err := op.State.Save(&text); err != nil {
						t.Fatal(err)
					}
					op.State = &operators.EvolveState{}
					if err := op.State.Load(bytes.NewReader(text.Bytes())); err != nil {
						t.Fatal(err)
					}
					if err := op.State.Save(&again); err != nil || !bytes.Equal(text.Bytes(), again.Bytes()) {
						t.Errorf("another state (%v)", err)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("layout %d, %+v: %d rows differ from those of one run, %d", i, op, len(got), len(want))
				}
				for _, r := range recs {
					r.Release()
				}
			}
		}
	}
}

func TestEvolveStateRefuses(t *testing.T) {
	events := record.EventSchema(eventLayouts[0])
	recs, _ := eventRecords(memory.DefaultAllocator, eventLayouts[0], 30, 9, 30, 1)
	defer recs[0].Release()
	s := &operators.EvolveState{}
	if err := s.Save(&bytes.Buffer{}); err == nil {
		t.Error("no run has ended")
	}
	op := operators.Evolve{Normalize: operators.Normalize{K: 3}, State: s}
	rowsOf(t, op, recs)
	var text bytes.Buffer
	if err := s.Save(&text); err != nil {
		t.Fatal(err)
	}
	for _, load := range []bool{false, true} {
		for _, c := range []struct {
			op   operators.Evolve
			want string
		}{
			{operators.Evolve{Normalize: operators.Normalize{K: 4}}, "K 3, "},
			{operators.Evolve{Normalize: operators.Normalize{K: 3, By: labeling.Degree}}, "By "},
			{operators.Evolve{Normalize: operators.Normalize{K: 3, Direction: field.Out}}, "Direction "},
			{operators.Evolve{Normalize: operators.Normalize{K: 3}, Last: 5}, "of a graph {"},
			{operators.Evolve{Normalize: operators.Normalize{K: 3}, Forget: true}, "Forget false"},
		} {
			if c.op.State = s; load {
				c.op.State = &operators.EvolveState{}
				if err := c.op.State.Load(bytes.NewReader(text.Bytes())); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := c.op.Open(events); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		}
	}
	if _, err := op.Open(events); err != nil { // a run that does not end
		t.Fatal(err)
	}
	if _, err := op.Open(events); err == nil || s.Save(&text) == nil {
		t.Errorf("a run has failed: %v", err)
	}
}

// A run begins with a graph, or with fields of evolve.Of that were saved, and goes on as the run that came to that graph
// by events.
func TestEvolveStart(t *testing.T) {
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	for i, l := range eventLayouts {
		for _, z := range []operators.Normalize{{K: 4, Edges: true}, {K: 3, Bound: 5, By: labeling.Degree}} {
			recs, list := eventRecords(memory.DefaultAllocator, l, 160, 9, 10, uint64(i))
			op := func(s *operators.EvolveState) operators.Evolve {
				return operators.Evolve{Normalize: z, Size: 4, Every: 10, RemoveAll: true, State: s}
			}
			byEvents := &operators.EvolveState{}
			rowsOf(t, op(byEvents), recs[:8])
			want := [][]string{rowsOf(t, op(byEvents), recs[8:12]), rowsOf(t, op(byEvents), recs[12:])}

			d, err := dynamic.New(dynamic.Settings{
				Directed: l.Directed, NodeCats: len(l.NodeCat), NodeAttrs: len(l.NodeAttr), EdgeCats: len(l.EdgeCat), EdgeAttrs: len(l.EdgeAttr), RemoveAll: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list[:80] {
				if err := d.Apply(&e, nil, nil); err != nil {
					t.Fatal(err)
				}
			}
			row := record.Row{}
			var nodes []int32
			for v := range int32(d.N()) {
				if nodes = append(nodes, v); len(l.NodeClasses) > 0 {
					row.NodeClass = append(row.NodeClass, d.Class(v))
				}
			}
			row.NodeID = idsOf(l, nodes)
			byGraph := &operators.EvolveState{}
			byGraph.Start(d.Graph(), row, 79)
			first, last := rowsOf(t, op(byGraph), recs[8:12]), rowsOf(t, op(byGraph), recs[12:])
			if len(first) < (d.N()+3)/4 || !slices.Equal(last, want[1]) {
				t.Errorf("layout %d, %+v: begun with a graph: %d rows, then %q, want %q", i, z, len(first), last, want[1])
			}
			if l.NodeIDs == graph.NoIDs {
				norm := &field.Normalizer{K: z.K, By: z.By}
				f := evolve.Of(d, field.Both, norm, true)
				f.SetBound(z.Bound)
				if err := f.Refresh(func(int32, []int32, []uint8) error { return nil }); err != nil {
					t.Fatal(err)
				}
				var text bytes.Buffer
				if err := f.Save(&text); err != nil {
					t.Fatal(err)
				}
				saved := &operators.EvolveState{}
				if err := saved.Load(&text); err != nil {
					t.Fatal(err)
				}
				if got := rowsOf(t, op(saved), recs[8:12]); !slices.Equal(got, want[0]) {
					t.Errorf("layout %d, %+v: begun with saved fields: %q, want %q", i, z, got, want[0])
				}
			}
			byGraph.Start(&graph.Graph{Offsets: []int32{0, 1, 1}, Neighbors: []int32{7}, Directed: l.Directed}, row, 0)
			if _, err := op(byGraph).Open(record.EventSchema(l)); err == nil || !strings.Contains(err.Error(), "the graph of Start") {
				t.Errorf("a graph that breaks the rules: %v", err)
			}
			for _, r := range recs {
				r.Release()
			}
		}
	}
}

// Evolve emits the same fields wherever the origin of time is.
func TestEvolveOriginOfTime(t *testing.T) {
	for i, l := range eventLayouts[:2] {
		recs, list := eventRecords(memory.DefaultAllocator, l, 80, 9, 80, uint64(i))
		defer recs[0].Release()
		op := operators.Evolve{Normalize: operators.Normalize{K: 3}, Size: 4, Every: 5, Within: 12}
		want := rowsOf(t, op, recs)
		for _, by := range []int64{1e9, -1e9, -40, math.MinInt64, math.MaxInt64 - 80} {
			b := record.NewEventBuilder(memory.DefaultAllocator, l)
			for _, e := range list {
				e.Time += by
				b.Append(0, &e)
			}
			moved := b.Record()
			if got := rowsOf(t, op, []arrow.Record{moved}); !slices.Equal(got, want) {
				t.Errorf("layout %d: other rows where times are shifted by %d", i, by)
			}
			moved.Release()
			b.Release()
		}
	}
}

// FuzzEvolveState changes states and makes the checksum right.
func FuzzEvolveState(f *testing.F) {
	schema := record.EventSchema(eventLayouts[0])
	recs, _ := eventRecords(memory.DefaultAllocator, eventLayouts[0], 30, 9, 30, 1)
	op := operators.Evolve{Normalize: operators.Normalize{K: 3}, State: &operators.EvolveState{}}
	if err := flow.From(sources.Records{Records: recs}).Via(op).Run(context.Background()); err != nil {
		f.Fatal(err)
	}
	var text bytes.Buffer
	if err := op.State.Save(&text); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes()[:text.Len()-sha256.Size])
	f.Fuzz(func(t *testing.T, b []byte) {
		op := op
		op.State = &operators.EvolveState{}
		sum := sha256.Sum256(b)
		if op.State.Load(bytes.NewReader(append(bytes.Clone(b), sum[:]...))) != nil {
			return
		}
		if _, err := op.Open(schema); err == nil {
			_ = flow.From(sources.Records{Records: recs}).Via(op).Run(context.Background())
		}
	})
}

// What Evolve keeps goes by its labeling: the fields are those of Normalize.
func TestEvolveLabelings(t *testing.T) {
	for _, z := range []operators.Normalize{{K: 4, By: labeling.Degree, Mask: true}, {K: 4, Uniform: true, Mask: true}, {K: 4, IgnoreAttributes: true, Mask: true}} {
		for seed := range uint64(6) {
			t.Run(fmt.Sprint(z.By, " ", seed), func(t *testing.T) { evolveIsNormalize(t, eventLayouts[seed%2], z, 0, seed) })
		}
	}
}
