package command

import (
	"slices"
	"testing"
	"time"

	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/live"
)

// The page of a training names the system, how many there are, the time that is left and the score that was asked for.
func TestStatus(t *testing.T) {
	begin := time.Now()
	s := &status{score: validation.ROC, until: begin.Add(time.Minute)}
	s.at("linear", 3, 1, 20, begin) // how long the first epoch took is not known
	s.at("linear", 3, 5, 20, begin.Add(4*time.Second))
	want := []live.Fact{{Name: "system", Text: "linear, 1 of 3"}, {Name: "epoch", Text: "5 of 20"}, {Name: "left for it, about", X: 15, Unit: "s"}, {Name: "left of -budget", X: 56, Unit: "s"}}
	if got := s.About().Facts; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	s.tried(choose.Tried{Name: "linear", Score: 0.9312})
	s.at("words", 3, 1, 1, begin.Add(2*time.Minute))
	want = []live.Fact{{Name: "system", Text: "words, 2 of 3"}, {Name: "epoch", Text: "1 of 1"}, {Name: "left of -budget", Unit: "s"}, {Name: "auc of linear, validation", Text: "0.9312"}}
	if got := s.About().Facts; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
