package tu

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
)

// model is a collection in a form that is as far from that of the reader as
// can be: maps of undirected edges, and raw label values.
type model struct {
	graphs                                       []modelGraph
	nodeLabels, nodeAttrs, edgeLabels, edgeAttrs int
	real                                         bool
}

type modelGraph struct {
	labels [][]int64 // per node
	attrs  [][]float32
	edges  map[[2]int]modelEdge // u < v
	class  int64
	value  float32
}

type modelEdge struct {
	labels []int64
	attrs  []float32
}

func (g *modelGraph) pairs() [][2]int {
	return slices.SortedFunc(maps.Keys(g.edges), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
}

func randomModel(rng *rand.Rand) model {
	m := model{
		nodeLabels: rng.IntN(3), nodeAttrs: rng.IntN(3), edgeLabels: rng.IntN(3), edgeAttrs: rng.IntN(3),
		real: rng.IntN(2) == 0,
	}
	ints := func(n int) (x []int64) {
		for range n {
			x = append(x, []int64{-1_000_000_000_000, -7, 0, 1, 2, 5, 1 << 40}[rng.IntN(7)])
		}
		return x
	}
	floats := func(n int) (x []float32) {
		for range n {
			x = append(x, rng.Float32()*200-100)
		}
		return x
	}
	graphs := 1 + rng.IntN(12)
	for i := range graphs {
		g := modelGraph{edges: map[[2]int]modelEdge{}, class: int64(rng.IntN(5)*3 - 6), value: floats(1)[0] + 0.5}
		n := rng.IntN(9)
		if i == graphs-1 {
			n++ // the last has a node
		}
		for range n {
			g.labels = append(g.labels, ints(m.nodeLabels))
			g.attrs = append(g.attrs, floats(m.nodeAttrs))
		}
		for u := range n {
			for v := u + 1; v < n; v++ {
				if rng.IntN(3) == 0 {
					g.edges[[2]int{u, v}] = modelEdge{ints(m.edgeLabels), floats(m.edgeAttrs)}
				}
			}
		}
		m.graphs = append(m.graphs, g)
	}
	return m
}

// style is one of many ways to write the same collection.
type style struct {
	comma, end string
	blank      string // after the last line
	interleave bool   // nodes of different graphs take turns
	shuffle    bool   // lines of A in random order
	oneWay     bool   // each edge once
	litter     bool   // self-loops and repeated lines
}

func randomStyle(rng *rand.Rand) style {
	coin := func() bool { return rng.IntN(2) == 0 }
	return style{
		comma: []string{", ", ",", " ", "\t", " , "}[rng.IntN(5)],
		end:   []string{"\n", "\r\n"}[rng.IntN(2)],
		blank: []string{"", "\n", "\r\n \n\n"}[rng.IntN(3)],

		interleave: coin(), shuffle: coin(), oneWay: coin(), litter: coin(),
	}
}

// write returns the files of the collection, by name.
func (m *model) write(prefix string, s style, rng *rand.Rand) map[string]string {
	type line struct {
		u, v int
		e    modelEdge
	}
	// Global numbers of the nodes: graph by graph, or in turns.
	var order [][2]int // graph, node
	for g := range m.graphs {
		for v := range m.graphs[g].labels {
			order = append(order, [2]int{g, v})
		}
	}
	if s.interleave {
		slices.SortStableFunc(order, func(a, b [2]int) int { return a[1] - b[1] })
	}
	id := map[[2]int]int{}
	out := map[string]*strings.Builder{}
	put := func(what string, fields ...string) {
		if out[what] == nil {
			out[what] = &strings.Builder{}
		}
		out[what].WriteString(strings.Join(fields, s.comma) + s.end)
	}
	for i, at := range order {
		id[at] = i + 1
		put(indicatorFile, strconv.Itoa(at[0]+1))
		if g := m.graphs[at[0]]; m.nodeLabels > 0 {
			put(nodeLabels, intFields(g.labels[at[1]])...)
		}
		if g := m.graphs[at[0]]; m.nodeAttrs > 0 {
			put(nodeAttributes, floatFields(g.attrs[at[1]])...)
		}
	}
	var lines []line
	for g := range m.graphs {
		for _, p := range m.graphs[g].pairs() {
			u, v, e := id[[2]int{g, p[0]}], id[[2]int{g, p[1]}], m.graphs[g].edges[p]
			if rng.IntN(2) == 0 {
				u, v = v, u
			}
			lines = append(lines, line{u, v, e})
			if !s.oneWay {
				lines = append(lines, line{v, u, e})
			}
			if s.litter {
				lines = append(lines, line{u, u, e}, line{u, v, e})
			}
		}
		if m.real {
			put(graphLabels, floatFields([]float32{m.graphs[g].value})...)
		} else {
			put(graphLabels, intFields([]int64{m.graphs[g].class})...)
		}
	}
	if s.shuffle {
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	}
	out[edgesFile] = &strings.Builder{}
	for _, l := range lines {
		put(edgesFile, strconv.Itoa(l.u), strconv.Itoa(l.v))
		if m.edgeLabels > 0 {
			put(edgeLabels, intFields(l.e.labels)...)
		}
		if m.edgeAttrs > 0 {
			put(edgeAttributes, floatFields(l.e.attrs)...)
		}
	}
	files := map[string]string{}
	for what, text := range out {
		files[prefix+what+".txt"] = text.String() + s.blank
	}
	return files
}

func intFields(x []int64) (s []string) {
	for _, v := range x {
		s = append(s, strconv.FormatInt(v, 10))
	}
	return s
}

func floatFields(x []float32) (s []string) {
	for _, v := range x {
		s = append(s, strconv.FormatFloat(float64(v), 'g', -1, 32))
	}
	return s
}

// graph returns what graph i should be read as.
func (m *model) graph(t *testing.T, i int) graph.Graph {
	t.Helper()
	mg := m.graphs[i]
	edges := make([]graph.Edge, 0)
	hasEdges := false
	for _, p := range mg.pairs() {
		edges = append(edges, graph.Edge{U: int32(p[0]), V: int32(p[1])})
	}
	for j := range m.graphs {
		hasEdges = hasEdges || len(m.graphs[j].edges) > 0
	}
	g, err := graph.New(len(mg.labels), false, edges)
	if err != nil {
		t.Fatal(err)
	}
	g.NodeCats, g.NodeAttrs = m.nodeLabels, m.nodeAttrs
	if hasEdges { // an empty file has no columns
		g.EdgeCats, g.EdgeAttrs = m.edgeLabels, m.edgeAttrs
	}
	var nodeValues, edgeValues [][]int64 // rows of all graphs
	for _, h := range m.graphs {
		nodeValues = append(nodeValues, h.labels...)
		for _, e := range h.edges {
			edgeValues = append(edgeValues, e.labels)
		}
	}
	for v := range mg.labels {
		g.NodeCat = append(g.NodeCat, indices(mg.labels[v], nodeValues)...)
		g.NodeAttr = append(g.NodeAttr, mg.attrs[v]...)
	}
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			e := mg.edges[[2]int{int(min(u, v)), int(max(u, v))}]
			g.EdgeCat = append(g.EdgeCat, indices(e.labels, edgeValues)...)
			g.EdgeAttr = append(g.EdgeAttr, e.attrs...)
		}
	}
	return *g
}

// indices returns, per column, how many different smaller values there are.
func indices(row []int64, all [][]int64) (x []int32) {
	for c, v := range row {
		smaller := map[int64]bool{}
		for _, other := range all {
			if other[c] < v {
				smaller[other[c]] = true
			}
		}
		x = append(x, int32(len(smaller)))
	}
	return x
}

// mapFS, zipOf and dirOf hold the same files.
func (s style) String() string {
	return fmt.Sprintf("%q %q %q interleave=%t shuffle=%t oneWay=%t litter=%t", s.comma, s.end, s.blank, s.interleave, s.shuffle, s.oneWay, s.litter)
}
