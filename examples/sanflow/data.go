package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
	"github.com/sanflow/sanflow/sources/parquet"
)

// data is the flags that name rows: a collection, or tables.
type data struct {
	task, data string
	table
	directed bool
	workers  int
}

// table is the flags of tables.
type table struct {
	edges, source, target, graph, typ, weight, time string
	nodes, id, class, value, ignore, part           string
}

var tasks = []string{"graphs", "nodes", "links"}

func (d *data) flags(f *flag.FlagSet, task string) {
	f.StringVar(&d.task, "task", "", "graphs, nodes or links: what is told apart; "+task)
	f.StringVar(&d.data, "data", "", "data by name or path, generated ones where neither this nor -edges is set: graphs of a TU collection, .g6, .dot, .arrow or .parquet files; of nodes or links a zip or directory with edges.txt, labels.txt and maybe features.txt and split.txt, or an edge list")
	f.StringVar(&d.edges, "edges", "", "in place of -data, a table of edges: .csv, .tsv, .jsonl or .parquet, maybe packed by gzip or zstd")
	f.StringVar(&d.source, "source", "source", "column of -edges: the first node")
	f.StringVar(&d.target, "target", "target", "column of -edges: the second node")
	f.StringVar(&d.graph, "graph", "", "column of both tables: the graph, where there are many")
	f.StringVar(&d.typ, "type", "", "column of both tables: the type of an edge or a node")
	f.StringVar(&d.weight, "weight", "", "column of -edges: the weight, an attribute of the edge")
	f.StringVar(&d.time, "time", "", "column of -edges: when the edge came; links: the last ones are to be found")
	f.StringVar(&d.nodes, "nodes", "", "a table of nodes, or, with -graph and without -id, of graphs")
	f.StringVar(&d.id, "id", "id", "column of -nodes: the name of the node")
	f.StringVar(&d.class, "class", "", "column of -nodes: the class, empty where it is not known")
	f.StringVar(&d.value, "value", "", "column of -nodes: in place of -class, the number to learn")
	f.StringVar(&d.ignore, "ignore", "", "columns that are no attributes, with commas; all columns that no flag names are")
	f.StringVar(&d.part, "part", "", "column of -nodes: train, valid or test")
	f.BoolVar(&d.directed, "directed", false, "edges lead from source to target; without it they have no direction")
	cli.Workers(f, &d.workers)
}

// check checks what does not need the files. A task that was not given is that of a model
// where there is one.
func (d *data) check(f *flag.FlagSet, model string) error {
	if d.task == "" {
		if d.task = model; model == "" {
			d.task = "graphs"
			if d.edges != "" && d.graph == "" {
				d.task = "nodes"
			}
		}
	}
	tables := []string{"source", "target", "graph", "type", "weight", "time", "nodes", "id", "class", "value", "ignore", "part"}
	given := cli.Given(f)
	switch {
	case !slices.Contains(tasks, d.task):
		return cli.Usage(fmt.Errorf("-task is %q, want %s", d.task, strings.Join(tasks, ", ")))
	case model != "" && d.task != model:
		return cli.Usage(fmt.Errorf("-task is %s, the model is for %s", d.task, model))
	case d.data != "" && d.edges != "":
		return cli.Usage(errors.New("-data and -edges are both set, want one"))
	case d.class != "" && d.value != "":
		return cli.Usage(errors.New("-class and -value are both set, want one"))
	case d.edges != "":
		return nil
	}
	for _, name := range tables {
		if slices.Contains(given, name) {
			return cli.Usage(fmt.Errorf("-%s names a column of a table, and there is no -edges", name))
		}
	}
	return nil
}

// name is what the data are called in reports and models.
func (d *data) name() string {
	if d.data+d.edges == "" {
		return "generated"
	}
	return cli.DataName(d.data + d.edges)
}

// columns is all flags of tables.
func (d *data) columns() string { return fmt.Sprintf("%+v %v", d.table, d.directed) }

// graphs returns the source of a collection.
func (d *data) graphs(ctx context.Context) (flow.Source, error) {
	switch {
	case d.edges != "":
		return d.tables()
	case d.data == "":
		return sources.Families{}, nil
	}
	path := d.data
	ext := filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst"))
	switch {
	case ext == ".arrow" || isDir(path) && !isMissing(filepath.Join(path, "manifest.json")):
		return input.Arrow(path), nil
	case ext == ".parquet":
		return parquet.Source{Path: path}, nil
	case ext == ".g6" || ext == ".d6":
		return sources.Graph6{Path: path, Directed: d.directed, Rows: 256}, nil
	case ext == ".dot" || ext == ".gv":
		return sources.DOT{Path: path}, nil
	}
	path, err := cli.Find(ctx, path)
	return sources.TU{Path: path, Directed: d.directed}, err
}

// set reads the graph whose nodes or links are told apart.
func (d *data) set(ctx context.Context) (set *sources.NodeSet, err error) {
	bar := cli.NewProgress("reading", -1)
	defer bar.Done()
	path := cli.Place("nodes", d.data)
	switch ext := filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")); {
	case d.edges != "":
		return nil, errNoTables
	case d.data == "":
		set = new(sources.NodeSet)
		if set.Graph, set.Class, err = generate.Communities(1000, 5, 5, 2, 1); err == nil {
			set.Classes = []string{"one", "two", "three", "four", "five"}
		}
	case isDir(path) || ext == ".zip":
		set, err = sources.Nodes{Path: path}.Read(ctx)
	default:
		var net *sources.Network
		if net, err = (sources.EdgeList{Path: cli.Place("graphs", d.data), Directed: d.directed, Workers: d.workers}).Read(ctx); err == nil {
			set = &sources.NodeSet{Graph: net.Graph, IDs: net.IDs}
		}
	}
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	// A node without attributes is known by its number.
	if g := set.Graph; d.task == "nodes" && g.SparseCard+g.NodeAttrs+g.NodeCats == 0 {
		err = set.Identify()
	}
	return set, err
}

var errNoTables = errors.New("tables are not read yet")

// tables is the source of graphs in tables.
func (d *data) tables() (flow.Source, error) { return nil, errNoTables }
