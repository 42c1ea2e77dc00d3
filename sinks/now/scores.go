package now

import (
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/nn/drift"
	"github.com/sanflow/sanflow/nn/validation"
)

// A Learned lists the last windows and alarms, at most so many.
const (
	mostWindows = 100
	mostAlarms  = 32
)

var windowLessons = 1000 // number of class events of a Window; tests set fewer

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
	Left       int      // lessons until it is full
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

// Each lesson is answered by the learner, by the loaded model and by the most frequent class.
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
	Class []int32              // class of each lesson
	Probs [answerers][]float32 // (Lessons, classes)
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
	t.Class = append(t.Class, int32(class))
	for by, probs := range [][]float32{said, loaded, shares} {
		t.Probs[by] = append(t.Probs[by], probs...)
	}
	wrong := 1.0
	if slices.Index(said, slices.Max(said)) == class { // the first of equal probabilities counts
		wrong = 0
	}
	if a, ok := s.Errors.Add(wrong); ok {
		alarm = &Alarm{position, a.Before, a.After, a.Width}
		s.Alarms++
		s.LastAlarms = last(append(s.LastAlarms, *alarm), mostAlarms)
	}
	if t.Lessons == windowLessons {
		s.Windows = last(append(s.Windows, t.scored(len(said), positive)), mostWindows)
		s.Tally = tally{}
	}
	return alarm
}

// last returns a copy of the last values, up to most of them.
func last[T any](all []T, most int) []T { return slices.Clone(all[max(0, len(all)-most):]) }

// scored returns the window with the scores of its lessons.
func (t *tally) scored(classes, positive int) Window {
	w := t.Window
	for by, s := range []*Scores{&w.Learner, &w.Loaded, &w.Majority} {
		a := &validation.Answers{Classes: classes, Class: t.Class, Probs: t.Probs[by]}
		of := func(m validation.Measure) *float64 {
			x, err := m.Of(a)
			if err != nil { // there are no lessons, or all or none are of the positive class
				return nil
			}
			return &x
		}
		if len(t.Class) > 0 {
			s.Accuracy, s.LogLoss = *of(validation.Accuracy), *of(validation.LogLoss)
		}
		if by < byMajority {
			s.AUC, s.AP = of(validation.ROC.About(positive)), of(validation.Precision.About(positive))
		}
	}
	return w
}

// stats returns a copy of what has been learned, with the open window; nil without a learner.
func (s *learner) stats() *Learned {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.state.Learned
	is.Now = s.state.Tally.scored(len(s.state.Counts), s.positive)
	is.Left = windowLessons - is.Now.Lessons
	return &is
}
