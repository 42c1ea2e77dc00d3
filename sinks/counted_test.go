package sinks_test

import (
	"context"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
)

// countsIn returns the counts and the classes of all rows of a stream.
func countsIn(t *testing.T, p flow.Pipeline) (*nn.Counts, []int32) {
	t.Helper()
	var out sinks.Collect
	defer out.Release()
	if err := p.To(&out).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	all, class := &nn.Counts{}, []int32(nil)
	for _, rec := range out.Records() {
		counts, err := sinks.CountsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		for row := range counts.Len() {
			all.Append(counts.Row(row))
		}
		of, err := record.Values[int32](rec, record.Target)
		if err != nil {
			t.Fatal(err)
		}
		class = append(class, of...)
	}
	return all, class
}
