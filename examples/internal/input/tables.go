package input

import (
	"flag"
	"fmt"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
)

// Tables is the flags of a graph in tables, which are those of the command sanflow.
type Tables struct {
	Edges, Nodes                string
	First, Second, Type, Weight string // columns of Edges
	ID, Class, Ignore           string // columns of Nodes
}

// Flags adds the flags to f.
func (t *Tables) Flags(f *flag.FlagSet) {
	f.StringVar(&t.Edges, "edges", "", "in place of -graph, a table of edges: .csv, .tsv, .jsonl or .parquet, maybe packed by gzip or zstd; ids are strings or integers; other columns than those that a flag names are not read")
	f.StringVar(&t.First, "source", "source", "column of -edges: the first node")
	f.StringVar(&t.Second, "target", "target", "column of -edges: the second node")
	f.StringVar(&t.Type, "type", "", "column of -edges: the type of the edge, an attribute")
	f.StringVar(&t.Weight, "weight", "", "column of -edges: the weight of the edge, an attribute")
	f.StringVar(&t.Nodes, "nodes", "", "a table of nodes, whose other columns are attributes")
	f.StringVar(&t.ID, "id", "id", "column of -nodes: the id of the node")
	f.StringVar(&t.Class, "class", "", "column of -nodes: the class of a node, which is the target of its field, and no attribute; empty means unknown")
	f.StringVar(&t.Ignore, "ignore", "", "comma-separated columns of -nodes not to read as attributes")
}

// Check refuses flags of tables without -edges, and -graph or -data beside it.
func (t *Tables) Check(given []string) error {
	for _, name := range given {
		switch name {
		case "source", "target", "type", "weight", "nodes", "id", "class", "ignore":
			if t.Edges == "" {
				return fmt.Errorf("-%s is of a table, and there is no -edges", name)
			}
			if t.Nodes == "" && (name == "class" || name == "ignore") {
				return fmt.Errorf("-%s names a column of -nodes, and there is no -nodes", name)
			}
		case "graph", "data", "format", "weights":
			if t.Edges != "" {
				return fmt.Errorf("-edges and -%s are both set, want one", name)
			}
		}
	}
	return nil
}

// source returns the graph of the tables. Columns of the edges that no flag names are not read.
func (t *Tables) source(directed bool, workers int) (flow.Source, error) {
	edges, err := Table(t.Edges)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("-edges: %w", err))
	}
	s := sources.Tables{
		Edges:    sources.EdgeTable{Table: edges, Source: t.First, Target: t.Second, Type: t.Type, Weight: t.Weight, Attributes: []string{}},
		Directed: directed, Workers: workers,
	}
	if t.Nodes != "" {
		if s.Nodes.Table, err = Table(t.Nodes); err != nil {
			return nil, cli.Usage(fmt.Errorf("-nodes: %w", err))
		}
		s.Nodes.ID, s.Nodes.Class = t.ID, t.Class
		s.Nodes.Ignore = strings.FieldsFunc(t.Ignore, func(r rune) bool { return r == ',' })
	}
	return s, nil
}

// Table returns the table in a file, by its name.
func Table(path string) (sources.Table, error) {
	switch extension(path) {
	case ".csv", ".tsv":
		return sources.CSV{Path: path}, nil
	case ".txt", ".edges", ".edgelist", ".mtx":
		return sources.Text{Path: path}, nil
	case ".jsonl", ".ndjson", ".json":
		return sources.JSONLines{Path: path}, nil
	case ".parquet":
		return parquet.Table{Path: path}, nil
	}
	return nil, fmt.Errorf("%s: want a name that ends in .csv, .tsv, .txt, .edges, .jsonl or .parquet", path)
}
