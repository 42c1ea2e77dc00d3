//go:build !race

package choose_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// A model for the nodes of one graph is chosen, saved, loaded and tested.
func Example_nodes() {
	ctx, path := context.Background(), filepath.Join(must(os.MkdirTemp("", "nodes")), "nodes.model")
	defer os.RemoveAll(filepath.Dir(path))
	g, class, err := generate.Communities(300, 4, 6, 2, 1)
	check(err)
	set := &sources.NodeSet{Graph: g, Class: class, Classes: []string{"north", "east", "south", "west"}}
	check(set.Identify()) // there are no other features

	train, valid, test, err := choose.Deal(set, 1) // nodes whose class is known
	check(err)
	rows := func(part []int32) choose.Rows { return choose.NodeRows(set, part) }
	chosen := must(choose.Choice{
		Systems: choose.Nodes(set, len(train)), Classes: set.Classes, Train: rows(train), Valid: rows(valid), Seed: 1,
	}.Run(ctx))
	check(sinks.Save(path, chosen.Net, chosen.Recipe))
	p := must(sinks.Load(path)) // elsewhere, later
	m := must(choose.Test(ctx, p, set.Graph, set.IDs, rows(test), "", 0))
	check(p.Close())
	fmt.Println("tested on", m.Rows, "nodes, better than the largest class:", m.Accuracy() > 2*m.Majority())
	// Output:
	// tested on 50 nodes, better than the largest class: true
}
