package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
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
	of     string // of explanation
	// explain explains the answer.
	explain func(context.Context) (*choose.Reasons, error)
}

// subjects finds what is explained, and the opened model, which is closed after the last explanation.
func (c *explaining) subjects(ctx context.Context) (all []*subject, opened io.Closer, err error) {
	var p *sinks.Predictor
	switch c.task {
	case "rows":
		return c.askedRows(ctx)
	case "graphs":
		p, all, err = c.collected(ctx)
	default:
		p, all, err = c.around(ctx)
	}
	for _, s := range all {
		s.explain = func(ctx context.Context) (*choose.Reasons, error) {
			return reasons(ctx, p, s.graph, s.ids, s.roots, c.class)
		}
	}
	return all, p, err
}

// askedRows are the rows of -of, by default the latest row.
func (c *explaining) askedRows(ctx context.Context) (all []*subject, opened io.Closer, err error) {
	h, err := c.rowsToAsk(ctx)
	if err != nil {
		return nil, nil, c.in(err)
	}
	if len(c.of) == 0 {
		last := cmp.Or(h.Set.Known(), h.Set.Rows) - 1
		if last < 0 {
			return nil, nil, c.in(errors.New("there are no rows"))
		}
		c.of = cli.List{h.Set.IDs.Name(int32(last))}
		c.guessed("row", "latest", c.of[0])
	}
	o, err := h.OpenRows(c.p, c.ofRows())
	if err != nil {
		return nil, nil, err
	}
	asked, _, err := o.Ask(c.of, nil)
	if err != nil {
		return nil, nil, errors.Join(c.in(err), o.Close())
	}
	for i, q := range asked {
		all = append(all, &subject{layout: c.p.Layout(), id: c.of[i], of: c.of[i], name: fmt.Sprintf("Row %s of %s", cli.Printable(c.of[i]), c.name()), explain: func(ctx context.Context) (*choose.Reasons, error) {
			return o.Explain(ctx, q, c.class)
		}})
	}
	return all, o, nil
}

// around are the nodes or the links of -of, by default the first, and the model for them.
func (c *explaining) around(ctx context.Context) (p *sinks.Predictor, all []*subject, err error) {
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
	numbers := 0
	if set.IDs.Kind() == graph.NoIDs {
		numbers = set.Graph.N()
	}
	for ids := range slices.Chunk(c.of, width) {
		s := &subject{graph: set.Graph, ids: set.IDs, layout: set.Layout(), id: strings.Join(ids, "–"), name: map[string]string{"nodes": "Node", "links": "Link"}[c.task]}
		for i, id := range ids {
			v, err := nodeOf(index, numbers, id)
			if err != nil {
				return nil, nil, c.in(err)
			}
			s.roots = append(s.roots, v)
			s.name += []string{" ", "–"}[i] + set.IDs.Quoted(v)
		}
		if s.name += " of " + c.name(); joined(set.Graph, s.roots) {
			s.name += ", without its edge"
		}
		if width == 2 && s.roots[0] == s.roots[1] {
			return nil, nil, cli.Usage(fmt.Errorf("-of is %s twice, want two nodes", ids[0]))
		}
		all = append(all, s)
	}
	p, err = c.p.Knowing(set.Graph.N(), set.IDs)
	return p, all, err
}

// joined reports whether roots are a pair with an edge.
func joined(g *graph.Graph, roots []int32) bool {
	return len(roots) == 2 && (g.Entry(roots[0], roots[1]) >= 0 || g.Entry(roots[1], roots[0]) >= 0)
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

// graphOf returns the number of the graph with an id. Graphs without ids have numbers in place of these, as in predict.
func graphOf(names graph.IDs, id string) (number int, err error) {
	if names.Len() == 0 {
		if number, err = strconv.Atoi(id); err == nil && number >= 0 {
			return number, nil
		}
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
		all = append(all, s)
	}
	p, err = c.p.For(at.layout)
	return p, all, err
}

// fewNodes is the size of a graph up to which all places of a word are listed, so that they make fragments.
const fewNodes = 256

// reasons explains the answer of p about a graph, or about roots of it: a node, or a pair without its edge. The default of class is the
// predicted one.
func reasons(ctx context.Context, p *sinks.Predictor, g *graph.Graph, ids graph.IDs, roots []int32, class string) (r *choose.Reasons, err error) {
	r = &choose.Reasons{Graph: g, IDs: ids}
	o := sinks.ExplainOptions{Class: class, IDs: ids}
	switch {
	case roots == nil:
		if g.N() <= fewNodes {
			o.Members = fewNodes
		}
		r.Explanation, err = p.Explain(ctx, g, o)
		return r, err
	case joined(g, roots):
		if r.Graph, err = g.Without(nil, []graph.Edge{{U: roots[0], V: roots[1]}}); err != nil {
			return nil, err
		}
	}
	r.Explanation, err = p.ExplainRoots(ctx, r.Graph, o, roots...)
	return r, err
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
