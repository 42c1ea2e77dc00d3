package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	graph  *graph.Graph
	layout record.Layout
	ids    graph.IDs // of the nodes
	roots  []int32   // nil: the graph itself
	id     string    // of the node or the graph, or of both ends
	name   string
	of     string // the id of the graph, or its number, if the graph is explained
}

// subjects finds what is explained, and the model for it.
func (c *explaining) subjects(ctx context.Context) (p *sinks.Predictor, all []*subject, err error) {
	if c.task == "graphs" {
		return c.collected(ctx)
	}
	set, err := c.adapted(ctx)
	if err != nil {
		return nil, nil, c.in(err)
	}
	width := map[string]int{"nodes": 1, "links": 2}[c.task]
	switch n := set.Graph.N(); {
	case len(c.of)%width > 0:
		return nil, nil, cli.Usage(errors.New("a link is explained: want -of twice, the ids of its ends"))
	case len(c.of) == 0 && width == 1 && n > 0:
		c.of = cli.List{set.IDs.Name(0)}
		c.guessed("node", "first", c.of[0])
	case len(c.of) == 0 && width == 2:
		for v := int32(0); len(c.of) == 0 && v < int32(n); v++ {
			if near := set.Graph.Adj(v); len(near) > 0 {
				c.of = cli.List{set.IDs.Name(v), set.IDs.Name(near[0])}
				c.guessed("link", "first", c.of[0]+"–"+c.of[1])
			}
		}
	}
	if len(c.of) == 0 {
		return nil, nil, c.in(errors.New("there is nothing to explain"))
	}
	index, err := set.IDs.Index()
	if err != nil {
		return nil, nil, err
	}
	for pair := range slices.Chunk(c.of, width) {
		s, err := c.around(set, index, pair)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, s)
	}
	p, err = c.p.Knowing(set.Graph.N(), set.IDs)
	return p, all, err
}

// around is the node or the link of some ids.
func (c *explaining) around(set *sources.NodeSet, index *graph.IDIndex, ids []string) (s *subject, err error) {
	s = &subject{graph: set.Graph, ids: set.IDs, layout: set.Layout(), id: strings.Join(ids, "–"), name: map[string]string{"nodes": "Node", "links": "Link"}[c.task]}
	numbers := 0
	if set.IDs.Kind() == graph.NoIDs {
		numbers = set.Graph.N()
	}
	for i, id := range ids {
		v, err := nodeOf(index, numbers, id)
		if err != nil {
			return nil, c.in(err)
		}
		s.roots = append(s.roots, v)
		s.name += []string{" ", "–"}[i] + set.IDs.Quoted(v)
	}
	s.name += " of " + c.name()
	if len(ids) == 2 {
		if s.roots[0] == s.roots[1] {
			return nil, cli.Usage(fmt.Errorf("-of is %s twice, want two nodes", ids[0]))
		}
		had := false
		if s.graph, had, err = unjoined(s.graph, s.roots); had {
			s.name += ", without its edge"
		}
	}
	return s, err
}

// unjoined is a graph without the edge of a pair, and whether it had one.
func unjoined(g *graph.Graph, pair []int32) (*graph.Graph, bool, error) {
	if g.Entry(pair[0], pair[1]) < 0 && g.Entry(pair[1], pair[0]) < 0 {
		return g, false, nil
	}
	g, err := g.Without(nil, []graph.Edge{{U: pair[0], V: pair[1]}})
	return g, true, err
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

// collected finds graphs of a collection.
func (c *explaining) collected(ctx context.Context) (p *sinks.Predictor, all []*subject, err error) {
	numbered := c.edges == "" && c.Graph != ""
	switch {
	case len(c.of) > 0 && numbered:
		return nil, nil, cli.Usage(errors.New("-of and -graph are both set, want one"))
	case len(c.of) == 0 && c.edges != "" && c.Graph != c.trained.Graph:
		return nil, nil, cli.Usage(errors.New("a graph is explained: use -of, the id of the graph; with -edges, -graph names a column"))
	}
	src, names, err := c.namedGraphs(ctx)
	if err != nil {
		return nil, nil, c.in(err)
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
	numbers := []int{0}
	switch {
	case numbered:
		if numbers, err = c.numbers(); err != nil {
			return nil, nil, err
		}
	case len(c.of) == 0:
		c.guessed("graph", "first", names.Name(0))
	default:
		columns, err := c.unnamed(ctx, src)
		if err == nil && names.Len() == 0 && len(columns) > 0 {
			err = cli.Usage(fmt.Errorf("the graphs have no ids: -id names their column, one of %q, or -graph the number of a graph, in place of -of", columns))
		}
		if err != nil {
			return nil, nil, c.in(err)
		}
		numbers = nil
		for _, id := range c.of {
			number, err := graphOf(names, id)
			if err != nil {
				return nil, nil, c.in(err)
			}
			numbers = append(numbers, number)
		}
	}
	if p, all, err = c.numbered(ctx, src, numbers); err != nil {
		return nil, nil, err
	}
	for i, s := range all {
		at := int32(numbers[i])
		s.of, s.id = names.Name(at), names.Name(at)
		s.name = fmt.Sprintf("Graph %s of %s", names.Quoted(at), c.name())
	}
	return p, all, nil
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

// mostGraphs is the number of graphs that -graph names at most.
const mostGraphs = 1 << 16

// numbers are those of -graph, as 0,7,10-19.
func (c *asking) numbers() (all []int, err error) {
	for _, one := range fields(c.Graph) {
		low, high, several := strings.Cut(one, "-")
		first, err := strconv.Atoi(low)
		last := first
		if several && err == nil {
			last, err = strconv.Atoi(high)
		}
		if err != nil || first < 0 || last < first || last-first >= mostGraphs-len(all) {
			return nil, cli.Usage(fmt.Errorf("-graph is %.80q, want numbers of graphs, from 0, as 0,7,10-19, at most %d", c.Graph, mostGraphs))
		}
		for n := first; n <= last; n++ {
			if !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	return all, nil
}

// page is the page of an explanation.
func (s *subject) page(e *sinks.Explanation) page.Explanation {
	of := page.Explanation{Title: s.name, ID: s.id, Graph: s.graph, Reasons: e, Layout: s.layout}
	if s.ids.Kind() != graph.NoIDs {
		of.Name = s.ids.Name
	}
	return of
}

// numbered returns the graphs of a stream with some numbers from 0, and the model for them.
func (c *asking) numbered(ctx context.Context, src flow.Source, numbers []int) (p *sinks.Predictor, all []*subject, err error) {
	at := &nth{found: map[int64]*subject{}}
	for _, n := range numbers {
		at.found[int64(n)] = nil
	}
	at.wanted = len(at.found)
	if err := flow.From(src).To(flow.Each("graph", at.write)).Run(ctx); err != nil && !errors.Is(err, errFound) {
		return nil, nil, c.in(err)
	}
	for _, n := range numbers {
		s := at.found[int64(n)]
		if s == nil {
			return nil, nil, fmt.Errorf("%s: there is no graph %d among %d", c.name(), n, at.graphs)
		}
		s.id, s.name = strconv.Itoa(n), fmt.Sprintf("Graph %d of %s", n, c.name())
		all = append(all, s)
	}
	p, err = c.p.For(at.layout)
	return p, all, err
}

// fewNodes is the size of a graph up to which all places of a word are listed, so that they make fragments.
const fewNodes = 256

// explain explains the answer about the subject.
func (s *subject) explain(ctx context.Context, p *sinks.Predictor, class string) (*sinks.Explanation, error) {
	o := sinks.ExplainOptions{Class: class, IDs: s.ids}
	if s.roots != nil {
		return p.ExplainRoots(ctx, s.graph, o, s.roots...)
	}
	if n := s.graph.N(); n <= fewNodes {
		o.Members = fewNodes
	}
	return p.Explain(ctx, s.graph, o)
}

// errFound ends a run.
var errFound = errors.New("found")

// nth keeps copies of graphs of a stream.
type nth struct {
	found  map[int64]*subject // by pos: some may be left out before it
	wanted int                // that are not found yet
	graphs int64              // that came
	layout record.Layout
}

func (n *nth) write(_ context.Context, rec arrow.Record) error {
	n.graphs += rec.NumRows()
	pos, err := record.Values[int64](rec, record.Pos)
	if err != nil {
		return err
	}
	for row, at := range pos {
		if have, ok := n.found[at]; !ok || have != nil {
			continue
		}
		if n.found[at], err = n.keep(rec, row); err != nil {
			return err
		}
		n.wanted--
	}
	if n.wanted == 0 {
		return errFound
	}
	return nil
}

// keep copies a graph of a record.
func (n *nth) keep(rec arrow.Record, row int) (*subject, error) {
	all, err := record.GraphsOf(rec)
	if err != nil {
		return nil, err
	}
	var g graph.Graph
	all.At(row, &g)
	n.layout = all.Layout
	s := &subject{layout: n.layout}
	if s.graph, err = g.Without(nil, nil); err != nil || n.layout.NodeIDs == graph.NoIDs {
		return s, err
	}
	ids, err := record.IDsOfColumn(rec, record.NodeIDs)
	if err != nil {
		return nil, err
	}
	same := make([]int32, g.N())
	for v := range same {
		same[v] = int32(v)
	}
	s.ids = ids.Row(row).Renumber(same) // a copy
	return s, nil
}
