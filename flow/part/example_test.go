package part_test

import (
	"context"
	"fmt"
	"io"
	"log"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/part"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
)

// The receptive fields of 6400 graphs become 64 files.
func Example() {
	ctx, src, rows, digest := context.Background(), sources.Families{Graphs: 6400}, int64(6400), "families 6400"
	recipe := operators.Recipe{
		operators.Select{W: 20, By: labeling.Betweenness},
		operators.Assemble{K: 10},
		operators.Normalize{By: labeling.WL},
	}
	job := part.Job{
		Plan: part.Plan{Recipe: fmt.Sprint(recipe), Input: digest, Parts: part.Cut(rows, 64)},
		Out:  file.Dir{Path: "fields"},
		Pipeline: func(in part.Input) flow.Pipeline {
			return recipe.Onto(flow.From(part.Rows{Source: src, Input: in}))
		},
		Sink: func(w io.Writer) flow.Sink { return parquet.Sink{W: w} },
	}
	err := job.Run(ctx, part.Shard{}, nil) // all parts; Shard{I: 3, N: 8} is one of eight array jobs
	if err != nil {
		log.Fatal(err)
	}
}
