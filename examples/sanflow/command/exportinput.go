package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sources"
)

// exportInput is the flags of export that name graphs.
type exportInput struct {
	graph             string // a path, - or one of input.Families
	data              string
	format            string // of sources.FormatOf, or "generated" or "tables"
	n                 int
	seed              uint64
	directed, weights bool
	workers           int
	tables            exportTables
}

// exportTables is the flags of a graph in tables, as in train.
type exportTables struct {
	Edges, Nodes                string
	First, Second, Type, Weight string // columns of Edges
	ID, Class, Ignore           string // columns of Nodes
	Missing                     string // texts that stand for no value
}

// flags adds the flags to f.
func (t *exportTables) flags(f *flag.FlagSet) {
	f.StringVar(&t.Edges, "edges", "", "in place of -graph, a table of edges: .csv, .tsv, .jsonl or .parquet, maybe packed by gzip or zstd; ids are strings or integers; other columns than those that a flag names are not read")
	f.StringVar(&t.First, "source", "source", "column of -edges: the first node")
	f.StringVar(&t.Second, "target", "target", "column of -edges: the second node")
	f.StringVar(&t.Type, "type", "", "column of -edges: the type of the edge, an attribute")
	f.StringVar(&t.Weight, "weight", "", "column of -edges: the weight of the edge, an attribute")
	f.StringVar(&t.Nodes, "nodes", "", "a table of nodes, whose other columns are attributes")
	f.StringVar(&t.ID, "id", "id", "column of -nodes: the id of the node")
	f.StringVar(&t.Class, "class", "", "column of -nodes: the class of a node, which is the target of its field, and no attribute; empty means unknown; of node-link JSON the key of the class of a graph")
	f.StringVar(&t.Ignore, "ignore", "", "comma-separated columns of -nodes not to read as attributes")
	f.StringVar(&t.Missing, "missing", "", "comma-separated texts that stand for no value in tables and node-link JSON, as NA,NULL")
}

// check refuses flags of tables without -edges, and -data with -edges.
func (c *exportInput) check(given []string) error {
	t := &c.tables
	keyed := sources.FormatOf(c.data, sources.Options{Format: c.format}) == "nodelink"
	for _, name := range given {
		switch name {
		case "source", "target", "type", "weight", "nodes", "id", "class", "ignore", "missing":
			if t.Edges == "" && !(keyed && (name == "class" || name == "missing")) {
				return fmt.Errorf("-%s is of a table, and there is no -edges", name)
			}
			if t.Edges != "" && t.Nodes == "" && (name == "class" || name == "ignore") {
				return fmt.Errorf("-%s names a column of -nodes, and there is no -nodes", name)
			}
		case "data", "format", "weights":
			if t.Edges != "" {
				return fmt.Errorf("-edges and -%s are both set, want one", name)
			}
		}
	}
	return nil
}

// find sets the format.
func (c *exportInput) find() error {
	switch {
	case c.tables.Edges != "":
		c.format = "tables"
		return nil
	case slices.Contains(input.Families, c.graph):
		c.format = "generated"
	case c.format == "" && c.graph == "-":
		c.format = "graph6"
	case c.format == "":
		c.format = sources.FormatOf(c.graph+c.data, sources.Options{})
	case !slices.ContainsFunc(sources.Formats(), func(f sources.Format) bool { return f.Name == c.format && f.Graphs != nil }):
		return fmt.Errorf("-format is %q, want edges, graph6, dot, tu or arrow", c.format)
	case c.format == "tu" && c.graph == "-":
		return errors.New("-graph is -, but a TU collection is several files: name its zip or directory")
	}
	if c.format == "" && c.data == "" {
		families := strings.Join(input.Families, ", ")
		if _, err := os.Stat(c.graph); err != nil {
			return fmt.Errorf("-graph is %q: no such file, and no graph to generate, which are %s", c.graph, families)
		}
		return fmt.Errorf("-graph is %q, and the format of that name is unknown: set -format, or generate %s", c.graph, families)
	}
	if c.weights && c.format != "edges" && c.format != "parquet" {
		return fmt.Errorf("-weights needs an edge list or a table of edges, and %s is neither", c.graph+c.data)
	}
	return nil
}

// source returns the source of the graphs.
func (c *exportInput) source(ctx context.Context) (flow.Source, error) {
	switch c.format {
	case "tables":
		return c.ofTables(ctx)
	case "generated":
		made, _, err := input.Generate(ctx, c.graph, c.n, c.seed)
		return sources.Graphs{Items: []sources.Item{{Graph: made}}}, err
	}
	o, path := input.Options(), c.graph+c.data
	o.Format, o.Directed, o.Weights, o.Workers, o.Reader = c.format, c.directed, c.weights, c.workers, input.Pipe(ctx, path)
	o.Note, o.Class, o.Targets, o.Missing = new(data).note, c.tables.Class, sources.Targets(c.tables.Class), fields(c.tables.Missing)
	if path == "-" {
		path = "standard input"
	}
	return sources.Open(ctx, path, o)
}

// chunkOf is the number of roots of a chunk for fields of k nodes. A chunk of one large graph has at most
// two megabytes of edges, and its overhead is then small. A chunk of a collection has as many roots as
// most graphs have nodes: missing roots are zero fields, and each chunk of a graph is a record. The number
// does not depend on the workers.
func (c *exportInput) chunkOf(k int) int {
	most := 1024
	if slices.Contains([]string{"graph6", "tu", "dot"}, c.format) && c.data == "" {
		most = 128
	}
	return max(1, min(most, 1<<19/(k*k)))
}

// ofTables returns the graph of the tables, or several graphs where -graph is a column. Columns of edges
// without a flag are not read.
func (c *exportInput) ofTables(ctx context.Context) (flow.Source, error) {
	t := c.tables
	edges, err := sources.OpenTable(ctx, t.Edges, sources.Options{})
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("-edges: %w", err))
	}
	s := sources.Tables{
		Edges:    sources.EdgeTable{Table: edges, Source: t.First, Target: t.Second, Graph: c.graph, Type: t.Type, Weight: t.Weight, Attributes: []string{}},
		Directed: c.directed, Workers: c.workers, Missing: fields(t.Missing),
	}
	if t.Nodes != "" {
		if s.Nodes.Table, err = sources.OpenTable(ctx, t.Nodes, sources.Options{}); err != nil {
			return nil, cli.Usage(fmt.Errorf("-nodes: %w", err))
		}
		s.Nodes.ID, s.Nodes.Graph, s.Nodes.Targets = t.ID, c.graph, sources.Targets(t.Class)
		s.Nodes.Ignore = fields(t.Ignore)
	}
	return s, nil
}

// selection is the flags -select, -w and -stride.
type selection struct {
	By        string // all, or a labeling
	W, Stride int
}

// operator returns the operator that selects the roots.
func (s selection) operator() (operators.Select, error) {
	op := operators.Select{W: s.W, Stride: s.Stride}
	switch {
	case s.By != "all":
		l, err := labeling.Parse(s.By)
		if err != nil {
			return op, fmt.Errorf("-select: %w, or all", err)
		}
		op.By = l
	case s.W > 0: // without By and with W, Select ranks by centrality
		op.By = byNumber{}
	}
	return op, nil
}

// of returns the operator that selects as many roots as the graphs have nodes on average, rounded, at least 1.
func (s *selection) of(all *tally) (operators.Select, error) {
	s.W = max(1, int((all.Nodes+all.Graphs/2)/max(1, all.Graphs)))
	return s.operator()
}

// byNumber is the labeling that ranks nodes by their numbers.
type byNumber struct{}

func (byNumber) String() string { return "all" }

func (byNumber) Label(_ labeling.Input, labels []float64) error {
	for v := range labels {
		labels[v] = -float64(v)
	}
	return nil
}

// named is a source of graphs that measures the time of Open.
type named struct {
	flow.Source
	Seconds float64 // of Open, which reads an edge list as a whole
	Quiet   bool    // notes of tables are not printed
}

// Name is the name of the inner source, for errors and the plan of a pipeline.
func (s *named) Name() string { return flow.Name(s.Source) }

// String is for the plan of a pipeline.
func (s *named) String() string { return fmt.Sprint(s.Source) }

// Open implements flow.Source.
func (s *named) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	start := time.Now()
	r, err := s.Source.Open(ctx, mem)
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	if s.Seconds = time.Since(start).Seconds(); !r.Schema().HasField(record.Offsets) {
		return nil, errors.Join(errors.New("the input has fields, and no graphs: export with -graphs writes those"), r.Close())
	}
	if t, ok := r.(interface{ Notes() []string }); ok && !s.Quiet {
		for _, note := range t.Notes() {
			fmt.Fprintln(os.Stderr, note)
		}
	}
	return r, nil
}

// tally is an operator that counts the graphs of records and passes the records on.
type tally struct {
	Graphs, Nodes, Edges int64
}

// String is for the plan of a pipeline.
func (t *tally) String() string { return "Tally" }

// Open implements flow.Operator.
func (t *tally) Open(in *arrow.Schema) (flow.Stage, error) { return &tallier{t, in}, nil }

type tallier struct {
	*tally
	schema *arrow.Schema
}

func (t *tallier) Schema() *arrow.Schema { return t.schema }

func (t *tallier) Process(rec arrow.Record, out *flow.Out) error {
	graphs, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	var g graph.Graph
	for row := range graphs.Len() {
		graphs.At(row, &g)
		t.Graphs++
		t.Nodes += int64(g.N())
		t.Edges += int64(g.M())
	}
	rec.Retain()
	return out.Emit(rec)
}

// notesOf returns the notes of operators.Normalize, or nil.
func notesOf(stages []flow.StageStats) map[string]int64 {
	for _, stage := range stages {
		if _, ok := stage.Notes["fields"]; ok {
			return stage.Notes
		}
	}
	return nil
}
