package nn

import (
	"bytes"
	"errors"
	"io"
	"testing"
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
