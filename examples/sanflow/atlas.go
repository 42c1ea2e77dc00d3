package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/page"
)

func atlas(ctx context.Context, args []string) (err error) {
	c, html, o := &asking{}, "", sinks.AtlasOptions{}
	c.explains = true
	f := flags("atlas", "\nIt lists the strongest words of the model, draws subgraphs of the data that have them, and says\nwhat the answers for the data are without them. The graphs are read four times. -graph, the number\nof a graph of -data, adds the reasons for its answer to the page; -class is the class explained.")
	c.flags(f)
	cli.Int(f, &o.Motifs, "motifs", 24, 1, 100, "motifs to list, at most")
	cli.Int(f, &o.Examples, "examples", 4, 1, 12, "graphs to show of each motif, at most")
	f.StringVar(&c.json, "json", "", "file for the atlas as JSON")
	f.StringVar(&html, "html", "", "file for the atlas as a page of HTML")
	live := cli.Live(f)
	if err := c.load(f, args); err != nil {
		return err
	}
	defer c.p.Close()
	defer c.refused.Total()
	if c.task != "graphs" {
		return cli.Usage(errors.New("the model is for " + c.task + ": an atlas is of a model for graphs"))
	}
	if err := c.needsData(); err != nil {
		return err
	}
	files, err := cli.CreateAll(c.json, html)
	if err != nil {
		return err
	}
	defer files.Cleanup()
	ctx, end, err := live.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { end(err) }()
	class := c.explained(f)
	src, err := c.graphs(ctx)
	if err != nil {
		return c.in(err)
	}
	all := page.Atlas{Title: fmt.Sprintf("Atlas of %s on %s", cli.DataName(c.model), c.name())}
	if c.edges == "" && c.Graph != "" {
		if all.Of, err = c.reasons(ctx, src, class); err != nil {
			return err
		}
	}
	if all.Atlas, err = c.p.Atlas(ctx, flow.From(src).With(flow.Options{Workers: c.workers}), o); err != nil {
		return c.in(err)
	}
	if err := files.JSON(c.json, all.Atlas); err != nil {
		return err
	}
	if err := files.Page(html, all.Write); err != nil {
		return err
	}
	fmt.Printf("%d graphs, %d words\n", all.Atlas.Graphs, all.Atlas.All)
	for _, m := range all.Atlas.Motifs[:min(10, len(all.Atlas.Motifs))] {
		fmt.Printf("%.4f  %-12s %4d graphs, %2d alike  %q\n", m.Strength, cli.Printable(m.Class), m.Graphs, m.Alike, m.Text)
	}
	return nil
}
