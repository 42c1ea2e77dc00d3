package beam_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/beam"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/part"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/ipc"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sinks/scores"
	"github.com/sanflow/sanflow/sources"
	in "github.com/sanflow/sanflow/sources/parquet"
)

func TestMain(m *testing.M) {
	sdk.Init()
	os.Exit(m.Run())
}

// Sixty parts of fields, and of predictions, on Prism have the bytes of one process.
func TestPrism(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	graphs, model := filepath.Join(dir, "graphs.arrow"), filepath.Join(dir, "model.safetensors")
	recipe := operators.Recipe{
		operators.Channel{By: labeling.NormalizedDegree}, operators.Select{W: 6, By: labeling.Betweenness},
		operators.Assemble{K: 5}, operators.Normalize{},
	}
	net := new(nn.CNN)
	net.Metadata()["recipe"] = recipe.String()
	src := sources.Families{Graphs: 1200}
	for _, err := range []error{
		flow.From(src).To(ipc.Sink{Path: graphs}).Run(ctx),
		recipe.Onto(flow.From(src)).Via(operators.Batch{}).To(sinks.Train{Net: net}).Run(ctx),
		nn.SaveFile(model, net),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	plan := part.Plan{Recipe: recipe.String(), Input: "families", Parts: part.Cut(1200, 60)}
	fields := &beam.FieldsFn{Plan: plan, Graphs: graphs, Out: filepath.Join(dir, "fields"), Recipe: recipe.String()}
	predict := &beam.PredictFn{Plan: plan, Graphs: graphs, Out: filepath.Join(dir, "predictions"), Model: model}
	p, s := sdk.NewPipelineWithRoot()
	numbers := beam.Parts(s, plan)
	sdk.ParDo(s, fields, numbers)
	sdk.ParDo(s, predict, numbers)
	if _, err := prism.Execute(ctx, p); err != nil {
		t.Fatal(err)
	}
	if m, err := fields.Finish(ctx); err != nil || m.Rows != 1200 || len(m.Files) != 60 {
		t.Fatalf("fields: %v, %v", m, err)
	}
	if m, err := predict.Finish(ctx); err != nil || m.Rows != 1200 || len(m.Files) != 60 {
		t.Fatalf("predictions: %v, %v", m, err)
	}
	for out, r := range map[string]operators.Recipe{fields.Out: recipe, predict.Out: append(recipe, scores.Rows{Net: net})} {
		one := part.Job{
			Plan: plan, Out: file.Dir{Path: out + "-one"},
			Pipeline: func(in part.Input) flow.Pipeline { return r.Onto(flow.From(part.Rows{Source: src, Input: in})) },
			Sink:     func(w io.Writer) flow.Sink { return parquet.Sink{W: w} },
		}
		if err := one.Run(ctx, part.Shard{}, nil); err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			name := fmt.Sprintf("part-%05d.parquet", i)
			got, err := os.ReadFile(filepath.Join(out, name))
			want, err2 := os.ReadFile(filepath.Join(out+"-one", name))
			if err != nil || err2 != nil || string(got) != string(want) || len(got) == 0 {
				t.Errorf("%s of %s has other bytes than that of one process; %v, %v", name, filepath.Base(out), err, err2)
			}
		}
	}
}

// TestRootsOfGraphs: answers about roots have the ids GRAPH/ROOT.
func TestRootsOfGraphs(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	graphs, model := filepath.Join(dir, "graphs.arrow"), filepath.Join(dir, "model.safetensors")
	recipe := operators.Recipe{operators.Channel{By: labeling.NormalizedDegree}, operators.Select{W: 2}, operators.Assemble{K: 4}, operators.Normalize{}, operators.PerRoot{}}
	net := new(nn.PSLR)
	net.Metadata()["recipe"] = recipe.String()
	src := sources.Families{Graphs: 6}
	var want []string
	for _, err := range []error{
		flow.From(src).To(ipc.Sink{Path: graphs}).Run(ctx),
		recipe.Onto(flow.From(src)).Via(operators.Batch{}).To(sinks.Train{Net: net}).Run(ctx),
		nn.SaveFile(model, net),
		recipe.Onto(flow.From(src)).To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
			want = append(want, fmt.Sprintf("%d/%d", p.Graph, p.Root))
			return nil
		}}).Run(ctx),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	plan := part.Plan{Recipe: recipe.String(), Input: "families", Parts: part.Cut(6, 1)}
	predict := &beam.PredictFn{Plan: plan, Graphs: graphs, Out: filepath.Join(dir, "predictions"), Model: model}
	if err := errors.Join(predict.Setup(ctx), predict.ProcessElement(ctx, 0, func(string) {})); err != nil {
		t.Fatal(err)
	}
	r, err := in.Table{Path: filepath.Join(predict.Out, "part-00000.parquet")}.OpenTable(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Choose([]int{0})
	batch, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range batch.Values[0].Spans[:batch.Rows] {
		got = append(got, string(batch.Values[0].Text[v.From:v.To]))
	}
	if len(got) != 12 || !slices.Equal(got, want) {
		t.Errorf("the ids are %q, want %q", got, want)
	}
}
