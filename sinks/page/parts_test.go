package page

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/molecules"
)

// renumbered returns a graph whose node at[v] is node v of g, with its attributes.
func renumbered(t *testing.T, g *graph.Graph, at []int) *graph.Graph {
	t.Helper()
	b := sources.Builder{}
	from := make([]int32, len(at))
	for v, w := range at {
		from[w] = int32(v)
	}
	for _, v := range from {
		b.Node(g.NodeCat[int(v)*g.NodeCats:][:g.NodeCats]...)
	}
	for v := range int32(g.N()) {
		for i := g.Offsets[v]; i < g.Offsets[v+1]; i++ {
			if u := g.Neighbors[i]; v < u {
				b.Edge(int32(at[v]), int32(at[u]), g.EdgeCat[int(i)*g.EdgeCats:][:g.EdgeCats]...)
			}
		}
	}
	h, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func parse(t *testing.T, smiles string) *graph.Graph {
	t.Helper()
	g, err := molecules.Parse(smiles)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Parts of molecules are called what chemistry calls them, whatever the order of their atoms.
func TestNamesOfMolecules(t *testing.T) {
	layout := molecules.Layout()
	for smiles, want := range map[string]string{
		"C":                    "CH4",
		"[NH4+]":               "NH4+",
		"[O-]":                 "O−",
		"CO":                   "CH3–OH|hydroxyl",
		"COC":                  "CH3–O–CH3|ether",
		"CC(=O)O":              "|carboxyl",
		"CC(=O)[O-]":           "|carboxylate",
		"CC(=O)N":              "|amide",
		"CC(=O)OC":             "|ester",
		"CC(=O)C":              "|carbonyl",
		"CC#N":                 "|nitrile",
		"C[N+](=O)[O-]":        "|nitro",
		"CN(=O)=O":             "|nitro",
		"CN=NC":                "|azo",
		"CS(=O)(=O)C":          "|sulfonyl",
		"CCN":                  "|amino",
		"ClCBr":                "|2 × halogen",
		"c1ccccc1":             "C6H6|aromatic ring",
		"O=[N+]([O-])c1ccccc1": "C6H5NO2|aromatic ring, nitro",
		"OC(=O)c1ccccc1O":      "C7H6O3|aromatic ring, carboxyl, hydroxyl",
		"C1CCCCC1":             "C6H12",
		"CCC":                  "CH3–CH2–CH3",
		"C=CC#C":               "",
	} {
		g := parse(t, smiles)
		name := nameOf(g, &layout, chemistryOf(&layout))
		text, groups, _ := strings.Cut(want, "|")
		if groups != "" && !strings.HasPrefix(name, groups+" ") || want != "" && groups == "" && strings.Contains(name, " ") {
			t.Errorf("%s: %q, want the groups %q", smiles, name, groups)
		}
		if line := name[strings.LastIndex(name, " ")+1:]; text != "" && line != text {
			t.Errorf("%s: %q, want %q", smiles, name, text)
		}
		for range 20 {
			h := renumbered(t, g, rand.Perm(g.N()))
			if again := nameOf(h, &layout, chemistryOf(&layout)); again != name {
				t.Fatalf("%s: %q, and renumbered %q", smiles, name, again)
			}
		}
	}
}

// isomorphic tries all orders of the nodes.
func isomorphic(g, h *graph.Graph) bool {
	if g.N() != h.N() || g.M() != h.M() {
		return false
	}
	order := make([]int32, 0, g.N())
	var fits func() bool
	fits = func() bool {
		v := int32(len(order))
		if int(v) == g.N() {
			return true
		}
		for w := range int32(h.N()) {
			if slices.Contains(order, w) || !slices.Equal(g.NodeCat[int(v)*g.NodeCats:][:g.NodeCats], h.NodeCat[int(w)*h.NodeCats:][:h.NodeCats]) {
				continue
			}
			ok := true
			for u := range v {
				i, j := g.Entry(v, u), h.Entry(w, order[u])
				ok = ok && (i < 0) == (j < 0) && (i < 0 || slices.Equal(g.EdgeCat[i*g.EdgeCats:][:g.EdgeCats], h.EdgeCat[j*h.EdgeCats:][:h.EdgeCats]))
			}
			if ok {
				order = append(order, w)
				if fits() {
					return true
				}
				order = order[:v]
			}
		}
		return false
	}
	return fits()
}

// Places are one fragment where brute force finds them isomorphic, and no others; the weights of words are split equally among their
// places.
func TestFragments(t *testing.T) {
	layout := molecules.Layout()
	g := parse(t, "CC(=O)Nc1ccc(OC)c(C2CC2)c1CC(C)(C)O")
	random := rand.New(rand.NewPCG(1, 2))
	e := &sinks.Explanation{Method: "exact", Words: []sinks.WordWeight{{Text: "whole", Weight: 0.5}}}
	want := map[string]float64{} // by place
	var places [][]int32
	for range 40 {
		w := sinks.WordWeight{Text: "word", Weight: random.Float64() - 0.5}
		for range 1 + random.IntN(4) {
			place := []int32{int32(random.IntN(g.N()))}
			for range random.IntN(5) { // grows along bonds, so that equal ones occur
				near := g.Adj(place[random.IntN(len(place))])
				if u := near[random.IntN(len(near))]; !slices.Contains(place, u) {
					place = append(place, u)
				}
			}
			w.Members = append(w.Members, place)
		}
		for _, place := range w.Members {
			sorted := slices.Sorted(slices.Values(place))
			if want[fmt.Sprint(sorted)] == 0 {
				places = append(places, sorted)
			}
			want[fmt.Sprint(sorted)] += w.Weight / float64(len(w.Members))
		}
		e.Words, e.Sum = append(e.Words, w), e.Sum+w.Weight
	}
	e.Sum += 0.5
	parts, err := Explanation{Graph: g, Reasons: e, Layout: layout}.Parts()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, p := range parts {
		sum := 0.0
		for _, place := range p.Nodes {
			at[fmt.Sprint(place)] = i
			sum += want[fmt.Sprint(place)]
		}
		if p.Kind == Fragment && math.Abs(sum-p.Weight) > 1e-9 {
			t.Errorf("%s adds %v, want %v", p.Name, p.Weight, sum)
		}
	}
	if len(at) != len(want) {
		t.Fatalf("%d places, want %d", len(at), len(want))
	}
	for i, a := range places {
		for _, b := range places[:i] {
			g1, err1 := g.Only(a)
			g2, err2 := g.Only(b)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if same := isomorphic(g1, g2); same != (at[fmt.Sprint(a)] == at[fmt.Sprint(b)]) {
				t.Errorf("%v and %v: isomorphic %v", a, b, same)
			}
		}
	}
}

// Around roots a node adds what the words gave to it, and the edges that lead from it to nodes nearer to the roots. The table undoes
// the halves that nodes of an exact explanation pass to their edges.
func TestAround(t *testing.T) {
	//	0 (asked) – 1 – 2, 0 – 3, 1 – 3
	edges := []graph.Edge{{U: 0, V: 1}, {U: 0, V: 3}, {U: 1, V: 2}, {U: 1, V: 3}}
	g, err := graph.New(5, false, edges)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	given, own := make([]float64, 4), make([]float64, len(edges))
	e := &sinks.Explanation{Method: "exact", Roots: []int32{0}, Words: []sinks.WordWeight{{Text: "of the root: night", Weight: 0.25, Members: [][]int32{{0}}}}}
	degree := []float64{2, 3, 1, 2}
	for v := range given {
		given[v] = random.NormFloat64()
		e.Nodes = append(e.Nodes, sinks.NodeWeight{ID: int32(v), Weight: given[v] / 2})
		e.Sum += given[v]
	}
	for i, x := range edges {
		own[i] = random.NormFloat64()
		e.Edges = append(e.Edges, sinks.EdgeWeight{Source: x.U, Target: x.V, Weight: own[i] + given[x.U]/2/degree[x.U] + given[x.V]/2/degree[x.V]})
		e.Sum += own[i]
	}
	value := 930.0
	e.Columns = []sinks.ColumnWeight{{Name: "amount", Value: &value, Weight: 2}, {Name: "none", Weight: 0.125}, {Name: "zero"}}
	e.Bias, e.Sum = 1, e.Sum+1+2.125
	parts, err := Explanation{Graph: g, Reasons: e, Name: func(v int32) string { return fmt.Sprint("P-", v) }}.Parts()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"bias before anything is known": 1, "column amount = 930": 2, "column none = none": 0.125, "own night": 0.25, "asked P-0 itself": given[0] - 0.25,
		"node P-1": given[1] + own[0] + own[3]/2, "node P-2": given[2] + own[2], "node P-3": given[3] + own[1] + own[3]/2,
	}
	got := map[string]float64{}
	for _, p := range parts {
		got[p.Kind+" "+p.Text()] = p.Weight
	}
	if !maps.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
		t.Errorf("the parts are %v, want %v", got, want)
	}
}

// The parts of real answers add up to the sum, and do not depend on how nodes are numbered.
func TestPartsOfModels(t *testing.T) {
	defer leak.VerifyNone(t)
	var items []sources.Item
	for i, smiles := range []string{"CCO", "CCN", "CC(C)O", "CC(C)N", "CCCO", "CCCN", "OC1CC1", "NC1CC1", "CC(=O)O", "CC(=O)N", "c1ccccc1O", "c1ccccc1N"} {
		items = append(items, sources.Item{ID: int64(i), Graph: parse(t, smiles), Class: int32(i % 2)})
	}
	layout := molecules.Layout()
	layout.Classes = []string{"alcohol", "amine"}
	expect := operators.Expect{Layout: layout}
	ctx := context.Background()
	for name, c := range map[string]struct {
		net    nn.Model
		recipe operators.Recipe
		roots  []int32
	}{
		"words":     {nn.Best(), operators.Recipe{expect, operators.Count{Of: count.Standard()}}, nil},
		"occlusion": {&nn.CNN{Dropout: -1}, operators.Recipe{expect, operators.Select{W: 4}, operators.Assemble{K: 4}, operators.Normalize{Edges: true}}, nil},
		"roots":     {nn.Best(), operators.Recipe{expect, operators.Roots{Nodes: []int32{0}}, operators.Count{Of: []count.Counter{count.Around{Hops: 2}}}}, []int32{0}},
	} {
		graphs := flow.From(sources.Graphs{Items: items, Layout: layout})
		if _, err := (sinks.Fit{Net: c.net, Epochs: 5}).Run(ctx, c.recipe.Onto(graphs)); err != nil {
			t.Fatal(name, err)
		}
		p, err := sinks.NewPredictor(c.net, c.recipe)
		if err != nil {
			t.Fatal(name, err)
		}
		explain := func(g *graph.Graph, roots []int32) map[string]float64 {
			o := sinks.ExplainOptions{Members: 100}
			e, err := p.Explain(ctx, g, o)
			if roots != nil {
				e, err = p.ExplainRoots(ctx, g, o, roots...)
			}
			if err != nil {
				t.Fatal(name, err)
			}
			all := Explanation{Graph: g, Reasons: e, Layout: layout, Name: func(int32) string { return "node" }}
			parts, err := all.Parts()
			if err != nil {
				t.Fatal(name, err)
			}
			sums, sum := map[string]float64{}, 0.0
			for _, part := range parts {
				sum += part.Weight
				if sums[part.Kind+part.Text()+part.Value] += part.Weight; part.Name == "the whole graph" && e.Method == "exact" {
					t.Errorf("%s: %v of the sum %v is in no part", name, part.Weight, e.Sum)
				}
			}
			if math.Abs(sum-e.Sum) > 1e-5*(1+math.Abs(e.Sum)) {
				t.Errorf("%s: the parts add up to %v, want %v", name, sum, e.Sum)
			}
			checkPage(t, all)
			return sums
		}
		for _, smiles := range []string{"CC(C)(C)OC(=O)c1ccc(N)cc1", "OCC#N"} {
			g := parse(t, smiles)
			want := explain(g, c.roots)
			order := rand.New(rand.NewPCG(5, 6)).Perm(g.N())
			var roots []int32
			if c.roots != nil {
				roots = []int32{int32(order[0])}
			}
			got := explain(renumbered(t, g, order), roots)
			if name == "occlusion" { // whose fields follow a labeling
				continue
			}
			if !maps.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-5 }) {
				t.Errorf("%s, %s: %v, and renumbered %v", name, smiles, want, got)
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Times between rows are written in the largest unit that fits, where they are in seconds.
func TestDurations(t *testing.T) {
	for seconds, want := range map[float64]string{1.02104e6: "11.8 days", 58141.7: "16.2 hours", 90: "1.5 minutes", 0.25: "0.25 seconds", -7200: "-2.0 hours"} {
		for name, is := range map[string]bool{"account: time since the last": true, "later, shop: time until the next row with known fraud": true, "shop: last amount": false} {
			for _, dates := range []bool{true, false} {
				e := &sinks.Explanation{Columns: []sinks.ColumnWeight{{Name: name, Value: &seconds, Weight: 1}}, Sum: 1}
				parts, err := Explanation{Reasons: e, Seconds: dates}.Parts()
				if err != nil {
					t.Fatal(err)
				}
				if got := parts[1].Value; (got == want) != (is && dates) {
					t.Errorf("%s = %v is %q, dates %v", name, seconds, got, dates)
				}
			}
		}
	}
}
