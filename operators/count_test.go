package operators_test

import (
	"context"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	parquetsource "github.com/sanflow/sanflow/sources/parquet"
)

// countsOf returns the two columns that Count adds under a name, row by row.
func countsOf(t *testing.T, p flow.Pipeline) (ids [][]uint64, counts [][]float32) {
	t.Helper()
	for _, rec := range gathered(t, p).Records() {
		i, err := record.ListsOf[uint64](rec, operators.WordIDs)
		if err != nil {
			t.Fatal(err)
		}
		c, err := record.ListsOf[float32](rec, operators.WordCounts)
		if err != nil {
			t.Fatal(err)
		}
		for row := range i.Len() {
			ids, counts = append(ids, append([]uint64{}, i.Row(row)...)), append(counts, append([]float32{}, c.Row(row)...))
		}
	}
	return ids, counts
}

// The operator adds what the function counts, and other rows and files do not change it.
func TestCount(t *testing.T) {
	wl := operators.Count{Of: []count.Counter{count.WL{Height: 2}}}
	other := operators.Count{Of: []count.Counter{count.Labels{}, count.Size{}}}
	src := sources.Records{Records: flowtest.Sample(flowtest.Mem(t))}
	defer func() {
		for _, rec := range src.Records {
			rec.Release()
		}
	}()
	for _, op := range []operators.Count{wl, other} {
		ids, counts := countsOf(t, flow.From(src).Via(op))
		row := 0
		for _, rec := range src.Records {
			graphs, err := record.GraphsOf(rec)
			if err != nil {
				t.Fatal(err)
			}
			for i := range graphs.Len() {
				var g graph.Graph
				graphs.At(i, &g)
				want, n, err := count.Of(count.Input{Graph: &g}, op.Of...)
				if err != nil || len(want) != len(ids[row]) {
					t.Fatalf("row %d: %d ids, want %d: %v", row, len(ids[row]), len(want), err)
				}
				for j := range want {
					if ids[row][j] != want[j] || float64(counts[row][j]) != n[j] {
						t.Fatalf("row %d: %v, want %v", row, ids[row], want)
					}
				}
				row++
			}
		}
	}
	p, dir := flow.From(src).Via(wl), t.TempDir()
	ipc, parq := filepath.Join(dir, "words.arrow"), filepath.Join(dir, "words.parquet")
	for _, sink := range []flow.Sink{sinks.IPC{Path: ipc}, parquet.Sink{Path: parq}} {
		if err := p.To(sink).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	ids, counts := countsOf(t, p)
	for name, back := range map[string]flow.Source{"ipc": sources.IPC{Path: ipc}, "parquet": parquetsource.Source{Path: parq}} {
		i, c := countsOf(t, flow.From(back).Via(operators.Shuffle{Size: 1}))
		if !reflect.DeepEqual(i, ids) || !reflect.DeepEqual(c, counts) {
			t.Errorf("%s gives back other counts", name)
		}
	}
}

func TestCountErrors(t *testing.T) {
	for want, op := range map[string]operators.Count{
		"the field Of is empty, want a counter":                                                        {},
		`fields(k=[2], selected) reads roots, and there is no column "roots": put Select before Count`: {Of: []count.Counter{count.Fields{K: []int{2}, Selected: true}}},
		"counter 2 is nil": {Of: []count.Counter{count.Size{}, nil}},
		"count: wl(height=-2): Height is -2, want 0 to 65536": {Of: []count.Counter{count.WL{Height: -2}}},
	} {
		if _, err := op.Open(flowtest.Layout.Schema()); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	twice := flow.From(sources.Families{Graphs: 2}).Via(operators.Count{Of: []count.Counter{count.Size{}}}).Via(operators.Count{Of: []count.Counter{count.WL{}}})
	if err := twice.Run(context.Background()); err == nil || err.Error() != `count 2: record: there is a column "words_ids" already` {
		t.Error(err)
	}
}
