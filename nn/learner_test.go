package nn

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

// A Learner that neither Init nor Load has set, nil or of the caller, has no
// weights: each method says so, and Init works.
func TestLearnerNotReady(t *testing.T) {
	for name, c := range map[string]*Learner{"nil": {}, "zero": {learner: &learner{}}} {
		_, predict := c.Predict(Batch{}, nil)
		_, step := c.Step(Batch{})
		_, evaluate := c.Evaluate(Batch{})
		_, _, resume := c.Resume(new(bytes.Buffer))
		for method, err := range map[string]error{
			"Predict": predict, "Step": step, "Evaluate": evaluate, "Resume": resume,
			"Checkpoint": c.Checkpoint(io.Discard, "", nil), "SetWeights": c.SetWeights(nil),
			"Save": (&CNN{Learner: *c}).Save(io.Discard),
		} {
			if !errors.Is(err, ErrNotReady) {
				t.Errorf("%s Learner: %s: %v, want ErrNotReady", name, method, err)
			}
		}
		if c.Clone() != nil || c.Hash() != "" || c.Trained() || c.AppendWeights(nil) != nil || c.Shape().W != 0 ||
			c.Seen() != 0 || c.Accuracy() != 0 {
			t.Errorf("%s Learner: a count or a weight, want none", name)
		}
		m := &CNN{Learner: *c}
		if err := m.Init(Shape{W: 10, K: 2, Attrs: 1, Classes: 2}); err != nil || m.Shape().W != 10 {
			t.Errorf("%s Learner: Init: %v", name, err)
		}
	}
}

// SetRate keeps the weights, and is the rate of the next steps and of the file.
func TestSetRate(t *testing.T) {
	for _, test := range modelCases {
		t.Run(test.name, func(t *testing.T) {
			fresh := func(o Optimizer) *Learner {
				m := test.new()
				*m.(architecture).settings().optimizer = o
				if err := m.Init(test.s); err != nil {
					t.Fatal(err)
				}
				return learnerOf(m)
			}
			for _, o := range []Optimizer{AdaGrad{Epsilon: 0.01}, Adam{WeightDecay: 0.1}, RMSprop{Rho: 0.5}} {
				slow, want := fresh(o), fresh(o.at(0.005))
				if err := slow.SetRate(0.005); err != nil {
					t.Fatal(err)
				}
				for _, l := range []*Learner{slow, want} {
					if _, err := l.step(randomBatch(test.s, 20, 1)); err != nil {
						t.Fatal(err)
					}
				}
				if slow.Hash() != want.Hash() || slow.meta[modelfile.Settings] != want.meta[modelfile.Settings] {
					t.Errorf("%+v: another model", o)
				}
			}
			if err := fresh(Adam{}).SetRate(-1); err == nil {
				t.Error("a negative rate")
			}
		})
	}
	if err := new(Learner).SetRate(1); err != ErrNotReady {
		t.Error(err)
	}
}
