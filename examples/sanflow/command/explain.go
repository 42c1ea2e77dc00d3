package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/page"
)

// explaining is the flags of explain.
type explaining struct {
	*asking
	of    cli.List
	class string
}

func explain(ctx context.Context, args []string) error {
	c := &explaining{asking: newAsking(cli.NewCommand("sanflow explain", about("explain")+`

What is explained is a graph by -of, its id, or of -data by -graph, its number from 0, a node by -of,
its id, or a link by the ids of its ends, with a second -of. Ids of graphs are those that predict writes. A pair is explained without the edge
that joins it. -class is the class to explain, by default the predicted one. Weights are in nats,
those of the logit of the class minus the mean over all classes, or in the unit of the number that
was learned. The method is exact for the systems linear, neighbours, words, trees, forest and their means; occlusion for cnn
and cnn-edges: what the answer is without a node or an edge; and votes where ensemble smooths:
what the answer is without that for another node.`))}
	f := c.FlagSet
	c.targetFlag()
	f.Var(&c.of, "of", "what is explained: the id of a graph or a node, or, given twice, the ids of both ends of a link")
	c.Output("html", "file for the explanation as a page of HTML")
	if err := c.load(args); err != nil {
		return err
	}
	defer func() { c.p.Close() }()
	defer c.refused.Total()
	if err := c.takeTarget(); err != nil {
		return err
	}
	c.class = c.explained()
	if err := errors.Join(c.needsData(), c.reread("explain")); err != nil {
		return err
	}
	return c.Run(ctx, func(ctx context.Context) (cli.Result, error) {
		if c.task == "rows" {
			return c.explainedRow(ctx)
		}
		s, err := c.subject(ctx)
		if err != nil {
			return nil, err
		}
		defer s.p.Close()
		out := &explanation{Of: s.of, of: s}
		out.Explanation, err = s.explain(ctx, c.class)
		return out, err
	})
}

// explanation is what explain writes as JSON.
type explanation struct {
	Of string `json:"of,omitempty"` // the id of the graph, or its number, if a graph is explained
	*sinks.Explanation
	// Earlier are the latest rows before a row, by key.
	Earlier []choose.EarlierRows `json:"earlier,omitempty"`
	of      *subject
}

// File is the page of -html.
func (e *explanation) File(_, _ string) ([]byte, error) {
	p := e.of.page(e.Explanation)
	p.Tables = e.tables()
	var b bytes.Buffer
	err := p.Write(&b)
	return b.Bytes(), err
}

// tables are those of the page.
func (e *explanation) tables() (all []page.Table) {
	if columns := e.columns(); len(columns) > 0 {
		t := page.Table{Title: "Numbers of the row", Head: []string{"number", "value", "weight"}}
		for _, c := range columns {
			t.Rows = append(t.Rows, []string{c.Name, valueOf(c), fmt.Sprintf("%+.4f", c.Weight)})
		}
		all = append(all, t)
	}
	for _, k := range e.Earlier {
		t := page.Table{Title: fmt.Sprintf("Earlier rows with %s: %d", keyOf(k), k.Count), Head: []string{"row", "time", "class"}}
		for _, r := range k.Rows {
			t.Rows = append(t.Rows, []string{r.ID, fmt.Sprint(r.Time), r.Class})
		}
		all = append(all, t)
	}
	return all
}

// columns are the numbers with a weight, the largest without sign first.
func (e *explanation) columns() []sinks.ColumnWeight {
	some := slices.DeleteFunc(slices.Clone(e.Columns), func(c sinks.ColumnWeight) bool { return c.Weight == 0 })
	return largest(some, func(c sinks.ColumnWeight) float64 { return c.Weight })
}

// keyOf names the key of some earlier rows by its space, in any column of which they have it, and by the column of the row.
func keyOf(k choose.EarlierRows) string {
	if k.Space == k.Key {
		return fmt.Sprintf("the %s %s", k.Key, k.Value)
	}
	return fmt.Sprintf("the %s %s (%s of the row)", k.Space, k.Value, k.Key)
}

// valueOf is the text of a number.
func valueOf(c sinks.ColumnWeight) string {
	if c.Value == nil {
		return "none"
	}
	return fmt.Sprintf("%.6g", *c.Value)
}

// Print writes the largest parts of the explanation.
func (e *explanation) Print(out io.Writer) error {
	s := e.of
	const most = 10 // of a list
	what := "class " + cli.Printable(e.Class)
	if e.Class == "" {
		what = fmt.Sprintf("value %.6g", e.Value)
	}
	fmt.Fprintf(out, "%s: %s, weight %+.4g (bias %+.4g, whole graph %+.4g), %s\n", s.name, what, e.Sum, e.Bias, e.Graph, e.Method)
	for _, w := range e.Words[:min(most, len(e.Words))] {
		fmt.Fprintf(out, "%+10.4f  %g × %q\n", w.Weight, w.Occurrences, w.Text)
	}
	columns := e.columns()
	for _, c := range columns[:min(most, len(columns))] {
		fmt.Fprintf(out, "%+10.4f  %s = %s\n", c.Weight, cli.Printable(c.Name), valueOf(c))
	}
	for _, k := range e.Earlier {
		fmt.Fprintf(out, "%d earlier rows with %s", k.Count, cli.Printable(keyOf(k)))
		for i, r := range k.Rows[:min(5, len(k.Rows))] {
			fmt.Fprintf(out, "%s %s %s", map[bool]string{true: ", the latest", false: ","}[i == 0], cli.Printable(r.ID), cli.Printable(r.Class))
		}
		fmt.Fprintln(out)
	}
	if len(e.Words)+len(columns) == 0 {
		nodes := largest(e.Nodes, func(v sinks.NodeWeight) float64 { return v.Weight })
		for _, v := range nodes[:min(most, len(nodes))] {
			fmt.Fprintf(out, "%+10.4f  node %s\n", v.Weight, s.ids.Quoted(v.ID))
		}
	}
	return nil
}
