package main

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// view is a way to look at the nodes: a row for each of them.
type view struct {
	rows       arrow.Record
	train, val arrow.Record // of the nodes of those parts
	labels     bool         // neighbours' classes are an attribute
	spread     bool         // a row is the spread features of the node, not its field
	words      bool         // a row is words, for a model of words
	many       bool         // of many nodes to learn from
	classes    int          // of the words
}

// mostSpread is how many values spread features may have: they are dense, where a
// field has the few words of its nodes.
const mostSpread = 1 << 24

// views makes the rows that the settings allow: with few nodes to learn from,
// fields and spread features; with many, fields without and with the classes that
// are known. Which of them is best the validation nodes tell. Fields
// come first; they may be nil where -spread is on.
func (d *dataset) views(ctx context.Context, c *config, fields arrow.Record) (views []*view, err error) {
	defer func() {
		if err != nil {
			release(views)
		}
	}()
	small := d.few()
	if c.neighbourLabels != yes && c.spread != yes {
		fields.Retain()
		views = append(views, &view{rows: fields})
	}
	if c.spread != yes && (c.neighbourLabels == yes || c.neighbourLabels == auto && !small) {
		rows, err := d.labelled(ctx, fields)
		if err != nil {
			return views, err
		}
		views = append(views, &view{rows: rows, labels: true})
	}
	width := d.Graph.SparseCard + d.Graph.NodeAttrs
	fits := width > 0 && d.Graph.N() <= mostSpread/width
	if c.spread == yes && width == 0 {
		return views, fmt.Errorf("%s: -spread is on, and the nodes have no features", d.name)
	}
	if c.spread == yes && !fits {
		return views, fmt.Errorf("%s: -spread is on, and %d features of %d nodes are more than %d numbers, which is the most", d.name, width, d.Graph.N(), mostSpread)
	}
	if c.spread == yes || c.spread == auto && c.neighbourLabels != yes && c.net == "pooled" && small && fits && !d.identity {
		rows, err := d.spread(ctx, c)
		if err != nil {
			return views, err
		}
		views = append(views, &view{rows: rows, spread: true})
	}
	for _, v := range views {
		if v.train, err = take(v.rows, d.train); err != nil {
			return views, err
		}
		if v.val, err = take(v.rows, d.val); err != nil {
			return views, err
		}
	}
	return views, nil
}

func release(views []*view) {
	for _, v := range views {
		for _, rec := range []arrow.Record{v.rows, v.train, v.val} {
			if rec != nil {
				rec.Release()
			}
		}
	}
}

// learned tells the training nodes from the others.
func (d *dataset) learned() []bool {
	learned := make([]bool, len(d.Class))
	for _, v := range d.train {
		learned[v] = true
	}
	return learned
}

// labelled is the fields with the classes of training nodes in them.
func (d *dataset) labelled(ctx context.Context, fields arrow.Record) (arrow.Record, error) {
	learned := d.learned()
	var out sinks.Collect
	defer out.Release()
	err := flow.From(sources.Records{Records: []arrow.Record{fields}}).
		Via(neighbourLabels{classes: d.Class, names: d.Classes, known: func(_, v int32) bool { return learned[v] }}).
		With(flow.Options{Workers: 1}).
		To(&out).Run(ctx)
	if err != nil {
		return nil, err
	}
	rec := out.Records()[0]
	rec.Retain()
	return rec, nil
}

// spread is a row for each node with its features and those of the nodes around
// it, as random walks meet them, at unit length: what is left of a field of a
// whole neighbourhood when only the first layer of a network, which is linear,
// has looked at it. See operators.Spread. A row is a field of the root alone.
func (d *dataset) spread(ctx context.Context, c *config) (arrow.Record, error) {
	one := *c
	one.k, one.bound = 1, 0
	bar := cli.NewProgress("spreading features", -1)
	defer bar.Done()
	ctx = labeling.WithProgress(ctx, func(done, total int) { bar.Total(int64(total)); bar.Set(int64(done)) })
	spread := flow.From(d.NodeSet).Via(operators.Spread{Sparse: d.Graph.SparseCard > 0, Symmetric: true, Unit: true, Workers: c.workers})
	return d.inOne(ctx, one.rows(spread, d.all(), 256), nil)
}
