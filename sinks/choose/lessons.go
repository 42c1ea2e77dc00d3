package choose

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
)

// Lesson is a question whose class has come.
type Lesson struct {
	Question *Question
	Class    int32
}

// Tells reports whether a change sets a class.
func (c *Change) Tells() bool { return c.class >= 0 }

// Lesson implements Changing. A question has all that is known of the rows before a row, and nothing of its class. A class that the row had teaches nothing.
func (o *OpenHistory) Lesson(c *Change) (*Lesson, error) {
	if c.class == c.before {
		return nil, nil
	}
	return lessonOf(o, c)
}

// Lesson implements Changing. A question has nothing of the classes that events tell. A class teaches each time it is told, but for a node that is not there.
func (o *OpenNodes) Lesson(c *Change) (*Lesson, error) {
	o.mu.RLock()
	_, there := o.nodeOf(c.Event.ID)
	o.mu.RUnlock()
	if !there {
		return nil, nil
	}
	return lessonOf(o, c)
}

// lessonOf is the lesson of a change that has been made, nil where it tells no class.
func lessonOf(o Changing, c *Change) (*Lesson, error) {
	if !c.Tells() {
		return nil, nil
	}
	asked, _, err := o.Ask([]string{c.Event.ID}, nil)
	if err != nil {
		return nil, err
	}
	return &Lesson{asked[0], c.class}, nil
}

// Learner implements Changing.
func (o *OpenHistory) Learner(rate float64) (*sinks.RowLearner, error) { return o.rows.Learner(rate) }

// Learner implements Changing.
func (o *OpenNodes) Learner(rate float64) (*sinks.RowLearner, error) { return o.rows.Learner(rate) }

// Learn implements Changing.
func (o *OpenHistory) Learn(ctx context.Context, l *sinks.RowLearner, lesson *Lesson) (said, loaded []float32, err error) {
	return learn(ctx, l, o.record, lesson)
}

// Learn implements Changing.
func (o *OpenNodes) Learn(ctx context.Context, l *sinks.RowLearner, lesson *Lesson) (said, loaded []float32, err error) {
	return learn(ctx, l, o.record, lesson)
}

func learn(ctx context.Context, l *sinks.RowLearner, record func(*Question) (arrow.Record, error), lesson *Lesson) (said, loaded []float32, err error) {
	rec, err := record(lesson.Question)
	if err != nil {
		return nil, nil, err
	}
	defer rec.Release()
	return l.Learn(ctx, rec, lesson.Class)
}

// Positive implements Changing.
func (o *OpenHistory) Positive() int { return positiveOf(o.p) }

// Positive implements Changing.
func (o *OpenNodes) Positive() int { return positiveOf(o.p) }

// positiveOf is the number of the positive class of a model of two classes, else -1.
func positiveOf(p *sinks.Predictor) int {
	classes := p.Classes()
	if len(classes) != 2 {
		return -1
	}
	if classes[0] == nn.MetadataOf(p.Net())[positiveNote] {
		return 0
	}
	return 1
}
