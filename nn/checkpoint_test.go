package nn

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// Stopped after every step and resumed in a new model: the same weights and the
// same counts.
func TestCheckpoint(t *testing.T) {
	optimizers := []Optimizer{RMSprop{}, AdaGrad{}, Adam{WeightDecay: 0.1}}
	for _, test := range modelCases {
		t.Run(test.name, func(t *testing.T) {
			for _, o := range optimizers {
				fresh := func() *Learner {
					m := test.new()
					*m.(architecture).settings().optimizer = o
					if err := m.Init(test.s); err != nil {
						t.Fatal(err)
					}
					return learnerOf(m)
				}
				whole, parts := fresh(), fresh()
				var best []float32
				for i := range 5 {
					b := randomBatch(test.s, 20+60*(i%2), uint64(i))
					for _, c := range []*Learner{whole, parts} {
						if _, err := c.step(b); err != nil {
							t.Fatal(err)
						}
					}
					var file bytes.Buffer
					if err := parts.Checkpoint(&file, fmt.Sprint("after ", i), best); err != nil {
						t.Fatal(err)
					}
					parts = fresh()
					note, again, err := parts.Resume(&file)
					if err != nil || note != fmt.Sprint("after ", i) || !slices.Equal(again, best) {
						t.Fatalf("note %q, %d best weights of %d, %v", note, len(again), len(best), err)
					}
					if i%2 == 0 {
						best = parts.AppendWeights(nil)
					}
				}
				if parts.Hash() != whole.Hash() || parts.Seen() != whole.Seen() || parts.steps != whole.steps ||
					parts.Accuracy() != whole.Accuracy() || parts.lossSum != whole.lossSum || parts.abs != whole.abs {
					t.Errorf("%+v: %s after %d rows, want %s after %d", o, parts.Hash(), parts.Seen(), whole.Hash(), whole.Seen())
				}
			}
		})
	}
}

func TestResumeErrors(t *testing.T) {
	fresh := func(c CNN, s Shape) *CNN {
		t.Helper()
		c.Maps1, c.Maps2 = 2, 2
		if err := c.Init(s); err != nil {
			t.Fatal(err)
		}
		return &c
	}
	c := fresh(CNN{Seed: 1, Hidden: 3}, small)
	if _, err := c.step(smallBatch(4)); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := c.Checkpoint(&file, "", c.AppendWeights(nil)); err != nil {
		t.Fatal(err)
	}
	other := small
	other.Attrs = 5
	for _, test := range []struct {
		into *CNN
		want string
	}{
		{fresh(CNN{Seed: 2, Hidden: 3}, small), "another settings"},
		{fresh(CNN{Seed: 1, Hidden: 3, Optimizer: Adam{}}, small), "another settings"},
		{fresh(CNN{Seed: 1, Hidden: 7}, small), "another settings"},
		{fresh(CNN{Seed: 1, Hidden: 3}, other), "another shape of the data"},
	} {
		hash := test.into.Hash()
		_, _, err := test.into.Resume(bytes.NewReader(file.Bytes()))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, test.want)
		}
		if test.into.Hash() != hash {
			t.Error("a model has changed in spite of an error")
		}
	}
	if _, err := loadModel(bytes.NewReader(file.Bytes())); err == nil || !strings.Contains(err.Error(), `"checkpoint of cnn"`) {
		t.Errorf("a checkpoint as a model: %v", err)
	}
	var model bytes.Buffer
	if err := c.Save(&model); err != nil {
		t.Fatal(err)
	}
	if _, _, err := fresh(CNN{Seed: 1, Hidden: 3}, small).Resume(&model); err == nil || !strings.Contains(err.Error(), `another model: "cnn"`) {
		t.Errorf("a model as a checkpoint: %v", err)
	}
	if err := c.Checkpoint(io.Discard, "", make([]float32, 3)); err == nil || !strings.Contains(err.Error(), "3 weights, the model has ") {
		t.Errorf("the best weights of another model: %v", err)
	}
	none := new(CNN)
	if err := none.Checkpoint(io.Discard, "", nil); !errors.Is(err, ErrNotReady) {
		t.Error(err)
	}
	if _, _, err := none.Resume(&file); !errors.Is(err, ErrNotReady) {
		t.Error(err)
	}
}
