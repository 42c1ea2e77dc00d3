package main

import (
	"context"

	"github.com/sanflow/sanflow/examples/internal/collection"
)

// job is a training that the store knows.
type job struct {
	collection.Training
	name string // in the store
	keep kept
	last bool // the network is wanted, not only how it did
}

// do runs a job. It is a function of the fields and the job alone.
func (j job) do(ctx context.Context, f *collection.Fields, tick func()) (*collection.Outcome, error) {
	if !j.last {
		if o, err := j.keep.finished(j.name); o != nil || err != nil {
			return o, err
		}
	}
	j.Checkpoint, j.OnEpoch = j.keep.checkpoint(j.name), tick
	o, err := j.Learn(ctx, f)
	if err != nil || j.last {
		return o, err
	}
	return o, j.keep.finish(j.name, o)
}
