package main

import (
	"context"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// fields makes a row of the two fields of each pair of some folds, in order,
// one record for all. Each pair stands there from both sides: first all pairs of
// a fold, then all with their ends swapped.
func fields(ctx context.Context, c *config, full *graph.Graph, folds []fold, bar *cli.Progress, r *report) (arrow.Record, error) {
	var out sinks.Collect
	defer out.Release()
	start := time.Now()
	for _, f := range folds {
		var roots []int32
		for _, p := range f.pairs {
			roots = append(roots, p.u, p.v)
		}
		for _, p := range f.pairs {
			roots = append(roots, p.v, p.u)
		}
		err := flow.From(&sources.NodeSet{Graph: f.graph}).
			Via(operators.Roots{Nodes: roots}).
			Via(operators.Chunk{Size: 2}).
			Via(operators.Assemble{K: c.k}).
			Via(operators.Normalize{By: c.normal, IgnoreAttributes: true, KeepGraph: true}).
			Via(pairLabels{Full: full}).
			Via(operators.Batch{Size: 256}).
			With(flow.Options{Workers: c.workers}).
			To(&out).Run(ctx)
		if err != nil {
			return nil, err
		}
		bar.Add(int64(len(f.pairs)))
		r.roots += len(roots)
	}
	r.rootSeconds += time.Since(start).Seconds()
	var refs []record.Ref
	for i, rec := range out.Records() {
		for row := range int32(rec.NumRows()) {
			refs = append(refs, record.Ref{Record: int32(i), Row: row})
		}
	}
	return record.Take(memory.DefaultAllocator, out.Records(), refs)
}
