package otel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/sanflow/sanflow/flow"
)

// Run is implemented by *flow.Running.
type Run interface {
	Statistics
	Wait() error
}

// Trace waits for a run, and returns its error. It makes a span sanflow.run of it, within the span
// of ctx, if there is one, and at its end a span for each stage, named after the stage, with its
// counts: rows_in, rows_out, refused, and busy, waiting and blocked in seconds. Attributes are
// added to all of them. Begin it as soon as the run has been started:
//
//	err := otel.Trace(ctx, provider.Tracer("myprogram"), pipeline.Start(ctx))
func Trace(ctx context.Context, tracer trace.Tracer, run Run, attributes ...attribute.KeyValue) error {
	begin := time.Now()
	ctx, span := tracer.Start(ctx, "sanflow.run", trace.WithTimestamp(begin), trace.WithAttributes(attributes...))
	err := run.Wait()
	end, s := time.Now(), run.Stats()
	for _, t := range s.Stages {
		_, of := tracer.Start(ctx, t.Stage, trace.WithTimestamp(begin), trace.WithAttributes(attributes...), trace.WithAttributes(counts(t)...))
		of.End(trace.WithTimestamp(end))
	}
	span.SetAttributes(attribute.Int64("done", s.Done))
	if err != nil {
		span.RecordError(err, trace.WithTimestamp(end))
		span.SetStatus(codes.Error, err.Error())
	}
	span.End(trace.WithTimestamp(end))
	return err
}

func counts(t flow.StageStats) []attribute.KeyValue {
	all := []attribute.KeyValue{
		attribute.Int64("rows_in", t.RowsIn), attribute.Int64("rows_out", t.RowsOut), attribute.Int64("refused", t.Refused),
		attribute.Float64("busy", t.Busy.Seconds()), attribute.Float64("waiting", t.Waiting.Seconds()), attribute.Float64("blocked", t.Blocked.Seconds()),
	}
	for event, n := range t.Notes {
		all = append(all, attribute.Int64(event, n))
	}
	return all
}
