package choose_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// What is chosen has the temperature that what it says of the validation rows has, however
// it learns. Its decisions are those of the model, and its file does not depend on the
// workers.
func TestCalibrated(t *testing.T) {
	defer leak.VerifyNone(t)
	ctx := t.Context()
	all := must(choose.Collect(ctx, flow.From(sources.Families{Graphs: 60})))
	defer all.Release()
	train, valid, _, err := all.Deal(nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	rows := func(part []int32) choose.Rows {
		recs := must(all.Rows(part))
		t.Cleanup(func() { choose.Release(recs) })
		return choose.GraphRows(recs)
	}
	learn, choosing := rows(train), rows(valid)
	// says is what a model says of the validation rows.
	says := func(net nn.Predictor, r operators.Recipe) *sinks.Answers {
		said := new(sinks.Answers)
		if err := choosing(r).To(sinks.Predict{Net: net, Each: said.Add}).Run(ctx); err != nil {
			t.Fatal(err)
		}
		return said
	}
	systems := must(choose.Pick(choose.Graphs(all.Layout, all.Nodes), []string{"linear"}))
	systems[0].Epochs = 3
	var files [][]byte
	for _, workers := range []int{1, 3} {
		chosen, err := choose.Choice{Systems: systems, Classes: all.Layout.Classes, Train: learn, Valid: choosing, Seed: 1, Workers: workers}.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := sinks.Write(&file, chosen.Net, chosen.Recipe); err != nil {
			t.Fatal(err)
		}
		files = append(files, file.Bytes())
		after, note := says(chosen.Net, chosen.Recipe), chosen.Net.Metadata()["temperature"]
		delete(chosen.Net.Metadata(), "temperature")
		before := says(chosen.Net, chosen.Recipe)
		if want := fmt.Sprint(float64(before.Temperature())); note != want || note == "1" {
			t.Errorf("temperature %q, want %q", note, want)
		}
		top := func(a *sinks.Answers, row int) int {
			probs := a.Probs[row*a.Classes:][:a.Classes]
			return slices.Index(probs, slices.Max(probs))
		}
		for row := range before.Class {
			if is, was := top(after, row), top(before, row); is != was {
				t.Errorf("row %d is of class %d, and was of class %d", row, is, was)
			}
		}
		if now, was := must(validation.LogLoss.Of(&after.Answers)), must(validation.LogLoss.Of(&before.Answers)); now >= was {
			t.Errorf("loss %v, and was %v", now, was)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the file depends on the workers")
	}
}
