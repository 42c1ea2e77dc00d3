package sinks_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// machine learns from what a recipe counts.
func machine(t *testing.T, recipe operators.Recipe, src flow.Source) *graphkernel.SVM {
	t.Helper()
	counts, class := countsIn(t, recipe.Onto(flow.From(src)))
	m := &graphkernel.SVM{C: 10, Kernel: nn.UnitMin}
	if err := m.FitCounts(context.Background(), counts, class); err != nil {
		t.Fatal(err)
	}
	return m
}

// A machine that has learned from counts is saved with its recipe, read, asked in a
// stream and about single graphs, from several goroutines.
func TestPredictorOfMachine(t *testing.T) {
	test := sources.Families{Graphs: 60, Seed: 9}
	graphs, layout := collectedGraphs(t, test)
	recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: []count.Counter{count.WL{Height: 2}}}}
	svm := machine(t, recipe, sources.Families{Graphs: 120, Seed: 4})
	file := filepath.Join(t.TempDir(), "svm.safetensors")
	if err := sinks.Save(file, svm, recipe); err != nil {
		t.Fatal(err)
	}
	p, err := sinks.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var again bytes.Buffer
	content, err := os.ReadFile(file)
	if err := errors.Join(err, sinks.Write(&again, p.Net().(nn.Saver), p.Recipe())); err != nil || !bytes.Equal(again.Bytes(), content) {
		t.Errorf("written again it is another file; %v", err)
	}
	var said []sinks.Prediction
	right := 0
	err = recipe.Onto(flow.From(test)).To(sinks.Predict{Net: svm, Each: func(q sinks.Prediction) error {
		if q.Class == q.Target {
			right++
		}
		said = append(said, q)
		return nil
	}}).Run(context.Background())
	if err != nil || right < 30 {
		t.Fatalf("%d of %d right, of 6 classes (%v)", right, len(said), err)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for i, g := range graphs {
				if a, err := p.Predict(context.Background(), g); err != nil || a.Index != said[i].Class || a.Class != layout.Classes[a.Index] {
					t.Errorf("graph %d: %+v, in the stream class %d (%v)", i, a, said[i].Class, err)
				}
			}
		})
	}
	all.Wait()
}

func TestMachineErrors(t *testing.T) {
	_, layout := collectedGraphs(t, sources.Families{Graphs: 12})
	counting := operators.Count{Of: []count.Counter{count.Labels{}}}
	recipe := operators.Recipe{operators.Expect{Layout: layout}, counting}
	trained := machine(t, recipe, sources.Families{Graphs: 60})
	few := layout
	few.Classes = few.Classes[:4]
	onMatrix := new(graphkernel.SVM)
	if err := onMatrix.Fit(context.Background(), &graphkernel.Gram{N: 2, K: []float64{1, 0, 0, 1}}, []int32{0, 1}, []int32{0, 1}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		svm    *graphkernel.SVM
		recipe operators.Recipe
		want   string
	}{
		{onMatrix, recipe, "it has not learned from counts"},
		{&graphkernel.SVM{}, recipe, nn.ErrUntrained.Error()},
		{trained, operators.Recipe{counting}, "does not describe its graphs: begin it with an operators.Expect"},
		{machine(t, recipe, sources.Families{Graphs: 60}), familiar(), "an SVM reads counts, and there are none"},
		{machine(t, recipe, sources.Families{Graphs: 60}), operators.Recipe{operators.Expect{Layout: few}, counting}, "the model has learned class 4, the data have 4 classes"},
	} {
		if err := sinks.Write(new(bytes.Buffer), test.svm, test.recipe); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	if err := sinks.Write(new(bytes.Buffer), trained, recipe); err != nil {
		t.Fatal(err)
	}
	if _, err := sinks.NewPredictor(&graphkernel.SVM{}, recipe); !errors.Is(err, nn.ErrUntrained) && !errors.Is(err, nn.ErrNotReady) {
		t.Errorf("%v", err)
	}
}
