// Package beam makes parts on Apache Beam: the fields of graphs ([FieldsFn]) or the predictions of a
// saved model ([PredictFn]), each an ordinary DoFn over part.Job.Do. A part that is made twice has the
// same bytes, so bundles may be retried, and run twice, as the runner likes.
//
//	plan := part.Plan{Recipe: recipe, Input: digest, Parts: part.Cut(rows, 60)}
//	fn := &beam.FieldsFn{Plan: plan, Graphs: "/shared/graphs.arrow", Out: "/shared/fields", Recipe: recipe}
//	p, s := sdk.NewPipelineWithRoot()
//	sdk.ParDo(s, fn, beam.Parts(s, plan))
//	err := beamx.Run(ctx, p)        // --runner=prism, flink or dataflow
//	_, err = fn.Finish(ctx)         // the manifest, when all parts are there
//
// A program calls sdk.Init first, as each program of Beam does. Every worker maps the file of graphs,
// so it reads the pages of its parts alone.
//
// # Runners
//
// The tests run on Prism, in process, with loopback workers. Prism does not retry a bundle that
// failed: the run ends, and the next one makes the parts that are absent. On Flink
// (--runner=universal --endpoint=HOST:8099) and Dataflow (--runner=dataflow --project --region
// --staging_location) the workers are other machines: Graphs and Out are on a file system that all
// of them mount, or OpenBucket opens an object store, and the workers copy Graphs to a local file.
// No Flink and no Dataflow was at hand: neither was tried.
package beam

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strconv"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/part"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sinks/scores"
	"github.com/sanflow/sanflow/sources"
)

func init() {
	register.DoFn3x1[context.Context, int, func(string), error](&FieldsFn{})
	register.DoFn3x1[context.Context, int, func(string), error](&PredictFn{})
	register.Emitter1[string]()
}

// OpenBucket opens the Out of a DoFn, on each worker. The default takes a directory. A program sets
// it in an init function, for instance to a function around bucket.Open.
var OpenBucket = func(_ context.Context, out string) (file.Bucket, error) { return file.Dir{Path: out}, nil }

// Parts is the numbers of the parts of a plan, spread over the workers.
func Parts(s sdk.Scope, p part.Plan) sdk.PCollection {
	numbers := make([]int, len(p.Parts))
	for i := range numbers {
		numbers[i] = i
	}
	return sdk.Reshuffle(s, sdk.CreateList(s, numbers))
}

// FieldsFn makes the part of each number, a Parquet file of fields, and emits its entry of the
// manifest in JSON.
type FieldsFn struct {
	Plan   part.Plan
	Graphs string // an Arrow file of graphs (sources.Mapped)
	Out    string // the bucket of the parts
	Recipe string // text of an operators.Recipe, which makes fields of graphs

	job *part.Job
}

// Setup checks the plan, and writes it if Out has none.
func (f *FieldsFn) Setup(ctx context.Context) error {
	recipe, err := operators.ParseRecipe(f.Recipe)
	if err == nil {
		f.job, err = begin(ctx, f.Plan, f.Graphs, f.Out, recipe)
	}
	return err
}

// ProcessElement makes part i.
func (f *FieldsFn) ProcessElement(ctx context.Context, i int, emit func(string)) error {
	return do(ctx, f.job, i, emit)
}

// Finish writes the manifest. If parts are missing, the error is part.ErrAbsent.
func (f *FieldsFn) Finish(ctx context.Context) (*manifest.Manifest, error) {
	if err := f.Setup(ctx); err != nil {
		return nil, err
	}
	return f.job.Finish(ctx)
}

// PredictFn makes the part of each number, a Parquet file of answers (scores.Rows), and emits its
// entry of the manifest in JSON. The id of a row is the number of its graph; of a root, if the recipe
// has operators.PerRoot, the text GRAPH/ROOT, with the id of the root or its number.
type PredictFn struct {
	Plan   part.Plan
	Graphs string
	Out    string
	Model  string // the file of a model, with its recipe

	job *part.Job
}

// Setup loads the model, checks the plan, and writes it if Out has none.
func (f *PredictFn) Setup(ctx context.Context) error {
	r, err := os.Open(f.Model)
	if err != nil {
		return err
	}
	defer r.Close()
	net, err := nn.LoadPredictor(r)
	if err != nil {
		return err
	}
	recipe, err := operators.ParseRecipe(nn.MetadataOf(net)["recipe"])
	if err != nil {
		return err
	}
	rows := scores.Rows{Net: net}
	if slices.ContainsFunc(recipe, func(o flow.Operator) bool { _, is := o.(operators.PerRoot); return is }) {
		rows.IDs = graph.StringIDs
		rows.ID = func(p sinks.Prediction) []string {
			return []string{strconv.FormatInt(p.Graph, 10) + "/" + scores.RootID(p)[0]}
		}
	}
	f.job, err = begin(ctx, f.Plan, f.Graphs, f.Out, append(recipe, rows))
	return err
}

// ProcessElement makes part i.
func (f *PredictFn) ProcessElement(ctx context.Context, i int, emit func(string)) error {
	return do(ctx, f.job, i, emit)
}

// Finish writes the manifest. If parts are missing, the error is part.ErrAbsent.
func (f *PredictFn) Finish(ctx context.Context) (*manifest.Manifest, error) {
	if err := f.Setup(ctx); err != nil {
		return nil, err
	}
	return f.job.Finish(ctx)
}

func begin(ctx context.Context, p part.Plan, graphs, out string, r operators.Recipe) (*part.Job, error) {
	bucket, err := OpenBucket(ctx, out)
	if err != nil {
		return nil, err
	}
	j := &part.Job{
		Plan: p, Out: bucket,
		Pipeline: func(in part.Input) flow.Pipeline {
			return r.Onto(flow.From(part.Rows{Source: sources.Mapped{Path: graphs}, Input: in}))
		},
		Sink: func(w io.Writer) flow.Sink { return parquet.Sink{W: w} },
	}
	return j, j.Begin(ctx)
}

func do(ctx context.Context, j *part.Job, i int, emit func(string)) error {
	f, err := j.Do(ctx, i)
	if err != nil {
		return err
	}
	text, err := json.Marshal(f)
	emit(string(text))
	return err
}
