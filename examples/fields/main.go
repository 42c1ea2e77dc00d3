// Command fields writes the receptive fields of the nodes of a graph, or of
// many graphs, in normal order: as JSON lines for a look, as an Arrow file for
// DuckDB, Polars, pandas or PyTorch.
//
//	go run ./examples/fields -graph torus                                # how fast
//	go run ./examples/fields -graph power.edges.gz -k 5 -out power.jsonl
//	go run ./examples/fields -graph MUTAG.zip -select betweenness -w 18 -out mutag.arrow
//	geng 7 -c | go run ./examples/fields -graph - -k 7 -out seven.jsonl
//
// A line of JSON is one field:
//
//	{"graph":0,"root":5,"members":[5,7,-1],"dist":[0,1,-1],"edges":[[0,1,0],[1,0,0],[0,0,0]],"nodes":[[2],[0],[-1]]}
//
// members are the nodes in rank order, by the ids of an edge list, otherwise by number from 0 (DOT:
// in the order of their first mention). dist is the hop distance to the root. A dummy is -1 in
// both. edges[i][j] is 0 if no edge leads from member i to member j, otherwise 1, or 1 plus the
// index of its type if edges have types (the first, if there are several). nodes has one row per
// member: the indices of its discrete attributes, -1 for a dummy, then its continuous ones, 0 for a
// dummy; rows are empty if nodes have no attributes. If edges have continuous attributes, such
// as the weights of -weights, edge_attr[i][j] is their list; zeros mean no edge.
//
// An Arrow file has the same as columns graph, root, members, dist, edges, and
// nodes_cat, nodes and edge_attr, fixed-size lists whose shapes are in the metadata.
//
// Fields come in the order of graphs, and within a graph in that of -select: by
// node number, or by rank. They do not depend on the number of workers.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
)

func main() { cli.Main("fields", run) }

// config is the command line.
type config struct {
	graph     input.Graph
	roots     input.Select
	k, bound  int
	normBy    string
	scope     string
	workers   int
	out, json string
	live      *cli.Page

	selecting operators.Select
	normal    labeling.Labeling
}

func parse(args []string) (*config, error) {
	c := &config{}
	names := strings.Join(labeling.Names(), ", ")
	f := cli.Flags("fields", `makes the receptive fields of the nodes of a graph, or of many graphs.

  fields                                      the fields of a torus, for their speed
  fields -graph power.edges.gz -k 5 -out power.jsonl
  fields -graph MUTAG.zip -select betweenness -w 18 -out mutag.arrow
  fields -edges payments.csv -source from -target to -out payments.jsonl   ids are strings or integers
  geng 7 -c | fields -graph - -k 7 -out seven.jsonl`)
	f.StringVar(&c.graph.Path, "graph", "torus", "file, - for standard input, or a graph to generate: "+strings.Join(input.Families, ", "))
	cli.Nodes(f, &c.graph.N)
	f.Uint64Var(&c.graph.Seed, "seed", 1, "seed of a generated graph")
	f.StringVar(&c.graph.Format, "format", "", "edges, graph6 (a graph a line; digraph6 too), dot, tu or arrow (an export of graphs); default: by the name of the file, graph6 for -")
	f.BoolVar(&c.graph.Directed, "directed", false, "graphs are directed: lines of an edge list or TU collection are arcs; DOT files define it themselves")
	f.BoolVar(&c.graph.Weights, "weights", false, "the third number of a line of an edge list is the weight of the edge, and an attribute of it; default: ignored")
	c.graph.Tables.Flags(f)
	cli.K(f, &c.k, "")
	cli.Bound(f, &c.bound)
	f.StringVar(&c.roots.By, "select", "all", "all, the nodes in order of their ids, or the labeling that ranks them: "+names)
	cli.Int(f, &c.roots.W, "w", 0, 0, 1<<20, "receptive fields per graph, at most; 0 = all nodes")
	cli.Int(f, &c.roots.Stride, "stride", 1, 1, cli.Many, "distance between two roots in that order")
	f.StringVar(&c.normBy, "normalize", "wl", "labeling that orders the nodes of a field, as for -select but not all")
	f.StringVar(&c.scope, "scope", "hood", "scope of -normalize: each neighbourhood (hood), or the whole graph once (global)")
	cli.Workers(f, &c.workers)
	f.StringVar(&c.out, "out", "", "file for the fields, .jsonl or .arrow; without it they are only computed")
	c.live = cli.Live(f)
	f.StringVar(&c.json, "json", "", "file for the figures")
	if err := cli.Parse(f, args); err != nil {
		return nil, err
	}
	if err := c.graph.Tables.Check(cli.Given(f)); err != nil {
		return nil, err
	}
	return c, c.check()
}

func (c *config) check() (err error) {
	if c.selecting, err = c.roots.Operator(); err != nil {
		return err
	}
	if c.normal, err = labeling.Parse(c.normBy); err != nil {
		return fmt.Errorf("-normalize: %w", err)
	}
	switch {
	case c.scope != "hood" && c.scope != "global":
		return fmt.Errorf("-scope is %q, want hood or global", c.scope)
	case c.out != "" && !strings.HasSuffix(c.out, ".jsonl") && !strings.HasSuffix(c.out, ".arrow") && !strings.HasPrefix(c.out, "/dev/"):
		return fmt.Errorf("-out is %q, want a name that ends in .jsonl or .arrow", c.out)
	}
	if err := c.graph.Check(); err != nil {
		return err
	}
	if c.workers == 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	return cli.CheckBound(c.bound, c.k)
}

func run(ctx context.Context, args []string) (err error) {
	c, err := parse(args)
	if err != nil {
		return err
	}
	ctx, end, err := c.live.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { end(err) }()
	// Places that cannot be written to are found before the work, not after it.
	files, err := cli.CreateAll(c.json)
	if err != nil {
		return err
	}
	defer files.Cleanup()
	var text *cli.Stream
	if c.out != "" && !strings.HasSuffix(c.out, ".arrow") {
		if text, err = cli.CreateStream(c.out); err != nil {
			return err
		}
		defer text.Cleanup()
	}
	report, err := c.work(ctx, text)
	if err != nil {
		return err
	}
	if err := files.JSON(c.json, report); err != nil {
		return err
	}
	if c.out == "/dev/stdout" {
		return report.print(os.Stderr)
	}
	return report.print(os.Stdout)
}
