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

// rowsOf makes rows of the pairs of some folds, in order, one record for all.
func rowsOf(ctx context.Context, c *config, full *graph.Graph, folds []fold, bar *cli.Progress, r *report) (arrow.Record, error) {
	var out sinks.Collect
	defer out.Release()
	start := time.Now()
	for _, f := range folds {
		p, roots := c.fields(full, f)
		if c.net == words {
			p, roots = wordsOf(full, f)
		}
		err := p.Via(operators.Batch{Size: 256}).With(flow.Options{Workers: c.workers}).To(&out).Run(ctx)
		if err != nil {
			return nil, err
		}
		bar.Add(int64(len(f.pairs)))
		r.roots += roots
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

// fields has a row of the two fields of each pair. It stands there from both
// sides: first all pairs of the fold, then all with their ends swapped.
func (c *config) fields(full *graph.Graph, f fold) (p flow.Pipeline, roots int) {
	both := make([]int32, 0, 4*len(f.pairs))
	for _, p := range f.pairs {
		both = append(both, p.u, p.v)
	}
	for _, p := range f.pairs {
		both = append(both, p.v, p.u)
	}
	return pairsOf(f, both).
		Via(operators.Assemble{K: c.k}).
		Via(operators.Normalize{By: c.normal, IgnoreAttributes: true, KeepGraph: true}).
		Via(pairLabels{Full: full}), len(both)
}

// wordsOf has a row of the words of each pair.
func wordsOf(full *graph.Graph, f fold) (p flow.Pipeline, roots int) {
	ends := make([]int32, 0, 2*len(f.pairs))
	for _, p := range f.pairs {
		ends = append(ends, p.u, p.v)
	}
	return pairsOf(f, ends).Via(pairWords(full)), len(ends)
}

// pairsOf has a row for every two of the roots.
func pairsOf(f fold, roots []int32) flow.Pipeline {
	return flow.From(&sources.NodeSet{Graph: f.graph}).
		Via(operators.Roots{Nodes: roots}).
		Via(operators.Chunk{Size: 2})
}
