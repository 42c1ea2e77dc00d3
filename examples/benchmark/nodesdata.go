package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// nodeParts is the graph with the parts of its nodes; of the nodes in them the
// class is known.
type nodeParts struct {
	*sources.NodeSet
	name             string
	train, val, test []int32
	dealt            bool // by the seed; the data have no split
	identity         bool
}

// nodeTables is the flags that name tables of a graph.
type nodeTables struct {
	edges, source, target, nodes, id, class, parts string
}

func (t *nodeTables) flags(f *flag.FlagSet) {
	f.StringVar(&t.edges, "edges", "", "in place of -data, a table of edges: .csv, .tsv, .jsonl or .parquet, maybe packed; or its name in $SANFLOW_DATA/nodes")
	f.StringVar(&t.source, "source", "source", "column of -edges: the first node")
	f.StringVar(&t.target, "target", "target", "column of -edges: the second node")
	f.StringVar(&t.nodes, "nodes", "", "the table of nodes of -edges; columns that no flag names are attributes")
	f.StringVar(&t.id, "id", "id", "column of -nodes: the id of the node")
	f.StringVar(&t.class, "class", "", "column of -nodes: the class of the node")
	f.StringVar(&t.parts, "parts", "", "comma-separated columns of -nodes, each a split: train, valid, test; nothing is in no part; by default the nodes are dealt by the seed")
}

func (t *nodeTables) check(f *flag.FlagSet, other bool) error {
	for _, name := range cli.Given(f) {
		if t.edges == "" && slices.Contains([]string{"source", "target", "nodes", "id", "class", "parts"}, name) {
			return fmt.Errorf("-%s is of tables, and there is no -edges", name)
		}
	}
	switch {
	case t.edges == "":
		return nil
	case other:
		return errors.New("-edges and -data are both set, want one")
	case t.nodes == "" || t.class == "":
		return errors.New("-edges wants -nodes and -class, the column with what is to be learned")
	}
	_, err := items("parts", t.parts)
	return err
}

// columns are those of the splits, one of no name where there are none.
func (t *nodeTables) columns() []string { return strings.Split(t.parts, ",") }

// read reads the tables with the split of a column.
func (t *nodeTables) read(ctx context.Context, part string) (*sources.NodeSet, error) {
	edges, err := sources.OpenTable(ctx, sources.Place(t.edges, "nodes"), sources.Options{})
	if err != nil {
		return nil, err
	}
	nodes, err := sources.OpenTable(ctx, sources.Place(t.nodes, "nodes"), sources.Options{})
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(t.columns(), func(name string) bool { return name == part })
	set, err := sources.Tables{
		Edges: sources.EdgeTable{Table: edges, Source: t.source, Target: t.target},
		Nodes: sources.NodeTable{Table: nodes, ID: t.id, Class: t.class, Part: part, Ignore: others},
	}.Read(ctx)
	if err != nil {
		return nil, err
	}
	return set.NodeSet()
}

// load reads the graph, with the split of a column where there are tables.
func (c *nodesConfig) load(ctx context.Context, column string) (*nodeParts, error) {
	bar := cli.NewProgress("reading", -1)
	defer bar.Done()
	name := cli.DataName(c.data + c.tables.nodes)
	var set *sources.NodeSet
	var err error
	if c.tables.edges != "" {
		set, err = c.tables.read(ctx, column)
	} else if c.data == "" {
		name = "communities"
		set, err = communities(c.seed)
	} else {
		set, err = sources.Nodes{Path: sources.Place(c.data, "nodes")}.Read(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	d := &nodeParts{NodeSet: set, name: name, dealt: set.Split == nil}
	if g := set.Graph; !c.portable && g.SparseCard+g.NodeAttrs+g.NodeCats == 0 {
		d.identity = true
		if err := set.Identify(); err != nil {
			return nil, err
		}
	}
	if len(set.Classes) < 2 {
		return nil, fmt.Errorf("%s: all nodes are of class %s; there is nothing to classify", d.name, set.Classes[0])
	}
	return d, d.divide(c)
}

// communities is a graph of five communities, of which each node has two neighbours
// in others for five in its own. Nothing else distinguishes them.
func communities(seed uint64) (*sources.NodeSet, error) {
	const groups = 5
	g, group, err := generate.Communities(1000, groups, 5, 2, seed)
	if err != nil {
		return nil, err
	}
	set := &sources.NodeSet{Graph: g, Class: group}
	for i := range groups {
		set.Classes = append(set.Classes, fmt.Sprintf("community %d", i))
	}
	return set, nil
}

// divide finds the parts.
func (d *nodeParts) divide(c *nodesConfig) (err error) {
	if d.Split != nil && !slices.Contains(d.Split, sources.Test) {
		return fmt.Errorf("%s: no node is of the part test", d.name)
	}
	if d.train, d.val, d.test, err = choose.Deal(d.NodeSet, c.seed); err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	return nil
}

// majority is the share, in percent, of the largest class among nodes.
func (d *nodeParts) majority(nodes []int32) float64 {
	count := make([]int, len(d.Classes))
	most := 0
	for _, v := range nodes {
		count[d.Class[v]]++
		most = max(most, count[d.Class[v]])
	}
	return 100 * float64(most) / float64(len(nodes))
}
