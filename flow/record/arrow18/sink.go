package arrow18

import (
	"context"
	"errors"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	arrow15 "github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
)

// Sink hands records to a program that uses arrow-go v18, in place.
type Sink struct {
	// Begin, if set, is called with the schema before there is a record.
	Begin func(*arrow.Schema) error
	// Write borrows a record and retains the parts that it keeps.
	Write func(context.Context, arrow.RecordBatch) error
	// End, if set, is called after the last record, with the error that ended the
	// run, or nil if the stream is complete.
	End func(failed error) error
}

var _ flow.Sink = Sink{}

// String names the sink, for the plan of a pipeline.
func (s Sink) String() string { return "arrow18" }

// Open translates the schema.
func (s Sink) Open(in *arrow15.Schema) (flow.Writer, error) {
	if s.Write == nil {
		return nil, errors.New("arrow18: no Write")
	}
	schema, err := ExportSchema(in)
	if err == nil && s.Begin != nil {
		err = s.Begin(schema)
	}
	if err != nil {
		return nil, err
	}
	return writer{s, schema}, nil
}

type writer struct {
	Sink
	schema *arrow.Schema
}

func (w writer) Write(ctx context.Context, rec arrow15.Record) error {
	out, err := export(rec, w.schema)
	if err != nil {
		return err
	}
	defer out.Release()
	return w.Sink.Write(ctx, out)
}

func (w writer) Close(failed error) error {
	if w.End == nil {
		return nil
	}
	return w.End(failed)
}

// Records runs a pipeline and gives its records, each valid until the next one,
// to a loop:
//
//	for rec, err := range arrow18.Records(ctx, pipeline) {
//		if err != nil {
//			return err
//		}
//		…
//	}
//
// An error comes last. If the loop ends early, the run ends before the code behind the loop
// continues.
func Records(ctx context.Context, p flow.Pipeline) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		records, taken, left := make(chan arrow.RecordBatch), make(chan struct{}), make(chan struct{})
		done := make(chan error, 1)
		go func() {
			done <- p.To(Sink{Write: func(ctx context.Context, rec arrow.RecordBatch) error {
				select {
				case records <- rec:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				select { // the loop borrows the record until it asks for the next, or ends
				case <-taken:
				case <-left:
				}
				return nil
			}}).Run(ctx)
			close(done)
		}()
		defer func() { // runs also if the loop panics
			cancel()
			close(left)
			<-done
		}()
		for {
			select {
			case rec := <-records:
				if !yield(rec, nil) {
					return
				}
				taken <- struct{}{}
			case err := <-done:
				if err != nil {
					yield(nil, err)
				}
				return
			}
		}
	}
}
