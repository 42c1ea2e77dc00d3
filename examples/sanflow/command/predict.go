package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sinks/scores"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/links"
)

// namedGraphs returns the source of graphs without targets, and their ids. Integer ids of tables are in
// the records instead.
func (c *asking) namedGraphs(ctx context.Context) (src flow.Source, names graph.IDs, err error) {
	if src, err = c.graphs(ctx); err != nil {
		return nil, names, err
	}
	if len(c.names) > 0 {
		names, err = graph.IDsOfStrings(c.names)
	} else if named, ok := src.(sources.Named); ok && !(c.HasID && c.ID == "" && c.molecules()) {
		names, err = named.Names(ctx)
	}
	return src, names, cli.Cause(ctx, err)
}

// rows returns all rows, the name of a row, and the type of names.
func (c *asking) rows(ctx context.Context) (choose.Rows, func(sinks.Prediction) []string, graph.IDKind, error) {
	if c.task == "rows" {
		h, err := c.rowsToAsk(ctx)
		if err != nil {
			return nil, nil, "", err
		}
		c.past, c.tests = h, c.fresh(&h.Set.NodeSet, fileOrder(h.Set))
		return h.Rows(c.tests), scores.RootID, h.Set.IDs.Kind(), nil
	}
	if c.task == "graphs" {
		if c.targets {
			src, err := c.graphs(ctx)
			return choose.GraphRows(src), nil, graph.Int64IDs, err
		}
		src, names, err := c.namedGraphs(ctx)
		if err != nil || names.Len() == 0 {
			return choose.GraphRows(src), nil, graph.Int64IDs, err
		}
		return choose.GraphRows(src), func(p sinks.Prediction) []string { return []string{names.Name(int32(p.Graph))} }, names.Kind(), nil
	}
	set, err := c.adapted(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	if c.task == "nodes" {
		c.graph, c.ids = set.Graph, set.IDs
		return choose.NodeRows(set, c.fresh(set, set.All())), func(p sinks.Prediction) []string { return []string{set.IDs.Name(p.Root)} }, set.IDs.Kind(), nil
	}
	pairs, err := c.candidatePairs(ctx, set.Graph)
	if err != nil {
		return nil, nil, "", err
	}
	fold := links.Fold{Graph: set.Graph, Pairs: pairs, Link: make([]bool, len(pairs))}
	row := 0
	return choose.LinkRows(fold), func(sinks.Prediction) []string {
		row++
		return []string{set.IDs.Name(pairs[row-1][0]), set.IDs.Name(pairs[row-1][1])}
	}, set.IDs.Kind(), nil
}

// The defaults of -hub and -pairs.
const (
	hubEdges  = 256
	mostPairs = 1 << 20
)

// candidatePairs returns the pairs of nodes without an edge and with a common neighbour of at most -hub
// edges, the lower node first, ascending. It reports what it leaves out. O(Σ degree · hub).
func (c *asking) candidatePairs(ctx context.Context, g *graph.Graph) (pairs []links.Pair, err error) {
	hub, most := cmp.Or(c.hub, hubEdges), cmp.Or(c.most, mostPairs)
	hubs, ofHubs, left := 0, 0, 0 // ofHubs: pairs of neighbours of hubs, counted for each hub
	var near []int32
	for u := range int32(g.N()) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if n := g.Degree(u); n > hub {
			hubs, ofHubs = hubs+1, ofHubs+n*(n-1)/2
		}
		near = near[:0]
		for _, v := range g.Adj(u) {
			if g.Degree(v) <= hub {
				near = append(near, g.Adj(v)...)
			}
		}
		slices.Sort(near)
		for _, w := range slices.Compact(near) {
			switch {
			case w <= u || g.Entry(u, w) >= 0:
			case len(pairs) < most:
				pairs = append(pairs, links.Pair{u, w})
			default:
				left++
			}
		}
	}
	if hubs > 0 {
		fmt.Fprintf(os.Stderr, "left out: at most %d pairs whose common neighbours all have more than -hub %d edges, as %d nodes have\n", ofHubs, hub, hubs)
	}
	if left > 0 {
		fmt.Fprintf(os.Stderr, "left out: %d of %d pairs, those beyond -pairs %d\n", left, left+len(pairs), most)
	}
	return pairs, nil
}

func predict(ctx context.Context, args []string) error {
	c := newAsking(cli.NewService("sanflow predict", about("predict")+"\nColumns are id, class and p_CLASS for each class, or id and value, or of each of several targets\nclass_TARGET and p_TARGET_CLASS, or value_TARGET, or for links source, target\nand p, of pairs that have a common neighbour and no edge. In a bipartite graph both nodes of such a\npair are on one side; serve and explain answer about any pair. The id of a graph of\nnode-link JSON is its key id or name, or the key name of its object graph, or its number where\nsome graph has no name; of molecules see -id. Answers are written as they come. The graphs of -data are a stream, which\nmay be larger than memory. In memory are the names of graphs, the tables of -edges and -nodes,\nalso with -graph, and the graph of nodes or links."))
	f := c.FlagSet
	cli.Int(f, &c.hub, "hub", hubEdges, 1, cli.Many, "of links, the most edges of a common neighbour: pairs that have only others are left out")
	cli.Int(f, &c.most, "pairs", mostPairs, 1, cli.Many, "of links, the most pairs to predict, the first by the order of the nodes")
	f.StringVar(&c.out, "out", "", "file for the answers, .csv, .jsonl or .parquet; CSV on standard output where it is not set")
	check := func() error {
		return cli.Distinct(f, []string{"out"}, []string{"model", "data", "edges", "nodes", "graphs"})
	}
	return c.ask(ctx, args, check, func(ctx context.Context) (cli.Result, error) { return nil, nothingNew(c.data.data, c.predicted(ctx)) })
}

// predicted writes the answers to -out.
func (c *asking) predicted(ctx context.Context) error {
	to, ok, err := sources.OpenSink(ctx, c.out)
	if !ok && strings.Contains(c.out, "://") {
		return c.upload(ctx)
	}
	if !ok {
		to, err = scoresTo(c.out, c.out, nil)
	}
	if err != nil {
		return err
	}
	return c.predictTo(ctx, to)
}

// upload writes the answers to a file in a bucket. The file is published when all are written.
func (c *asking) upload(ctx context.Context) error {
	b, name, err := sources.BucketOf(ctx, c.out)
	if err != nil {
		return err
	}
	if _, err := scoresTo(name, "", io.Discard); err != nil {
		return err
	}
	u, err := b.Create(ctx, name)
	if err != nil {
		return err
	}
	to, err := scoresTo(name, "", u)
	if err == nil {
		err = c.predictTo(ctx, published{to, u.Publish})
	}
	return errors.Join(err, u.Discard())
}

// published is a sink that calls publish at the end. Its rows are durable after that.
type published struct {
	flow.Sink
	publish func() error
}

// Open implements flow.Sink.
func (p published) Open(in *arrow.Schema) (flow.Writer, error) {
	w, err := p.Sink.Open(in)
	return &publisher{Writer: w, publish: p.publish}, err
}

type publisher struct {
	flow.Writer
	publish       func() error
	rows, durable int64 // records
}

// Write implements flow.Writer.
func (p *publisher) Write(ctx context.Context, rec arrow.Record) error {
	p.rows++
	return p.Writer.Write(ctx, rec)
}

// Durable implements flow.DurableWriter.
func (p *publisher) Durable() int64 { return p.durable }

// Close implements flow.Writer.
func (p *publisher) Close(failed error) error {
	err := p.Writer.Close(failed)
	if failed == nil && err == nil {
		if err = p.publish(); err == nil {
			p.durable = p.rows
		}
	}
	return err
}

// predictTo predicts all rows and writes the answers to a sink.
func (c *asking) predictTo(ctx context.Context, to flow.Sink) error {
	rows, name, ids, err := c.rows(ctx)
	if err != nil {
		return c.in(err)
	}
	if c.unseen > 0 {
		fmt.Fprintln(os.Stderr, c.unseenText())
	}
	asked, open, err := choose.Asked(ctx, c.p, c.graph, c.ids, rows)
	if err != nil {
		return c.in(err)
	}
	out := scores.Rows{Net: c.p.Net(), Columns: scores.Columns{IDs: ids, Classes: c.p.Classes(), Targets: c.p.Targets(), Links: c.task == "links", Offset: c.Offset}, ID: name, Bare: true}
	if open != nil {
		defer open.Close()
		out.Net, out.Graph = nil, open
	}
	batch := operators.Batch{Size: 64}
	if streamed(c.data.data) {
		batch.MaxWait = maxWait
	}
	return asked.Via(batch).Via(out).With(flow.Options{Workers: c.workers}).To(to).Run(ctx)
}

// maxWait is the longest time that a row of a stream waits for a batch.
const maxWait = 100 * time.Millisecond

// scoresTo is the sink in the format of a name, for the file of a path or for w. Without a name it is CSV
// on standard output.
func scoresTo(name, path string, w io.Writer) (flow.Sink, error) {
	switch filepath.Ext(name) {
	case ".csv":
		return scores.Text{Path: path, W: w}, nil
	case ".jsonl":
		return scores.Text{JSON: true, Path: path, W: w}, nil
	case ".parquet":
		return parquet.Sink{Path: path, W: w}, nil
	}
	if name == "" && w == nil {
		return scores.Text{W: cli.Terminal(os.Stdout)}, nil
	}
	return nil, cli.Usage(fmt.Errorf("-out is %q, want a name that ends in .csv, .jsonl or .parquet", name))
}
