package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/page"
)

func explain(ctx context.Context, args []string) error {
	c, html := &asking{}, ""
	c.explains = true
	f := flags("explain", "\nThe data are given by -data; -graph is the number of the graph there, from 0, and -class the\nclass to explain, by default the predicted one. Weights are in nats, those of the logit of the\nclass minus the mean over all classes, or in the unit of the number that was learned.")
	c.flags(f)
	f.StringVar(&c.json, "json", "", "file for the explanation as JSON")
	f.StringVar(&html, "html", "", "file for the explanation as a page of HTML")
	if err := c.load(f, args); err != nil {
		return err
	}
	defer c.p.Close()
	class := c.Class
	c.Class = ""
	if c.task != "graphs" || c.edges != "" {
		return cli.Usage(errors.New("graphs given by -data are explained; sinks.OpenGraph.Explain explains nodes and links"))
	}
	if err := c.needsData(); err != nil {
		return err
	}
	files, err := cli.CreateAll(c.json, html)
	if err != nil {
		return err
	}
	defer files.Cleanup()
	src, err := c.graphs(ctx)
	if err != nil {
		return c.in(err)
	}
	of, err := c.reasons(ctx, src, sinks.ExplainOptions{Class: class})
	if err != nil {
		return err
	}
	e := of.Reasons
	if c.json != "" {
		if err := files.JSON(c.json, e); err != nil {
			return err
		}
	}
	if html != "" {
		if err := files.Finish(html, func() ([]byte, error) {
			var b bytes.Buffer
			err := of.Write(&b)
			return b.Bytes(), err
		}); err != nil {
			return err
		}
	}
	fmt.Printf("%s: class %s, weight %+.4g (bias %+.4g, whole graph %+.4g), %s\n", of.Title, e.Class, e.Sum, e.Bias, e.Graph, e.Method)
	for _, w := range e.Words[:min(10, len(e.Words))] {
		fmt.Printf("%+10.4f  %g × %q\n", w.Weight, w.Occurrences, w.Text)
	}
	return nil
}

// reasons explains the answer for the graph of -graph.
func (c *asking) reasons(ctx context.Context, src flow.Source, o sinks.ExplainOptions) (*page.Explanation, error) {
	number, err := strconv.Atoi("0" + c.Graph)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("-graph is %q, want the number of a graph, from 0", c.Graph))
	}
	at := &nth{left: number}
	if err := flow.From(src).To(at).Run(ctx); err != nil && !errors.Is(err, errFound) {
		return nil, c.in(err)
	}
	if at.graph == nil {
		return nil, fmt.Errorf("%s: there is no graph %d, but %d", c.name(), number, number-at.left)
	}
	p, err := c.p.For(at.layout)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	e, err := p.ExplainAs(ctx, at.graph, o)
	return &page.Explanation{Title: fmt.Sprintf("Graph %d of %s", number, c.name()), Graph: at.graph, Reasons: e, Type: typeOf(at.graph, at.layout)}, err
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

// errFound ends a run.
var errFound = errors.New("found")

// nth keeps a copy of a graph of a stream.
type nth struct {
	left   int
	graph  *graph.Graph
	layout record.Layout
}

func (*nth) Name() string { return "graph" }

func (n *nth) Open(in *arrow.Schema) (w flow.Writer, err error) {
	n.layout, err = record.LayoutOf(in)
	return n, err
}

func (*nth) Close(error) error { return nil }

func (n *nth) Write(_ context.Context, rec arrow.Record) error {
	if n.left >= int(rec.NumRows()) {
		n.left -= int(rec.NumRows())
		return nil
	}
	all, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	var g graph.Graph
	all.At(n.left, &g)
	if n.graph, err = g.Without(nil, nil); err != nil { // a copy
		return err
	}
	return errFound
}
