package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/page"
)

func atlas(ctx context.Context, args []string) error {
	c, o := newAsking(cli.NewCommand("sanflow atlas", about("atlas")+"\nIt lists the strongest words of the model, and draws subgraphs of\nthe data that have them. The graphs are read four times. explain has the reasons for an answer.")), sinks.AtlasOptions{}
	c.targetFlag()
	cli.Int(c.FlagSet, &o.Motifs, "motifs", 24, 1, 100, "motifs to list, at most")
	cli.Int(c.FlagSet, &o.Examples, "examples", 4, 1, 12, "graphs to show of each motif, at most")
	c.Output("html", "file for the atlas as a page of HTML")
	check := func() error {
		if c.task != "graphs" {
			return cli.Usage(errors.New("the model is for " + c.task + ": an atlas is of a model for graphs"))
		}
		if c.edges == "" && c.Graph != "" || slices.Contains(cli.Given(c.FlagSet), "class") {
			return cli.Usage(errors.New("-graph and -class are of explain, which has the reasons for the answer about a graph"))
		}
		return c.reread("atlas")
	}
	return c.ask(ctx, args, check, func(ctx context.Context) (cli.Result, error) {
		src, names, err := c.namedGraphs(ctx)
		if err != nil {
			return nil, c.in(err)
		}
		all := &motifs{page: page.Atlas{Title: fmt.Sprintf("Atlas of %s on %s", cli.DataName(c.model), c.name())}}
		if c.ofTarget != "" {
			all.page.Title += ", " + c.ofTarget
		}
		bar := cli.NewProgress("graphs, read four times", cmp.Or(4*int64(names.Len()), -1))
		defer bar.Done()
		o.Read = func() { bar.Add(1) }
		if all.Atlas, err = c.p.Atlas(ctx, flow.From(src).With(flow.Options{Workers: c.workers}), o); err != nil {
			return nil, c.in(err)
		}
		all.page.Atlas = all.Atlas
		if names.Len() > 0 {
			all.page.GraphName = func(at int64) string { return names.Name(int32(at)) }
		}
		all.page.Layout = c.p.Layout()
		return all, nil
	})
}

// motifs is an atlas, and its page.
type motifs struct {
	*sinks.Atlas
	page page.Atlas
}

// File is the page of -html.
func (m *motifs) File(_, _ string) ([]byte, error) {
	var b bytes.Buffer
	err := m.page.Write(&b)
	return b.Bytes(), err
}

// Print writes the strongest motifs.
func (m *motifs) Print(out io.Writer) error {
	fmt.Fprintf(out, "%d graphs, %d words\n", m.Graphs, m.All)
	for _, one := range m.Motifs[:min(10, len(m.Motifs))] {
		head := m.page.Head(one)
		fmt.Fprintf(out, "%.4f  %-12s %4d graphs, %2d alike  %s\n", one.Strength, cli.Printable(one.Class), one.Graphs, one.Alike, cli.Printable(head))
	}
	return nil
}
