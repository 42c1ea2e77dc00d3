package part_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	arrowipc "github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/part"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/ipc"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sinks/scores"
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

// make600 makes six parts of 600 graphs: Arrow files of what the operators make.
func make600(recipe operators.Recipe, plan string) {
	ctx, src := context.Background(), sources.Families{Graphs: 600}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	job := part.Job{
		Plan: part.Plan{Recipe: plan, Input: "families 600", Ext: ".arrow", Parts: part.Cut(600, 6)},
		Out:  file.Dir{Path: dir},
		Pipeline: func(in part.Input) flow.Pipeline {
			return recipe.Onto(flow.From(part.Rows{Source: src, Input: in}))
		},
		Sink: func(w io.Writer) flow.Sink { return ipc.Sink{W: w} },
	}
	if err := job.Run(ctx, part.Shard{}, nil); err != nil {
		log.Fatal(err)
	}
	m, err := job.Finish(ctx)
	if err != nil {
		log.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, m.Files[0].Name))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	r, err := arrowipc.NewFileReader(f)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	fmt.Println(len(m.Files), "parts,", m.Rows, "rows of")
	for _, f := range r.Schema().Fields() {
		fmt.Println(" ", f.Name, f.Type)
	}
}

// The words of graphs, which kernels and linear models count, are work of the same kind.
func ExampleJob_words() {
	words := operators.Recipe{operators.Count{Of: []count.Counter{count.WL{Height: 2}}, DropGraph: true}}
	make600(words, words.String())
	// Output:
	// 6 parts, 600 rows of
	//   graph_id int64
	//   pos int64
	//   target int32
	//   words_ids list<item: uint64, nullable>
	//   words_counts list<item: float32, nullable>
}

// And so are the predictions of a model. The plan names the model by its digest.
func ExampleJob_predictions() {
	recipe := operators.Recipe{
		operators.Channel{By: labeling.NormalizedDegree},
		operators.Select{W: 8},
		operators.Assemble{K: 5},
		operators.Normalize{},
	}
	net := &nn.CNN{}
	train := recipe.Onto(flow.From(sources.Families{Graphs: 300})).Via(operators.Batch{}).To(sinks.Train{Net: net})
	if err := train.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	make600(append(recipe, scores.Rows{Net: net}), fmt.Sprintf("predictions of %x by %s", net.Hash(), recipe))
	// Output:
	// 6 parts, 600 rows of
	//   id int64
	//   class utf8
	//   p_torus float32
	//   p_random regular float32
	//   p_Erdős–Rényi float32
	//   p_preferential attachment float32
	//   p_small world float32
	//   p_ring of cliques float32
	//   pos int64
}
