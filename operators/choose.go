package operators

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/operators/theta"
)

// Choose runs the pipeline in, which has no sink, and returns the labeling that suits its
// graphs best: the candidate with the smallest θ̂ (Niepert et al. 2016, Theorem 2). Without
// candidates it takes theta.Default(). A program calls it in place of labeling.Auto, before the
// pipeline of the fields:
//
//	graphs := flow.From(src)
//	by, _, err := operators.Choose(ctx, graphs, nil, theta.Options{K: 10})
//	…
//	fields := graphs.Via(operators.Select{W: 18}).
//		Via(operators.Assemble{K: 10}).
//		Via(operators.Normalize{By: by})
//
// Choose does not read classes. It holds all graphs in memory while it runs. The estimates have
// the order of the candidates; they are returned even if every candidate failed.
func Choose(ctx context.Context, in flow.Pipeline, candidates []labeling.Labeling, o theta.Options) (labeling.Labeling, []theta.Estimate, error) {
	if len(candidates) == 0 {
		candidates = theta.Default()
	}
	var k keeper
	defer k.release()
	if err := in.To(&k).Run(ctx); err != nil {
		return nil, nil, err
	}
	var graphs []*graph.Graph
	for _, rec := range k.recs {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			return nil, nil, fmt.Errorf("operators: choose: %w", err)
		}
		for row := range gs.Len() {
			g := &graph.Graph{}
			gs.At(row, g)
			graphs = append(graphs, g)
		}
	}
	return theta.Choose(ctx, graphs, candidates, o)
}

// keeper is a sink that keeps the stream.
type keeper struct{ recs []arrow.Record }

// Open refuses records without graphs before the first one is read.
func (k *keeper) Open(in *arrow.Schema) (flow.Writer, error) {
	_, err := record.LayoutOf(in)
	return k, err
}

func (k *keeper) Write(_ context.Context, rec arrow.Record) error {
	rec.Retain()
	k.recs = append(k.recs, rec)
	return nil
}

func (k *keeper) Close(error) error { return nil }

func (k *keeper) release() { k.recs = releaseAll(k.recs) }
