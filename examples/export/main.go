// Command export writes the receptive fields of a graph, or of a collection of
// graphs, or the graphs themselves, as Parquet or Arrow for other tools.
//
//	go run ./examples/export                     # some fields of a generated graph, to look at
//	go run ./examples/export -graph power.edges.gz -k 10 -out power
//	go run ./examples/export -data MUTAG -k 10 -w 18 -select betweenness -out mutag -as arrow
//	go run ./examples/export -data MUTAG -graphs -out graphs
//
// A large edge list is converted once, and is there at once from then on:
//
//	go run ./examples/export -graph web.edges.gz -graphs -as arrow -out web
//	go run ./examples/export -graph web -k 10 -out fields
//
// If the ids of an edge list have gaps, the file has them, and fields have the ids of
// their roots and members beside the numbers of the nodes.
//
// The directory gets numbered parts and manifest.json, which has the rows, the bytes and the
// SHA-256 of each. It appears when it is complete, and replaces the result of an earlier export
// only then. The manifest alone defines the parts of the directory: the new parts have other
// numbers than those they replace, and where an export is running or was killed, *.parquet may
// match both. The export is complete when the directory has no file .unfinished-*; the next export
// removes the files of a killed one.
//
// A row is one field, that of a root node (-per root), or all w fields of a
// graph (-per graph, the default for -data):
//
//	graph_id  number of the graph
//	pos       its position in the source
//	roots     the root, or the w roots
//	members   the k nodes of a field in rank order, -1 = dummy; by number from 0
//	root_ids, member_ids   their ids, where these are not the numbers; 0 or the empty
//	          string where members has -1
//	nodes_cat, nodes, nodes_sparse   their discrete, continuous and sparse attributes,
//	          if there are
//	edges     k×k, 1 = edge; or edges_cat and edges, the attributes of edges
//	target    class of the graph, or of the root
//
// Lists are row-major; shapes, names of channels and of classes are in the
// metadata of the Arrow schema. -as jsonl writes a line of JSON per field instead,
// to a file, as examples/fields does. DuckDB, Polars and pandas read it like this:
//
//	duckdb -c "SELECT root_ids[1] AS root, member_ids FROM 'power/*.parquet' LIMIT 5"
//	python3 -c "import polars; print(polars.read_parquet('power/*.parquet'))"
//	python3 -c "import json, pandas; print(pandas.concat(pandas.read_parquet('power/' + f['name']) for f in json.load(open('power/manifest.json'))['files']))"
//
// and sanflow like this, after it has compared the files with the manifest:
//
//	flow.From(parquet.Source{Path: "power"})   // sources/parquet, or sources.IPC
//
// A large graph streams in chunks of roots: memory holds the graph and some chunks. The fields
// depend neither on the size of chunks nor on the workers.
package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sources/parquet"
)

func main() { cli.Main("export", run) }

// config is the command line.
type config struct {
	graph           input.Graph
	data            string
	graphs          bool
	roots           input.Select
	k, bound        int
	normBy          string
	scope, per      string
	edges           bool
	chunk, workers  int
	out, as, packed string
	partMB          int
	json            string
	live            *cli.Page

	normal labeling.Labeling
}

const usage = `writes fields, or graphs, as Parquet, Arrow or text.

  export                                      some fields of a generated graph, to look at
  export -graph power.edges.gz -k 10 -out power
  export -data MUTAG -k 10 -w 18 -as arrow -out mutag
  export -graph web.edges.gz -graphs -as arrow -out web   an edge list, to be mapped
  export -graph web -k 10 -out fields                     as here, at once
  export -edges payments.csv -source from -target to -out payments   ids are strings or integers
  export -graph rmat -n 4194304 -graphs -as edges -out rmat.edges

  duckdb -c "SELECT root_ids[1] AS root, member_ids FROM 'power/*.parquet' LIMIT 5"
  python3 -c "import polars; print(polars.read_parquet('power/*.parquet'))"
  python3 -c "import polars; print(polars.read_ipc('mutag/*.arrow'))"

manifest.json alone says which parts belong to -out. While an export replaces another, and
where one was killed, *.parquet may match parts of both: until the directory has no file
.unfinished-*, which the next export to it removes.`

func parse(args []string) (*config, error) {
	c := &config{}
	names := strings.Join(labeling.Names(), ", ")
	f := cli.Flags("export", usage)
	f.StringVar(&c.graph.Path, "graph", "", "file of graphs, - for standard input, an earlier export (.parquet, .arrow or its directory), a table of edges (.parquet with two columns of ids), or a graph to generate: "+strings.Join(input.Families, ", ")+"; default: preferential")
	f.StringVar(&c.data, "data", "", "TU collection: zip, directory, or a name to find or download; or a graph whose nodes have classes, such as Cora.zip")
	f.StringVar(&c.graph.Format, "format", "", "edges, graph6, dot, tu or arrow; default: by the name of the file")
	cli.Nodes(f, &c.graph.N)
	f.Uint64Var(&c.graph.Seed, "seed", 1, "seed of a generated graph")
	f.BoolVar(&c.graph.Directed, "directed", false, "graphs are directed")
	f.BoolVar(&c.graph.Weights, "weights", false, "the third number of a line of an edge list, or the third column of a table of edges, is the weight of the edge, and an attribute of it; default: ignored")
	f.BoolVar(&c.graphs, "graphs", false, "export the graphs themselves")
	c.graph.Tables.Flags(f)
	cli.K(f, &c.k, "")
	cli.Bound(f, &c.bound)
	f.StringVar(&c.roots.By, "select", "all", "all, the nodes in order of their numbers, or the labeling that ranks them: "+names)
	cli.Int(f, &c.roots.W, "w", 0, 0, 1<<20, "receptive fields per graph; 0 = all nodes, or with -per graph as many as graphs have nodes on average")
	cli.Int(f, &c.roots.Stride, "stride", 1, 1, cli.Many, "distance between two roots in that order")
	f.StringVar(&c.normBy, "normalize", "wl", "labeling that orders the nodes of a field, as for -select but not all")
	f.StringVar(&c.scope, "scope", "hood", "scope of -normalize: each neighbourhood (hood), or the whole graph once (global)")
	f.StringVar(&c.per, "per", "", "unit of a row: root or graph; default: graph for -data, else root")
	f.BoolVar(&c.edges, "field-edges", false, "with the k×k edges of each field; -as jsonl always has them")
	cli.Int(f, &c.chunk, "chunk", 256, 1, 1<<20, "roots that are worked on at once; results do not depend on it, memory does where nodes have thousands of neighbours")
	cli.Workers(f, &c.workers)
	f.StringVar(&c.out, "out", "", "directory to write, or file for -as jsonl and edges; an earlier export there is replaced when all is written; without it the fields are only computed")
	f.StringVar(&c.as, "as", "parquet", "parquet, arrow, jsonl: a line of JSON per field, as examples/fields writes, or edges: with -graphs a text file with an edge per line, and, if ids have gaps, a line v v for a node v without edges; for rmat as drawn, with repeats")
	f.StringVar(&c.packed, "compress", "none", "none or zstd; arrow also lz4, parquet also snappy")
	cli.Int(f, &c.partMB, "part", 256, 1, 1<<20, "megabytes from which on a part is complete")
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
	switch {
	case c.graph.Path != "" && c.data != "":
		return errors.New("want either -graph or -data (-h lists the flags)")
	case c.graph.Path == "" && c.data == "" && c.graph.Tables.Edges == "":
		c.graph.Path = "preferential"
	}
	if _, err = c.roots.Operator(); err != nil {
		return err
	}
	if c.normal, err = labeling.Parse(c.normBy); err != nil {
		return fmt.Errorf("-normalize: %w", err)
	}
	if c.per == "" {
		if c.per = "root"; c.data != "" && c.as != "jsonl" && stored(c.data) != "nodes" {
			c.per = "graph"
		}
	}
	switch {
	case c.scope != "hood" && c.scope != "global":
		return fmt.Errorf("-scope is %q, want hood or global", c.scope)
	case c.per != "root" && c.per != "graph":
		return fmt.Errorf("-per is %q, want root or graph", c.per)
	case c.as != "parquet" && c.as != "arrow" && c.as != "jsonl" && c.as != "edges":
		return fmt.Errorf("-as is %q, want parquet, arrow, jsonl or edges", c.as)
	case c.as == "jsonl" && (c.graphs || c.per != "root" || c.out == ""):
		return errors.New("-as jsonl writes a line per field: want -per root, -out FILE, and no -graphs")
	case c.as == "edges" && (!c.graphs || c.out == ""):
		return errors.New("-as edges writes a graph: want -graphs and -out FILE")
	}
	switch {
	case c.graph.Tables.Edges != "" || c.data == "" && stored(c.graph.Path) == "":
		if err := c.graph.Check(); err != nil {
			return err
		}
	case c.graph.Weights && !parquet.IsEdges(c.data+c.graph.Path):
		return fmt.Errorf("-weights needs an edge list or a table of edges, and %s is neither", c.data+c.graph.Path)
	}
	packings := map[string][]string{"parquet": {"none", "zstd", "snappy"}, "arrow": {"none", "zstd", "lz4"}}[c.as]
	if packings == nil {
		packings = []string{"none"}
	}
	if !slices.Contains(packings, c.packed) {
		return fmt.Errorf("-compress is %q, want %s", c.packed, strings.Join(packings, ", "))
	}
	if c.packed == "none" {
		c.packed = ""
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
	// A place that cannot be written to is found before the work, not after it.
	files, err := cli.CreateAll(c.json)
	if err != nil {
		return err
	}
	defer files.Cleanup()
	work := c.work
	switch c.as {
	case "edges":
		work = c.edgeList
	case "jsonl":
		work = c.fieldLines
	}
	report, err := work(ctx)
	if err != nil {
		return err
	}
	if err := files.JSON(c.json, report); err != nil {
		return err
	}
	return report.print()
}
