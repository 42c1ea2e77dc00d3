package choose_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// parted deals rows of a split: to learn from, to choose by where valid is set, to test on, and in no part.
func parted(n int, valid bool) (split []sources.Subset) {
	for i := range n {
		s := []sources.Subset{sources.Train, sources.Test, sources.Train, sources.Val, sources.Train, sources.None}[i*7%6]
		if s == sources.Val && !valid {
			s = sources.Train
		}
		split = append(split, s)
	}
	return split
}

// replaced returns classes of which those outside of Train and Val are drawn anew; -1 is unknown.
func replaced(class []int32, split []sources.Subset, classes int) []int32 {
	rng, other := rand.New(rand.NewPCG(9, 9)), slices.Clone(class)
	for i, s := range split {
		if s == sources.Test || s == sources.None {
			other[i] = int32(rng.IntN(classes+1)) - 1
		}
	}
	return other
}

// TestNoLeak replaces the classes of the rows that no part learns from or chooses by. For every system of nodes and graphs, no
// byte of the model and no answer changes.
func TestNoLeak(t *testing.T) {
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	learned := func(s choose.System, classes []string, train, valid choose.Rows) (*sinks.Predictor, []byte) {
		s.Epochs = min(s.Epochs, 2)
		chosen, err := choose.Choice{Systems: []choose.System{s}, Classes: classes, Train: train, Valid: valid, Seed: 1}.Run(t.Context())
		if err != nil {
			t.Fatal(s.Name, err)
		}
		var file bytes.Buffer
		if err := sinks.Write(&file, chosen.Net, chosen.Recipe); err != nil {
			t.Fatal(err)
		}
		return must(sinks.NewPredictor(chosen.Net, chosen.Recipe)), file.Bytes()
	}
	compare := func(name string, files [2][]byte, said [2][][]float32) {
		t.Helper()
		if !bytes.Equal(files[0], files[1]) {
			t.Errorf("%s: another model", name)
		}
		if !slices.EqualFunc(said[0], said[1], slices.Equal[[]float32]) {
			t.Errorf("%s: other answers", name)
		}
	}
	type nodes struct {
		columns, valid bool
		train          int
	}
	for _, c := range race.Some([]nodes{{true, true, 0}, {false, false, 0}, {true, false, 6000}}) { // systems for few nodes, and for many
		set := hubs(150, c.columns)
		set.Split = parted(150, c.valid)
		if !c.columns {
			if err := set.Identify(); err != nil {
				t.Fatal(err)
			}
		}
		other := *set
		other.Class = replaced(set.Class, set.Split, 2)
		sets := []*sources.NodeSet{set, &other}
		for i, s := range choose.Nodes(set, max(c.train, 50)) {
			var files [2][]byte
			var said [2][][]float32
			for at, set := range sets {
				train, valid, _, err := choose.Deal(set, 1)
				if err != nil {
					t.Fatal(err)
				}
				s = choose.Nodes(set, max(c.train, 50))[i]
				p, file := learned(s, set.Classes, choose.NodeRows(set, train), choose.NodeRows(set, valid))
				files[at], said[at] = file, answers(t, mem, p, set.Graph, set.IDs, choose.NodeRows(set, set.All()))
				_ = p.Close()
			}
			compare(fmt.Sprintf("%s, %+v", s.Name, c), files, said)
		}
	}
	for _, given := range race.Some([]bool{true, false}) {
		var items []sources.Item
		var layout record.Layout
		var class []int32
		for i := range 36 {
			set := hubs(12+i, true)
			layout = set.Layout()
			class = append(class, int32(i%2))
			items = append(items, sources.Item{ID: int64(i), Graph: set.Graph})
		}
		layout.Classes, layout.NodeClasses = []string{"a", "b"}, nil
		split := parted(len(items), given)
		for _, s := range choose.Graphs(layout, 30) {
			var files [2][]byte
			var said [2][][]float32
			for at, class := range [][]int32{class, replaced(class, split, 2)} {
				for i := range items {
					items[i].Class = max(0, class[i]) // graphs of no class are not read
				}
				all, err := choose.Collect(t.Context(), flow.From(sources.Graphs{Items: items, Layout: layout}))
				if err != nil {
					t.Fatal(err)
				}
				train, valid, _, err := all.Deal(split, 1)
				if err != nil {
					t.Fatal(err)
				}
				learn, by := must(all.Rows(train)), must(all.Rows(valid))
				p, file := learned(s, layout.Classes, choose.GraphRows(learn), choose.GraphRows(by))
				files[at], said[at] = file, answers(t, mem, p, nil, graph.IDs{}, choose.GraphRows(sources.Graphs{Items: items, Layout: layout}))
				choose.Release(learn)
				choose.Release(by)
				all.Release()
				_ = p.Close()
			}
			compare(fmt.Sprintf("%s of graphs, valid %t", s.Name, given), files, said)
		}
	}
}

// A system whose data are too many is not tried, and if it is named an error says by what bound.
func TestLeftOut(t *testing.T) {
	set := hubs(100, true)
	large := []string{"trees", "stacked-trees", "stacked-twice"}
	systems := choose.Nodes(set, 1<<17+1)
	if _, err := choose.Pick(systems, []string{"trees"}); err == nil || !strings.Contains(err.Error(), `"trees" is left out: training nodes times classes are 262146, of at most 262144`) {
		t.Error(err)
	}
	for i := range systems {
		systems[i].Epochs = min(systems[i].Epochs, 1)
		if left := systems[i].LeftOut != ""; left != slices.Contains(large, systems[i].Name) {
			t.Errorf("%s is left out: %t", systems[i].Name, left)
		}
	}
	rows := choose.NodeRows(set, set.All())
	chosen, err := choose.Choice{Systems: systems, Classes: set.Classes, Train: rows, Valid: rows, Seed: 1}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(chosen.Tried) != len(systems)-len(large) || slices.ContainsFunc(chosen.Tried, func(s choose.Tried) bool { return slices.Contains(large, s.Name) }) {
		t.Error(chosen.Tried)
	}
}
