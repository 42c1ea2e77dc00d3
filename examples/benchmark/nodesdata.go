package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/sinks/nodes"
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

// Streams of random numbers under the seed of -task nodes.
const (
	streamSplit uint64 = iota
	streamOrder
	streamNets
	streamRehearsed
)

func newRand(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

func shuffle(list []int32, seed, stream uint64) {
	newRand(seed, stream).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func (c *nodesConfig) load(ctx context.Context) (*nodeParts, error) {
	bar := cli.NewProgress("reading", -1)
	defer bar.Done()
	name := cli.DataName(c.data + c.graph)
	var set *sources.NodeSet
	var err error
	if c.data == "" && c.graph == "" {
		name = "communities"
		if set, err = communities(c.seed); err == nil && c.identity == nodes.On {
			err = set.Identify()
		}
	} else {
		set, err = sources.Nodes{Path: sources.Place(c.data, "nodes"), Edges: sources.Place(c.graph, "graphs"), Labels: sources.Place(c.labels, "graphs"), Identity: c.identity == nodes.On}.Read(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	set.Standardize()
	d := &nodeParts{NodeSet: set, name: name, identity: c.identity == nodes.On}
	if c.identity == nodes.Auto && set.Graph.SparseCard == 0 && set.Graph.NodeAttrs == 0 {
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
func (d *nodeParts) divide(c *nodesConfig) error {
	if d.Split != nil && c.protocol == "split" {
		d.train, d.val, d.test = d.Subset(sources.Train), d.Subset(sources.Val), d.Subset(sources.Test)
	} else {
		var all []int32
		for v, class := range d.Class {
			if class >= 0 {
				all = append(all, int32(v))
			}
		}
		if c.protocol == "prequential" {
			shuffle(all, c.seed, streamOrder)
			d.test = all
			return nil
		}
		d.dealt = true
		shuffle(all, c.seed, streamSplit)
		a, b := len(all)*3/5, len(all)*4/5
		d.train, d.val, d.test = all[:a], all[a:b], all[b:]
	}
	if len(d.val) == 0 && len(d.train) >= 5 {
		shuffle(d.train, c.seed, streamSplit)
		n := len(d.train) / 5
		d.val, d.train = d.train[:n], d.train[n:]
	}
	for _, part := range []struct {
		name  string
		nodes []int32
	}{{"training", d.train}, {"validation", d.val}, {"test", d.test}} {
		if len(part.nodes) == 0 {
			return fmt.Errorf("%s: there are no %s nodes with a class", d.name, part.name)
		}
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
