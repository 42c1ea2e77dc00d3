package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/page"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/nodelink"
)

// subject is what is explained.
type subject struct {
	p      *sinks.Predictor // of the layout
	graph  *graph.Graph
	layout record.Layout
	ids    graph.IDs // of the nodes
	roots  []int32   // nil: the graph itself
	name   string
	of     string // the id of the graph, or its number, if the graph is explained
}

// subject finds what is explained.
func (c *explaining) subject(ctx context.Context) (*subject, error) {
	if c.task == "graphs" {
		return c.collected(ctx)
	}
	want := map[string]int{"nodes": 1, "links": 2}[c.task]
	switch {
	case len(c.of) != want && want == 2:
		return nil, cli.Usage(errors.New("a link is explained: want -of twice, the ids of its ends"))
	case len(c.of) != want:
		return nil, cli.Usage(errors.New("a node is explained: want -of once, the id of the node"))
	}
	set, err := c.adapted(ctx)
	if err != nil {
		return nil, c.in(err)
	}
	s := &subject{graph: set.Graph, ids: set.IDs, layout: set.Layout(), name: map[string]string{"nodes": "Node", "links": "Link"}[c.task]}
	index, err := set.IDs.Index()
	if err != nil {
		return nil, err
	}
	numbers := 0
	if set.IDs.Kind() == graph.NoIDs {
		numbers = set.Graph.N()
	}
	for i, id := range c.of {
		v, err := nodeOf(index, numbers, id)
		if err != nil {
			return nil, c.in(err)
		}
		s.roots = append(s.roots, v)
		s.name += []string{" ", "–"}[i] + set.IDs.Quoted(v)
	}
	s.name += " of " + c.name()
	if want == 2 {
		if s.roots[0] == s.roots[1] {
			return nil, cli.Usage(fmt.Errorf("-of is %s twice, want two nodes", c.of[0]))
		}
		g := s.graph
		if g.Entry(s.roots[0], s.roots[1]) >= 0 || g.Entry(s.roots[1], s.roots[0]) >= 0 {
			if s.graph, err = g.Without(nil, []graph.Edge{{U: s.roots[0], V: s.roots[1]}}); err != nil {
				return nil, err
			}
			s.name += ", without its edge"
		}
	}
	s.p, err = c.p.Knowing(s.graph.N(), set.IDs)
	return s, err
}

// nodeOf returns the node of an id, or of a number where so many nodes have no ids.
func nodeOf(index *graph.IDIndex, numbers int, id string) (int32, error) {
	if v, ok := index.Name(id); ok {
		return v, nil
	}
	if v, err := strconv.Atoi(id); err == nil && v >= 0 && v < numbers && strconv.Itoa(v) == id {
		return int32(v), nil
	}
	return 0, fmt.Errorf("there is no node %q", clip(id))
}

// collected finds a graph of a collection.
func (c *explaining) collected(ctx context.Context) (*subject, error) {
	numbered := c.edges == "" && c.Graph != ""
	switch {
	case len(c.of) > 1:
		return nil, cli.Usage(fmt.Errorf("a graph is explained, and -of is given %d times, want once", len(c.of)))
	case len(c.of) == 0 && c.edges != "":
		return nil, cli.Usage(errors.New("a graph is explained: use -of, the id of the graph; with -edges, -graph names a column"))
	case len(c.of) > 0 && numbered:
		return nil, cli.Usage(errors.New("-of and -graph are both set, want one"))
	}
	src, names, err := c.namedGraphs(ctx)
	if err != nil {
		return nil, c.in(err)
	}
	switch of := src.(type) {
	case sources.Graphs:
		if names.Len() == 0 { // the ids are integers
			var ids []int64
			for _, it := range of.Items {
				ids = append(ids, it.ID)
			}
			names = graph.IDsOf(ids)
		}
	case nodelink.Source: // the model does not read ids of nodes
		l := *of.Layout
		l.NodeIDs = graph.StringIDs
		of.Layout = &l
		src = of
	}
	number, err := c.number()
	if len(c.of) == 0 && !numbered {
		fmt.Fprintln(os.Stderr, "guessed: graph 0, the first, is explained; -graph, a number, or -of, an id, names another")
	}
	if len(c.of) > 0 {
		if number, err = graphOf(names, c.of[0]); err != nil {
			err = c.in(err)
		}
	}
	if err != nil {
		return nil, err
	}
	s, err := c.numbered(ctx, src, number)
	if err == nil {
		s.of = names.Name(int32(number))
		s.name = fmt.Sprintf("Graph %s of %s", names.Quoted(int32(number)), c.name())
	}
	return s, err
}

// graphOf returns the number of the graph with an id.
func graphOf(names graph.IDs, id string) (number int, err error) {
	if names.Len() == 0 {
		return 0, errors.New("the graphs have no ids: set -graph, the number of a graph, in place of -of")
	}
	number = -1
	for i := range names.Len() {
		switch {
		case names.Name(int32(i)) != id:
		case number >= 0:
			return 0, fmt.Errorf("graphs %d and %d have the id %.80q: set -graph, the number of a graph, in place of -of", number, i, id)
		default:
			number = i
		}
	}
	if number < 0 {
		return 0, fmt.Errorf("there is no graph %.80q", id)
	}
	return number, nil
}

// explained returns the class of -class, and puts the column of the model in its place.
func (c *asking) explained() (class string) {
	if slices.Contains(cli.Given(c.FlagSet), "class") {
		class, c.Class = c.Class, c.trained.Class
	}
	return class
}

// number is that of -graph.
func (c *asking) number() (int, error) {
	number, err := strconv.Atoi("0" + c.Graph)
	if err != nil {
		err = cli.Usage(fmt.Errorf("-graph is %q, want the number of a graph, from 0", c.Graph))
	}
	return number, err
}

// reasons explains the answer for the graph of -graph.
func (c *asking) reasons(ctx context.Context, src flow.Source, class string) (*page.Explanation, error) {
	number, err := c.number()
	if err != nil {
		return nil, err
	}
	s, err := c.numbered(ctx, src, number)
	if err != nil {
		return nil, err
	}
	defer s.p.Close()
	e, err := s.explain(ctx, class)
	return s.page(e), err
}

// page is the page of an explanation.
func (s *subject) page(e *sinks.Explanation) *page.Explanation {
	return &page.Explanation{Title: s.name, Graph: s.graph, Reasons: e, Type: typeOf(s.graph, s.layout), Name: s.ids.Name}
}

// numbered is a graph of a stream, by its number from 0.
func (c *asking) numbered(ctx context.Context, src flow.Source, number int) (*subject, error) {
	s := &subject{name: fmt.Sprintf("Graph %d of %s", number, c.name())}
	at := &nth{number: int64(number)}
	if err := flow.From(src).To(at).Run(ctx); err != nil && !errors.Is(err, errFound) {
		return nil, c.in(err)
	}
	if at.graph == nil {
		return nil, fmt.Errorf("%s: there is no graph %d among %d", c.name(), number, at.graphs)
	}
	s.graph, s.layout, s.ids = at.graph, at.layout, at.ids
	var err error
	s.p, err = c.p.For(at.layout)
	return s, err
}

// explain explains the answer about the subject.
func (s *subject) explain(ctx context.Context, class string) (*sinks.Explanation, error) {
	o := sinks.ExplainOptions{Class: class, IDs: s.ids}
	if s.roots == nil {
		return s.p.Explain(ctx, s.graph, o)
	}
	return s.p.ExplainRoots(ctx, s.graph, o, s.roots...)
}

// largest returns up to 100 with the largest weights.
func largest[T any](all []T, weight func(T) float64) []T {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(math.Abs(weight(b)), math.Abs(weight(a))) })
	return all[:min(100, len(all))]
}

// errFound ends a run.
var errFound = errors.New("found")

// nth keeps a copy of a graph of a stream.
type nth struct {
	number int64 // its pos: some may be left out before it
	graphs int64 // that came
	graph  *graph.Graph
	layout record.Layout
	ids    graph.IDs // of its nodes
}

func (*nth) Name() string { return "graph" }

func (n *nth) Open(in *arrow.Schema) (w flow.Writer, err error) {
	n.layout, err = record.LayoutOf(in)
	return n, err
}

func (*nth) Close(error) error { return nil }

func (n *nth) Write(_ context.Context, rec arrow.Record) error {
	n.graphs += rec.NumRows()
	pos, err := record.Values[int64](rec, record.Pos)
	if err != nil {
		return err
	}
	row := slices.Index(pos, n.number)
	if row < 0 {
		return nil
	}
	all, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	var g graph.Graph
	all.At(row, &g)
	if n.graph, err = g.Without(nil, nil); err != nil { // a copy
		return err
	}
	if n.layout.NodeIDs != graph.NoIDs {
		ids, err := record.IDsOfColumn(rec, record.NodeIDs)
		if err != nil {
			return err
		}
		same := make([]int32, g.N())
		for v := range same {
			same[v] = int32(v)
		}
		n.ids = ids.Row(row).Renumber(same) // a copy
	}
	return errFound
}

// typeOf returns what is written into the nodes of a drawing: their first discrete attribute.
func typeOf(g *graph.Graph, l record.Layout) func(v int32) string {
	if len(l.NodeCat) == 0 {
		return nil
	}
	return func(v int32) string {
		x := g.NodeCat[int(v)*g.NodeCats]
		word, ok := l.NodeCat[0].Word(x)
		if !ok {
			return strconv.Itoa(int(x))
		}
		return word
	}
}
