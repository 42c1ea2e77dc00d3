package otel_test

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/otel"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sources"
)

// A run is a span within the caller's, with one for each stage in it, and says why it failed.
func TestTrace(t *testing.T) {
	for _, w := range []int{5, -1} {
		spans := tracetest.NewSpanRecorder()
		tracer := trace.NewTracerProvider(trace.WithSpanProcessor(spans)).Tracer("test")
		ctx, outer := tracer.Start(context.Background(), "outer")
		run := flow.From(sources.Families{Graphs: 30}).Via(operators.Select{W: w}).Start(ctx)
		err := otel.Trace(ctx, tracer, run)
		if !errors.Is(err, run.Wait()) || (err == nil) != (w > 0) {
			t.Fatal(err)
		}
		outer.End()
		ended := spans.Ended()
		root := ended[len(ended)-2]
		if root.Name() != "sanflow.run" || root.Parent().SpanID() != outer.SpanContext().SpanID() || (root.Status().Code == codes.Error) != (err != nil) {
			t.Errorf("w = %d: %s, %v", w, root.Name(), root.Status())
		}
		stages := ended[:len(ended)-2]
		if len(stages) != len(run.Stats().Stages) {
			t.Errorf("w = %d: %d spans for %d stages", w, len(stages), len(run.Stats().Stages))
		}
		for i, s := range stages {
			if s.Name() != run.Stats().Stages[i].Stage || s.Parent().SpanID() != root.SpanContext().SpanID() || s.StartTime() != root.StartTime() || s.EndTime() != root.EndTime() {
				t.Errorf("w = %d: %s", w, s.Name())
			}
			for _, a := range s.Attributes() {
				if a.Key == "rows_out" && a.Value.AsInt64() != run.Stats().Stages[i].RowsOut {
					t.Errorf("%s has %d rows", s.Name(), a.Value.AsInt64())
				}
			}
		}
	}
}
