package sinks_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// measured are graphs whose nodes have a number and a word, each class with others. The order of the nodes is random.
func measured(t *testing.T, n int, order uint64) sources.Graphs {
	t.Helper()
	rng, shuffle := rand.New(rand.NewPCG(8, 1)), rand.New(rand.NewPCG(order, 2))
	src := sources.Graphs{Layout: record.Layout{
		Classes: []string{"calm", "wild"}, NodeAttr: []record.Channel{{Name: "load", Offset: 100}}, NodeCat: []record.Channel{{Name: "kind", Card: 3, Words: []string{"pump", "valve"}}},
	}}
	for i := range n {
		g, err := generate.ErdosRenyi(8+i%5, 10+i%7, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		class := int32(rng.IntN(2))
		g.NodeAttrs, g.NodeCats = 1, 1
		for v := range g.N() {
			x := float32(rng.NormFloat64()) + float32(class)
			if v%7 == 3 {
				x = float32(math.NaN())
			}
			g.NodeAttr, g.NodeCat = append(g.NodeAttr, x), append(g.NodeCat, int32(rng.IntN(3)*(1+int(class))/4))
		}
		to := make([]int32, g.N())
		for v, at := range shuffle.Perm(g.N()) {
			to[v] = int32(at)
		}
		var edges []graph.Edge
		for u := range int32(g.N()) {
			for _, v := range g.Adj(u) {
				if u < v {
					edges = append(edges, graph.Edge{U: to[u], V: to[v]})
				}
			}
		}
		h, err := graph.New(g.N(), false, edges)
		if err != nil {
			t.Fatal(err)
		}
		h.NodeAttrs, h.NodeCats, h.NodeAttr, h.NodeCat = 1, 1, make([]float32, g.N()), make([]int32, g.N())
		for v, at := range to {
			h.NodeAttr[at], h.NodeCat[at] = g.NodeAttr[v], g.NodeCat[v]
		}
		src.Items = append(src.Items, sources.Item{Graph: h, Class: class, ID: int64(1000 + i)})
	}
	return src
}

// featureTable writes the features of a model, and reads the table.
func featureTable(t *testing.T, p *sinks.Predictor, src flow.Source, most, workers int) (names []string, rows [][]float64, words []sinks.Word, left int) {
	t.Helper()
	mem := flowtest.Mem(t)
	of := func(r operators.Recipe) flow.Pipeline {
		return r.Onto(flow.From(src)).With(flow.Options{Allocator: mem, Workers: workers})
	}
	words, left, err := p.Words(t.Context(), of, graph.IDs{}, most)
	if err != nil {
		t.Fatal(err)
	}
	var got sinks.Collect
	defer got.Release()
	if err := of(p.Recipe()).Via(operators.Batch{Size: 7}).Via(sinks.Features{Words: words}).To(&got).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, rec := range got.Records() {
		names = names[:0]
		from := len(rows)
		rows = append(rows, make([][]float64, rec.NumRows())...)
		for c, col := range rec.Columns() {
			names = append(names, rec.ColumnName(c))
			for i := range col.Len() {
				x, err := strconv.ParseFloat(col.ValueStr(i), 64)
				if err != nil {
					t.Fatal(err)
				}
				if f, ok := col.(*array.Float32); ok {
					x = float64(f.Value(i))
				}
				rows[from+i] = append(rows[from+i], x)
			}
		}
	}
	return names, rows, words, left
}

// learnedFrom learns a model from the rows of a recipe.
func learnedFrom(t *testing.T, src flow.Source, r operators.Recipe, net nn.Saver) *sinks.Predictor {
	t.Helper()
	p := r.Onto(flow.From(src)).Via(operators.Batch{Size: 32})
	var err error
	switch m := net.(type) {
	case *trees.Model:
		_, err = sinks.FitTrees(t.Context(), m, p, nil)
	case nn.Model:
		_, err = (sinks.Fit{Net: m, Epochs: 5, Seed: 1}).Run(t.Context(), p)
	}
	if err != nil {
		t.Fatal(err)
	}
	model, err := sinks.NewPredictor(net, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	return model
}

// probabilities asks a model about all rows.
func probabilities(t *testing.T, p *sinks.Predictor, src flow.Source) (all []float32) {
	t.Helper()
	each := func(a sinks.Prediction) error { all = append(all, a.Probs...); return nil }
	if err := p.Recipe().Onto(flow.From(src)).To(sinks.Predict{Net: p.Net(), Each: each}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return all
}

// The table of all words is all that a linear model reads: counts that are read from the table give the answers of the model, bit
// for bit, and of a model of plain counts the bias plus the counts times the weights of the words is its logit.
func TestFeaturesAreWhatLinearModelsRead(t *testing.T) {
	race.Skip(t)
	src := measured(t, 90, 1)
	recipe := operators.Recipe{operators.Expect{Layout: src.Layout}, operators.Count{Of: []count.Counter{count.WL{Height: 2}, count.Statistics{}}}}
	for _, net := range []*nn.Logistic{nn.Best(), {Kernel: nn.Linear, Width: 1 << 20}} {
		p := learnedFrom(t, src, recipe, net)
		names, rows, words, left := featureTable(t, p, src, -1, 2)
		if left != 0 || len(words) < 100 || len(names) != 1+len(words) || len(rows) != 90 {
			t.Fatalf("%d words, %d left out, %d columns, %d rows", len(words), left, len(names), len(rows))
		}
		order := make([]int, len(words))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return map[bool]int{true: -1, false: 1}[words[a].ID < words[b].ID] })
		all, units := &nn.Counts{}, &nn.Counts{}
		for i, row := range rows {
			if row[0] != float64(1000+i) {
				t.Fatalf("row %d has the id %v", i, row[0])
			}
			var ids []uint64
			var values []float64
			for _, at := range order {
				if x := row[1+at]; x != 0 {
					ids, values = append(ids, words[at].ID), append(values, x)
				}
			}
			all.Append(ids, values)
		}
		said, err := net.Predict(nn.Batch{Counts: all}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(said.Float32s(), probabilities(t, p, src)) {
			t.Errorf("%v: answers by the table differ", net)
		}
		if net.Kernel != nn.Linear {
			continue
		}
		for _, w := range words {
			units.Append([]uint64{w.ID}, []float64{1})
		}
		for i, row := range rows {
			want, err := net.Contributions(nn.Batch{Counts: all}, i)
			if err != nil {
				t.Fatal(err)
			}
			score := slices.Clone(want.Bias)
			for w := range words {
				one, err := net.Contributions(nn.Batch{Counts: units}, w)
				if err != nil {
					t.Fatal(err)
				}
				for c, x := range one.Weights {
					score[c] += x * row[1+w]
				}
			}
			for c, x := range want.Sum() {
				if math.Abs(x-score[c]) > 1e-5*(1+math.Abs(x)) {
					t.Errorf("row %d: bias and words add up to %v, the logit is %v", i, score[c], x)
				}
			}
			if i == 5 {
				break
			}
		}
	}
}

// Trees that learn anew from the table give the answers of trees that have learned from the rows.
func TestFeaturesAreWhatTreesRead(t *testing.T) {
	src := measured(t, 120, 1)
	settings := func() *trees.Model { return &trees.Model{Trees: 20, Leaves: 5, MinRows: 5, Seed: 3} }
	p := learnedFrom(t, src, operators.Recipe{
		operators.Expect{Layout: src.Layout}, operators.Describe{}, operators.Count{Of: []count.Counter{count.WL{Height: 1}}},
	}, settings())
	names, rows, words, _ := featureTable(t, p, src, -1, 2)
	at := map[string]int{}
	for i, name := range names {
		at[name] = i
	}
	// A number has its offset, as in the graphs.
	if c, ok := at["load: mean"]; !ok || rows[0][c] < 90 {
		t.Errorf("the columns are %q, the first row %v", names, rows[0])
	}
	// The least id is the first of equal columns.
	numbers := len(names) - 1 - len(words)
	columns := slices.Clone(names[1 : 1+numbers])
	slices.SortFunc(words, func(a, b sinks.Word) int { return map[bool]int{true: -1, false: 1}[a.ID < b.ID] })
	for _, w := range words {
		columns = append(columns, w.Text)
	}
	b := nn.Batch{}
	for _, row := range rows {
		for _, name := range columns {
			b.Columns = append(b.Columns, row[at[name]])
		}
	}
	class := make([]int32, len(rows))
	for i := range class {
		class[i] = src.Items[i].Class
	}
	b.Targets = tensor.New(tensor.WithShape(len(class)), tensor.WithBacking(class))
	anew := settings()
	if err := anew.Init(nn.Shape{Columns: columns, Classes: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := anew.Fit(t.Context(), trees.Of(b), nil); err != nil {
		t.Fatal(err)
	}
	said, err := anew.Predict(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := probabilities(t, p, src)
	for i, x := range said.Float32s() {
		if math.Abs(float64(x-want[i])) > 1e-6 {
			t.Errorf("row %d: %v by the table, %v by the rows", i/2, x, want[i])
		}
	}
}

// The table depends neither on the numbering of the nodes nor on the workers. The strongest words are those of the longer list, what is
// left out is counted, and a model of two models has words too.
func TestFeaturesOrder(t *testing.T) {
	race.Skip(t)
	src := measured(t, 60, 1)
	recipe := operators.Recipe{operators.Expect{Layout: src.Layout}, operators.Describe{}, operators.Count{Of: []count.Counter{count.WL{Height: 2}}}}
	p := learnedFrom(t, src, recipe, nn.Best())
	names, rows, all, _ := featureTable(t, p, src, -1, 1)
	others, same, _, _ := featureTable(t, p, measured(t, 60, 2), -1, 3)
	if !slices.Equal(names, others) || fmt.Sprint(rows) != fmt.Sprint(same) {
		t.Error("the order of the nodes, or the workers, change the table")
	}
	_, _, some, left := featureTable(t, p, src, 9, 2)
	if len(some) != 9 || left != len(all)-9 || !slices.Equal(some, all[:9]) || some[0].Strength <= some[8].Strength || strings.HasPrefix(some[0].Text, "0x") {
		t.Errorf("%v of %d words, %d left out", some, len(all), left)
	}
	forest := learnedFrom(t, src, recipe, &trees.Model{Trees: 5, MinRows: 3})
	mean, err := sinks.NewPredictor(&nn.Ensemble{Nets: []nn.Predictor{forest.Net(), p.Net()}}, recipe)
	if err != nil {
		t.Fatal(err)
	}
	defer mean.Close()
	if _, _, words, _ := featureTable(t, mean, src, 9, 2); len(words) != 9 {
		t.Errorf("%d words of an ensemble", len(words))
	}
	// Trees also decide by words that a row does not have: all words have names all the same, and are in the atlas.
	forest = learnedFrom(t, src, append(recipe[:1:1], recipe[2]), &trees.Model{Trees: 20, MinRows: 3})
	_, _, words, _ := featureTable(t, forest, src, 1000, 2)
	if slices.ContainsFunc(words, func(w sinks.Word) bool { return strings.HasPrefix(w.Text, "0x") }) || len(words) == 0 {
		t.Errorf("words of trees: %v", words)
	}
	if a, err := forest.Atlas(t.Context(), flow.From(src), sinks.AtlasOptions{}); err != nil || len(a.Motifs)+len(a.Whole) == 0 {
		t.Errorf("the atlas of trees: %+v, %v", a, err)
	}
}

// A name that is there twice gets another, and ids of pairs are two.
func TestFeaturesNames(t *testing.T) {
	src := measured(t, 8, 1)
	p := learnedFrom(t, src, operators.Recipe{operators.Expect{Layout: src.Layout}, operators.Describe{}, operators.Count{Of: []count.Counter{count.WL{Height: 1}}}}, &nn.Logistic{})
	words := []sinks.Word{{ID: 7, Text: "nodes"}, {ID: 8, Text: "nodes"}}
	for pairs, want := range map[bool]string{false: "[id nodes edges", true: "[source target nodes edges"} {
		f := sinks.Features{Words: words, Pairs: pairs, IDs: graph.StringIDs, ID: func(a sinks.Prediction) []string {
			return []string{"a", "b"}[:map[bool]int{false: 1, true: 2}[pairs]]
		}}
		schema, err := p.Recipe().Onto(flow.From(src)).Via(f).Schema(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range schema.Fields() {
			names = append(names, c.Name)
		}
		if text := fmt.Sprint(names); !strings.HasPrefix(text, want) || !strings.HasSuffix(text, "nodes 0x0000000000000007 nodes 0x0000000000000008]") {
			t.Errorf("%s", text)
		}
	}
	bad := sinks.Features{ID: func(sinks.Prediction) []string { return []string{"x1"} }}
	err := p.Recipe().Onto(flow.From(src)).Via(bad).To(&sinks.Collect{}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), `the id "x1" is no integer`) {
		t.Error(err)
	}
}
