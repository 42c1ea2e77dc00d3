package now

import (
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/nn/drift"
	"github.com/sanflow/sanflow/nn/validation"
)

// Sizes of the scores.
const (
	mostWindows = 100 // of Learned, the last ones
	mostAlarms  = 32  // of Learned, the last ones
)

var windowLessons = 1000 // class events of a Window; tests have fewer

// Learned is what has been learned, and how well the model answered before it learned.
type Learned struct {
	Lessons    int64    // class events that the model has been tested on, and has learned from
	LeftOut    int64    // class events that could not be learned from
	Why        string   // the error of the last of these
	Position   int64    // of the last lesson
	Loaded     int64    // the position at which the model file was loaded
	Answers    int64    // the position up to which the model that answers has learned
	Checkpoint int64    // the position of the last checkpoint
	Windows    []Window // the last full windows, the oldest first
	Now        Window   // the one that is not full
	Alarms     int64
	LastAlarms []Alarm // the oldest first
}

// Window is the scores of some lessons.
type Window struct {
	From, Until int64 // positions of the first and of the last
	Lessons     int
	Learner     Scores // of the model that learns
	Loaded      Scores // of the model that was loaded, which does not learn
	Majority    Scores // of the shares of the classes in the lessons before
}

// Scores are measures of answers.
type Scores struct {
	Accuracy float64
	LogLoss  float64 // mean, in nats
	// AUC and AP are about the positive class of two, nil if the window lacks one, and of Majority.
	AUC, AP *float64
}

// Alarm is a rise of the share of wrong answers of the model that learns.
type Alarm struct {
	Position      int64   // of the lesson
	Before, After float64 // shares
	Lessons       int64   // since the rise
}

// String is a line about the alarm.
func (a Alarm) String() string {
	return fmt.Sprintf("drift at position %d: the share of wrong answers rose from %.3f to %.3f", a.Position, a.Before, a.After)
}

// The answers that are scored beside each other.
const (
	byLearner = iota
	byLoaded
	byMajority
	answerers
)

// scoring adds up answers. A checkpoint has it as JSON.
type scoring struct {
	Learned
	Counts []int64 // lessons of each class
	Errors drift.ADWIN
	Tally  tally
}

// tally is a window that is not full.
type tally struct {
	Window
	Right      [answerers]int
	Loss       [answerers]float64
	Score      [byMajority][]float64 // of two classes, the probabilities of the positive one
	IsPositive []bool
}

// add scores the answers of the models to a lesson. It returns an alarm, or nil.
func (s *scoring) add(position int64, class, positive int, said, loaded []float32) (alarm *Alarm) {
	if s.Counts == nil {
		s.Counts = make([]int64, len(said))
	}
	shares, n := make([]float32, len(s.Counts)), int64(len(s.Counts))
	for _, k := range s.Counts {
		n += k
	}
	for c, k := range s.Counts {
		shares[c] = float32(float64(k+1) / float64(n))
	}
	s.Counts[class]++
	t := &s.Tally
	if t.Lessons == 0 {
		t.From = position
	}
	t.Until = position
	t.Lessons++
	wrong := 1.0
	for by, probs := range [][]float32{said, loaded, shares} {
		if slices.Index(probs, slices.Max(probs)) == class { // the first of equals
			if t.Right[by]++; by == byLearner {
				wrong = 0
			}
		}
		t.Loss[by] -= math.Log(max(float64(probs[class]), 1e-30))
		if positive >= 0 && by < byMajority {
			t.Score[by] = append(t.Score[by], float64(probs[positive]))
		}
	}
	t.IsPositive = append(t.IsPositive, class == positive)
	if a, ok := s.Errors.Add(wrong); ok {
		alarm = &Alarm{position, a.Before, a.After, a.Width}
		s.Alarms++
		s.LastAlarms = last(append(s.LastAlarms, *alarm), mostAlarms)
	}
	if t.Lessons == windowLessons {
		s.Windows = last(append(s.Windows, t.scored(positive)), mostWindows)
		s.Tally = tally{}
	}
	return alarm
}

// last is the last of some values.
func last[T any](all []T, most int) []T { return slices.Clone(all[max(0, len(all)-most):]) }

// scored is the window with the scores of its lessons.
func (t *tally) scored(positive int) Window {
	w := t.Window
	for by, s := range []*Scores{&w.Learner, &w.Loaded, &w.Majority} {
		n := float64(max(1, t.Lessons))
		s.Accuracy, s.LogLoss = float64(t.Right[by])/n, t.Loss[by]/n
		if positive < 0 || by == byMajority || !slices.Contains(t.IsPositive, true) || !slices.Contains(t.IsPositive, false) {
			continue
		}
		auc, ap := validation.AUC(t.Score[by], t.IsPositive), validation.AveragePrecision(t.Score[by], t.IsPositive)
		s.AUC, s.AP = &auc, &ap
	}
	return w
}

// stats is what has been learned.
func (s *learner) stats() *Learned {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.state.Learned
	is.Now = s.state.Tally.scored(s.positive)
	return &is
}
