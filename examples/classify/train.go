package main

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// job is one training: the network sees the rows of train, epoch by epoch, and
// is tested on those of test after each.
type job struct {
	split
	epochs, batch int
	seed          uint64
	kind          string // of the model
	pretrain      string // what teaches its first layer
	workers       int    // of the model

	name string // in the store
	keep *store // nil: nothing is kept
	last bool   // the network is wanted, not only how it did
}

// point is a test after an epoch.
type point struct {
	correct int
	loss    float64 // summed over the rows
}

// outcome is what came of a job.
type outcome struct {
	curve    []point // one per epoch
	net      nn.Noted
	scale    *operators.Standardize
	examples int
	seconds  float64 // in training, tests not counted
}

// do runs a job. It is a function of the fields and the job alone.
func (j job) do(ctx context.Context, f *fieldSet, tick func()) (*outcome, error) {
	if !j.last {
		if o, err := j.keep.finished(j.name); o != nil || err != nil {
			return o, err
		}
	}
	o, err := j.learn(ctx, f, tick)
	if err != nil || j.last {
		return o, err
	}
	return o, j.keep.finish(j.name, o)
}

// learn runs a job that has not ended before.
func (j job) learn(ctx context.Context, f *fieldSet, tick func()) (*outcome, error) {
	train, err := take(f.record, j.train)
	if err != nil {
		return nil, err
	}
	defer train.Release()
	test, err := take(f.record, j.test)
	if err != nil {
		return nil, err
	}
	defer test.Release()

	o := &outcome{net: j.newNet(f)}
	scale, err := scaling(train)
	if err != nil {
		return nil, err
	}
	if scale != nil {
		// The moments are those of the training rows: the test rows have no say.
		for _, rec := range []*arrow.Record{&train, &test} {
			scaled, err := scaled(ctx, *rec, *scale)
			if err != nil {
				return nil, err
			}
			(*rec).Release()
			*rec = scaled
		}
		o.scale = scale
	}

	if j.pretrain != "none" {
		if err := j.teach(ctx, o.net.(*nn.CNN), train); err != nil {
			return nil, err
		}
	}
	valid := inMemory(test)
	fit, err := sinks.Fit{
		Net: o.net, Epochs: j.epochs, Batch: j.batch, Seed: j.seed,
		Valid: &valid, Last: true, // the protocols choose among all epochs
		OnEpoch:    func(sinks.Epoch) error { tick(); return nil },
		Checkpoint: j.keep.checkpoint(j.name),
	}.Run(ctx, inMemory(train))
	for _, e := range fit.Epochs {
		o.curve = append(o.curve, point{e.Valid.Correct, e.Valid.Loss * float64(e.Valid.Rows)})
		o.examples += e.Train.Rows
		o.seconds += e.Took.Seconds()
	}
	return o, err
}

// inMemory is a pipeline that begins with a record, and works on one goroutine:
// it is the jobs that run side by side.
func inMemory(rec arrow.Record) flow.Pipeline {
	return flow.From(sources.Records{Records: []arrow.Record{rec}}).With(flow.Options{Workers: 1})
}

// newNet is the network of the paper, or what else -model-kind names. Like the
// paper it does without dropout on graphs that have no attributes, which are the
// social networks.
func (j job) newNet(f *fieldSet) nn.Noted {
	dropout := 0.0 // the default
	if f.degree {
		dropout = -1
	}
	switch j.kind {
	case "pslr":
		return &nn.PSLR{Workers: j.workers}
	case "gru":
		return &nn.GRU{Seed: j.seed, Dropout: dropout, Workers: j.workers}
	}
	return &nn.CNN{Seed: j.seed, Dropout: dropout, Workers: j.workers}
}

func take(rec arrow.Record, rows []int32) (arrow.Record, error) {
	refs := make([]record.Ref, len(rows))
	for i, row := range rows {
		refs[i].Row = row
	}
	return record.Take(memory.DefaultAllocator, []arrow.Record{rec}, refs)
}

// scaling returns how the continuous channels are to be scaled, or nil where
// there are none.
func scaling(rec arrow.Record) (*operators.Standardize, error) {
	if !rec.Schema().HasField(record.Nodes) {
		return nil, nil
	}
	mean, std, err := operators.NodeMoments(rec)
	return &operators.Standardize{Mean: mean, Std: std}, err
}

func scaled(ctx context.Context, rec arrow.Record, s operators.Standardize) (arrow.Record, error) {
	var out sinks.Collect
	defer out.Release()
	if err := inMemory(rec).Via(s).To(&out).Run(ctx); err != nil {
		return nil, err
	}
	made := out.Records()[0]
	made.Retain()
	return made, nil
}
