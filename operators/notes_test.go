package operators_test

import (
	"context"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/internal/note"
	"github.com/sanflow/sanflow/sources"
)

// The statistics of a run say what happened in the normalization, at any number
// of workers.
func TestNormalizeNotes(t *testing.T) {
	var canon int64
	for _, workers := range []int{1, 3} {
		run := flow.From(sources.Families{Graphs: 30, Seed: 1}).
			Via(operators.Select{W: 10}).
			Via(operators.Assemble{K: 8}).
			Via(operators.Normalize{}).
			With(flow.Options{Workers: workers}).
			Start(context.Background())
		if err := run.Wait(); err != nil {
			t.Fatal(err)
		}
		s := run.Stats()
		notes := s.Stages[3].Notes
		if notes[note.Fields] != 300 || notes[note.CropFallback] != 0 || notes[note.CanonFallback] != 0 {
			t.Errorf("%d workers: %v", workers, s)
		}
		if workers == 1 {
			canon = notes[note.Canon]
		} else if notes[note.Canon] != canon || canon == 0 {
			t.Errorf("%d canonical orders with %d workers, %d with one", notes[note.Canon], workers, canon)
		}
		if s.Stages[1].Notes != nil {
			t.Errorf("select has notes: %v", s.Stages[1].Notes)
		}
	}
}
