package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/part"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
)

// exporting is the flags of export. -graph, -graphs, -part and -data differ from those of train.
type exporting struct {
	*cli.Command
	exportInput
	graphs          bool
	roots           selection
	k, bound        int
	normBy          string
	scope, per      string
	edges           bool
	chunk           int
	out, as, packed string
	partMB          int
	dividing
	mapped  string            // the file of graphs for the parts, or ""
	written flow.Source       // the graphs in mapped
	indexed *operators.Graphs // the index of a single graph for all parts, or nil
	release func()            // releases what the parts share

	selecting operators.Select
	normal    labeling.Labeling
}

const exportUsage = `

  duckdb -c "SELECT roots[1] AS root, members FROM 'power/*.parquet' LIMIT 5"
  python3 -c "import polars; print(polars.read_parquet('power/*.parquet'))"
  python3 -c "import polars; print(polars.read_ipc('mutag/*.arrow'))"

A row is a field (-per root), or all w fields of a graph (-per graph). Package flow/record lists the
columns; root_ids and member_ids are there where nodes have ids. manifest.json has the shapes, the channels with their words, and the parts; it alone says
which parts belong to -out. While an export writes, and where one was killed, *.parquet may match
other parts too: until the directory has no file _unfinished.json, which the next export to it
removes. sanflow reads a directory by sources/parquet.Source or sources.IPC.

A line of JSON is one field:

  {"graph":0,"root":5,"members":[5,7,-1],"dist":[0,1,-1],"edges":[[0,1,0],[1,0,0],[0,0,0]],"nodes":[[2],[0],[-1]]}

members are nodes in rank order, by their ids where they have some, else, as those of DOT, by number from 0; dist is
the hop distance to the root; -1 is a dummy in both. edges[i][j] is 0 without an edge from member i
to member j, else 1, or 1 plus the index of its type. nodes has the indices of discrete attributes,
-1 for a dummy, then the continuous ones. edge_attr[i][j] lists the continuous attributes of edges.

Fields depend neither on the size of chunks nor on the workers. A graph that has changed is exported as a whole, to another -out: -parts refuses
the plan of another input, and without -parts the earlier export is replaced.`

func parseExport(args []string) (*exporting, error) {
	c := &exporting{Command: cli.NewCommand("sanflow export", about("export")+exportUsage)}
	f := c.FlagSet
	c.Inputs("edges", "nodes")
	names := strings.Join(labeling.Names(), ", ")
	f.StringVar(&c.graph, "graph", "", "file of graphs, - for standard input, an earlier export (.parquet, .arrow or its directory), a table of edges (.parquet with two columns of ids), or a graph to generate: "+strings.Join(input.Families, ", ")+"; default: preferential; with -edges the column of the graph, in all tables, where there are many")
	f.StringVar(&c.data, "data", "", "TU collection: zip, directory, or a name to find or download; molecules, .sdf or .smi; node-link JSON; or a graph whose nodes have classes, such as Cora.zip")
	f.StringVar(&c.format, "format", "", "edges, graph6 (a graph a line; digraph6 too), dot, tu or arrow; default: by the name of the file, graph6 for -")
	cli.Nodes(f, &c.n)
	f.Uint64Var(&c.seed, "seed", 1, "seed of a generated graph")
	f.BoolVar(&c.directed, "directed", false, "graphs are directed: lines of an edge list or TU collection are arcs; DOT files define it themselves")
	f.BoolVar(&c.weights, "weights", false, "the third number of a line of an edge list, or the third column of a table of edges, is the weight of the edge, and an attribute of it; default: ignored")
	f.BoolVar(&c.graphs, "graphs", false, "export the graphs themselves")
	c.tables.flags(f)
	cli.K(f, &c.k, "")
	cli.Bound(f, &c.bound)
	f.StringVar(&c.roots.By, "select", "all", "all, the nodes in order of their numbers, or the labeling that ranks them: "+names)
	cli.Int(f, &c.roots.W, "w", 0, 0, 1<<20, "receptive fields per graph; 0 = all nodes, or with -per graph as many as graphs have nodes on average")
	cli.Int(f, &c.roots.Stride, "stride", 1, 1, cli.Many, "distance between two roots in that order")
	f.StringVar(&c.normBy, "normalize", "wl", "labeling that orders the nodes of a field, as for -select but not all")
	f.StringVar(&c.scope, "scope", "hood", "scope of -normalize: each neighbourhood (hood), or the whole graph once (global)")
	f.StringVar(&c.per, "per", "", "unit of a row: root or graph; default: graph for -data, else root")
	f.BoolVar(&c.edges, "field-edges", false, "with the k×k edges of each field; -as jsonl always has them")
	cli.Int(f, &c.chunk, "chunk", 0, 0, 1<<20, "roots of a chunk; results do not depend on it, memory does if nodes have thousands of neighbours; 0 = 256, or for -as jsonl up to 1024, by k")
	cli.Workers(f, &c.workers)
	f.StringVar(&c.out, "out", "", "directory to write, or file for -as jsonl and edges; an earlier export there is replaced when the new one is complete; without it the fields are computed and not written")
	f.StringVar(&c.as, "as", "", "parquet, arrow, jsonl: a line of JSON per field, or with -out FILE.arrow the same columns as one Arrow file; or edges: with -graphs a text file with an edge per line, and, if ids have gaps, a line v v for a node v without edges; for rmat as drawn, with repeats; default: jsonl where -out ends in .jsonl, else parquet")
	f.StringVar(&c.packed, "compress", "none", "none or zstd; arrow also lz4, parquet also snappy")
	cli.Int(f, &c.partMB, "part", 256, 1, 1<<20, "size in megabytes at which a part is complete")
	cli.Int(f, &c.parts, "parts", 0, 0, part.MaxParts, "number of files that the fields are divided into, each made on its own: a killed run resumes, and several runs share the work; 0 = one run makes all")
	f.Func("shard", "with -parts, make the parts whose number divided by n has the remainder i, from 0, as `i/n`", c.setShard)
	f.BoolVar(&c.verify, "verify", false, "compare the parts of -out with their digests, and name missing and damaged parts; the next run with -parts makes them")
	if err := c.Read(args); err != nil {
		return nil, err
	}
	if err := cli.Distinct(f, []string{"out", "json"}, []string{"edges", "nodes"}); err != nil {
		return nil, err
	}
	if err := c.exportInput.check(cli.Given(f)); err != nil {
		return nil, err
	}
	return c, c.check()
}

// lines reports whether the output is a line per field.
func (c *exporting) lines() bool { return c.as == "jsonl" }

// text is the file of -as jsonl and edges, "" without one.
func (c *exporting) text() string {
	if c.as == "edges" || c.lines() && !strings.HasSuffix(c.out, ".arrow") {
		return c.out
	}
	return ""
}

func (c *exporting) check() (err error) {
	switch {
	case c.graph != "" && c.data != "":
		return errors.New("want either -graph or -data (-h lists the flags)")
	case c.graph == "" && c.data == "" && c.tables.Edges == "":
		c.graph = "preferential"
	}
	if err := c.find(); err != nil {
		return err
	}
	if c.selecting, err = c.roots.operator(); err != nil {
		return err
	}
	if c.normal, err = labeling.Parse(c.normBy); err != nil {
		return fmt.Errorf("-normalize: %w", err)
	}
	if c.as == "" {
		if c.as = "parquet"; strings.HasSuffix(c.out, ".jsonl") || c.out == "/dev/stdout" {
			c.as = "jsonl"
		}
	}
	if c.per == "" {
		if c.per = "root"; c.data != "" && !c.lines() && c.format != "nodes" {
			c.per = "graph"
		}
	}
	switch {
	case c.scope != "hood" && c.scope != "global":
		return fmt.Errorf("-scope is %q, want hood or global", c.scope)
	case c.per != "root" && c.per != "graph":
		return fmt.Errorf("-per is %q, want root or graph", c.per)
	case !slices.Contains([]string{"parquet", "arrow", "jsonl", "edges"}, c.as):
		return fmt.Errorf("-as is %q, want parquet, arrow, jsonl or edges", c.as)
	case c.lines() && (c.graphs || c.per != "root"):
		return errors.New("-as jsonl writes a line per field: want -per root, and no -graphs")
	case strings.Contains(c.out, "://") && (c.lines() || c.as == "edges"):
		return fmt.Errorf("-as %s writes a file on this machine: to a URL want -as parquet or arrow", c.as)
	case streamed(c.data) && c.per == "graph" && c.roots.W == 0 && !c.graphs:
		return errors.New("-data is a stream, whose messages are read once, and the average number of nodes would be read first: set -w, the fields of a graph, or -per root")
	case streamed(c.data) && c.parts > 0:
		return errors.New("-data is a stream, whose messages are read once, and each of -parts reads the graphs again: leave out -parts")
	case c.as == "edges" && (!c.graphs || c.out == ""):
		return errors.New("-as edges writes a graph: want -graphs and -out FILE")
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
	if c.chunk == 0 {
		if c.chunk = 256; c.lines() {
			c.chunk = c.chunkOf(c.k)
		}
	}
	if err := c.checkParts(); err != nil {
		return err
	}
	if c.workers == 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	return cli.CheckBound(c.bound, c.k)
}

func export(ctx context.Context, args []string) error {
	if wantsFeatures(args) {
		return exportFeatures(ctx, args)
	}
	c, err := parseExport(args)
	if err != nil {
		return err
	}
	if c.verify {
		return cli.Cause(ctx, verifyParts(ctx, os.Stdout, c.out))
	}
	c.Also(c.text())
	return c.Run(ctx, c.work)
}

// work writes the export and measures it.
func (c *exporting) work(ctx context.Context) (cli.Result, error) {
	if c.tables.Type+c.tables.Weight != "" && !c.edges && !c.graphs && !c.lines() {
		fmt.Fprintln(os.Stderr, "left out: -type and -weight are no columns of rows without -field-edges; types of edges order the nodes of a field all the same, and decide which of equal distance it has, which takes longer: leave out -type for fields of the bare graph")
	}
	text, r := c.Files[c.text()], &exported{K: c.k, As: c.as, Out: c.out, Workers: c.workers, Select: c.roots.By, Normalize: c.normal.String(), Scope: c.scope}
	var err error
	switch {
	case c.parts > 0:
		err = c.writeParts(ctx, r)
	case c.as == "edges":
		r.K = 0
		err = c.writeEdges(ctx, text, r)
	default:
		err = c.writeRows(ctx, text, r)
	}
	if err == nil && text != nil {
		r.Bytes, err = text.Seek(0, io.SeekCurrent)
	}
	r.measure()
	return r, cli.Cause(ctx, nothingNew(c.data, err))
}
