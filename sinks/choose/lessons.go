package choose

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
)

// Teaching is a Changing whose model learns from the classes that events tell. An OpenHistory is one.
type Teaching interface {
	Changing
	// Lesson returns what a change teaches, once Apply has made it and none behind it; nil where it teaches nothing.
	Lesson(c *Change) (*Lesson, error)
	// Learner returns a copy of the model that learns, which the caller closes; see sinks.OpenRows.Learner.
	Learner(rate float64) (*sinks.RowLearner, error)
	// Learn lets a learner learn from a lesson; see sinks.RowLearner.Learn.
	Learn(ctx context.Context, l *sinks.RowLearner, lesson *Lesson) (said, loaded []float32, err error)
	// Positive is the class that AUC and AP are about, -1 if there are other than two.
	Positive() int
}

// Lesson is a question whose class has come.
type Lesson struct {
	Question *Question
	Class    int32
}

// Tells reports whether a change sets a class.
func (c *Change) Tells() bool { return c.class >= 0 }

// Lesson returns the question that a change answers, about the rows as they are. It is nil where the change tells no class, or the one that the row had. A
// question has all that is known of the rows before a row, and nothing of its class.
func (o *OpenHistory) Lesson(c *Change) (*Lesson, error) {
	return lessonOf(o, c)
}

// Lesson implements Teaching: the answers of models that answer about a graph that changes do not read the class of the node.
func (o *OpenNodes) Lesson(c *Change) (*Lesson, error) { return lessonOf(o, c) }

func lessonOf(o Changing, c *Change) (*Lesson, error) {
	if !c.Tells() || c.class == c.before {
		return nil, nil
	}
	asked, _, err := o.Ask([]string{c.Event.ID}, nil)
	if err != nil {
		return nil, err
	}
	return &Lesson{asked[0], c.class}, nil
}

// Learner implements Teaching.
func (o *OpenHistory) Learner(rate float64) (*sinks.RowLearner, error) { return o.rows.Learner(rate) }

// Learner implements Teaching.
func (o *OpenNodes) Learner(rate float64) (*sinks.RowLearner, error) { return o.rows.Learner(rate) }

// Learn implements Teaching.
func (o *OpenHistory) Learn(ctx context.Context, l *sinks.RowLearner, lesson *Lesson) (said, loaded []float32, err error) {
	return learn(ctx, l, o.record, lesson)
}

// Learn implements Teaching.
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

// Positive implements Teaching.
func (o *OpenHistory) Positive() int { return positiveOf(o.p) }

// Positive implements Teaching.
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
