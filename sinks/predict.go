package sinks

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks/collect"
	"github.com/sanflow/sanflow/sinks/ipc"
)

// Predict predicts every row of the stream. Records may have any number of rows. The model does
// not change. A row with an attribute that is not finite is refused.
type Predict struct {
	// Net is the model, trained or loaded, or several as an nn.Ensemble. It or Graph must
	// be set. One that has not learned is an nn.ErrUntrained. A Temperature and a Prior in its
	// metadata are applied, unless a Smoothing is there too, which Graph applies.
	Net nn.Predictor
	// Graph, if set, answers in place of Net for rows of one root, which is a node of it:
	// its answers may be smoothed. The rows need no fields.
	Graph *OpenGraph
	// Each is called for every row, in order, on the goroutine of the sink. It
	// must be set. An error ends the run.
	Each func(Prediction) error
}

// Prediction is the prediction for one graph, or for one root if operators.PerRoot made a row
// of each.
type Prediction struct {
	Graph int64
	// Pos is the position of the row in its source, or -1 if it has none.
	Pos int64
	// Root is the only root of the row, or -1 if a row has several or none.
	Root int32
	// ID is the id of Root, if the record has root_ids.
	ID graph.ID
	// Class is the most probable class, the first of equals.
	Class int
	// Probs has the probability of each class. It is borrowed.
	Probs []float32
	// Target is the class that the record names, or -1 if it names none.
	Target int
	// Value is the number predicted, and TargetValue the one that the record
	// names or NaN, if numbers were learned: then there are no Probs.
	Value, TargetValue float32
	// Targets has the predictions for the targets of an nn.Targets, in their order; the row itself then has no Probs, and no
	// Value. They are borrowed.
	Targets []Prediction
}

var _ flow.Sink = Predict{}

// Open checks the model against the schema. Without class names in the records, the model gives the
// number of classes.
func (p Predict) Open(in *arrow.Schema) (flow.Writer, error) {
	if (p.Net == nil) == (p.Graph == nil) || p.Each == nil {
		return nil, errors.New("the field Each must be set, and one of Net and Graph")
	}
	if p.Graph != nil {
		if !in.HasField(record.Roots) {
			return nil, fmt.Errorf("there is no column %q of nodes to ask Graph about", record.Roots)
		}
		return &predictor{Predict: p, asked: askedOf(in), shape: nn.Shape{Classes: p.Graph.p.net.Shape().Classes, Targets: p.Graph.p.net.Shape().Targets}}, nil
	}
	if !p.Net.Trained() {
		return nil, nn.ErrUntrained
	}
	shape, err := Shape(in)
	if err != nil {
		return nil, err
	}
	if shape.Classes == 0 {
		shape.Classes = p.Net.Shape().Classes
	}
	shape.Targets = p.Net.Shape().Targets
	as, err := calibrationOf(p.Net)
	if err != nil {
		return nil, err
	}
	return &predictor{p, askedOf(in), shape, as}, p.Net.Init(shape)
}

type predictor struct {
	Predict
	*asked
	shape nn.Shape
	as    calibration // calibration from the metadata of Net
}

func (p *predictor) Write(ctx context.Context, rec arrow.Record) error {
	return p.WriteSome(ctx, rec, never(flow.Name(p.Predict), rec))
}

func (p *predictor) WriteSome(ctx context.Context, rec arrow.Record, refuse func(row int, err error) error) error {
	if p.Graph != nil {
		return p.look(ctx, rec)
	}
	return leaveOut(rec, refuse, func(rec arrow.Record) error {
		b, err := batchOf(rec, p.shape, false)
		if err != nil {
			return err
		}
		dst, err := p.Net.Predict(b, nil)
		if err != nil {
			return err
		}
		answers := dst.Float32s()
		p.as.direct(answers, p.shape)
		return p.tell(rec, answers)
	})
}

// look predicts the roots of rec by Graph.
func (p *predictor) look(ctx context.Context, rec arrow.Record) error {
	roots, err := rootsOf(rec, p.shape)
	if err != nil || rec.NumRows() == 0 {
		return err
	}
	if roots == nil {
		return errors.New("rows have several roots, want one")
	}
	all, err := p.Graph.Predict(ctx, roots...)
	if err != nil {
		return err
	}
	var answers []float32
	add := func(a Answer) {
		if a.Index >= 0 {
			answers = append(answers, a.Probs...)
		} else {
			answers = append(answers, a.Value)
		}
	}
	for _, a := range all {
		if a.Targets == nil {
			add(a)
		}
		for _, one := range a.Targets {
			add(one)
		}
	}
	return p.tell(rec, answers)
}

// tell calls Each for the rows of rec.
func (p *predictor) tell(rec arrow.Record, answers []float32) error {
	if p.open.Load() {
		p.add(nn.Result{}, rec, answers, p.shape.Classes)
	}
	return each(rec, p.shape, answers, p.Each)
}

// each calls f for every row of rec with its answer, the output of a model of that shape.
func each(rec arrow.Record, shape nn.Shape, answers []float32, f func(Prediction) error) error {
	ids, err := record.Values[int64](rec, record.GraphID)
	if err != nil {
		return err
	}
	roots, err := rootsOf(rec, shape)
	if err != nil {
		return err
	}
	var names record.IDsView
	named := roots != nil && rec.Schema().HasField(record.RootIDs)
	if named {
		if names, err = record.IDsOfColumn(rec, record.RootIDs); err != nil {
			return err
		}
	}
	// Targets and positions are optional.
	pos, _ := record.Values[int64](rec, record.Pos)
	targets, _ := record.Values[int32](rec, record.Target)
	values, _ := record.Values[float32](rec, record.Target)
	var several record.ListView[float32]
	if rec.Schema().HasField(record.Targets) {
		if several, err = record.ListsOf[float32](rec, record.Targets); err != nil {
			return err
		}
	}
	width := shape.Width()
	for i, id := range ids {
		one := Prediction{Graph: id, Pos: -1, Root: -1, Target: -1, TargetValue: float32(math.NaN())}
		said := answers[i*width : (i+1)*width]
		if roots != nil {
			one.Root = roots[i]
		}
		if named && one.Root >= 0 {
			row := names.Row(i)
			if row.Len() != 1 {
				return fmt.Errorf("column %q has %d ids in row %d, want one", record.RootIDs, row.Len(), i)
			}
			one.ID = row.At(0)
		}
		if pos != nil {
			one.Pos = pos[i]
		}
		var each []Prediction
		for t, classes := range shape.Targets {
			n, of := max(1, classes), one
			of.say(said[:n], classes)
			if several.Len() > 0 && len(several.Row(i)) == len(shape.Targets) {
				if x := several.Row(i)[t]; classes == 0 {
					of.TargetValue = x
				} else if x == x {
					of.Target = int(x)
				}
			}
			each, said = append(each, of), said[n:]
		}
		if one.Targets = each; each == nil {
			one.say(said, shape.Classes)
		}
		if targets != nil {
			one.Target = int(targets[i])
		}
		if values != nil {
			one.TargetValue = values[i]
		}
		if err := f(one); err != nil {
			return err
		}
	}
	return nil
}

// say sets the probabilities and the class, or the number, from the output of a model for a row.
func (p *Prediction) say(said []float32, classes int) {
	if classes == 0 {
		p.Value = said[0]
		return
	}
	p.Probs, p.Class = said, argmax(said)
}

// rootsOf returns the root of each row, or nil if rows have several or none.
func rootsOf(rec arrow.Record, shape nn.Shape) (all []int32, err error) {
	switch {
	case shape.W == 1 && rec.Schema().HasField(record.Members):
		members, width, err := record.FixedValues[int32](rec, record.Members)
		if err != nil {
			return nil, err
		}
		if width != shape.K {
			return nil, fmt.Errorf("column %q has %d values a row, want %d", record.Members, width, shape.K)
		}
		for i := range int(rec.NumRows()) {
			all = append(all, members[i*width])
		}
	case shape.W == 0 && rec.Schema().HasField(record.Roots):
		roots, err := record.ListsOf[int32](rec, record.Roots)
		if err != nil {
			return nil, err
		}
		for i := range roots.Len() {
			if len(roots.Row(i)) != 1 {
				return nil, nil
			}
			all = append(all, roots.Row(i)[0])
		}
	}
	return all, nil
}

func (p *predictor) Close(error) error { return nil }

// Answers collects the predictions for rows with a target, for a validation.Measure or a Temperature:
//
//	var answers sinks.Answers
//	err := rows.To(sinks.Predict{Net: net, Each: answers.Add}).Run(ctx)
//	auc, err := validation.ROC.Of(&answers.Answers)
type Answers struct {
	validation.Answers
}

// Add adds the prediction for a row, and leaves out a row without a target. It fits Predict.Each.
func (a *Answers) Add(p Prediction) error {
	if p.Probs == nil {
		if math.IsNaN(float64(p.TargetValue)) {
			return nil
		}
		a.Want, a.Value = append(a.Want, float64(p.TargetValue)), append(a.Value, float64(p.Value))
		return nil
	}
	switch {
	case p.Target < 0:
		return nil
	case a.Classes != 0 && a.Classes != len(p.Probs) || p.Target >= len(p.Probs):
		return fmt.Errorf("answers: a row of class %d has %d probabilities, those before it %d", p.Target, len(p.Probs), a.Classes)
	}
	a.Classes = len(p.Probs)
	a.Class, a.Probs = append(a.Class, int32(p.Target)), append(a.Probs, p.Probs...)
	return nil
}

// Correct returns the number of rows whose most probable class is the target.
func (a *Answers) Correct() (n int) {
	for i, class := range a.Class {
		if argmax(a.Probs[i*a.Classes:][:a.Classes]) == int(class) {
			n++
		}
	}
	return n
}

// argmax returns the index of the largest number, the first of equals.
func argmax[T float32 | float64](x []T) (top int) {
	for i, v := range x {
		if v > x[top] {
			top = i
		}
	}
	return top
}

// IPC writes records as Arrow IPC files and streams.
type IPC = ipc.Sink

// Collect keeps the stream in memory. Its methods Records() and Rows() return the records and the
// number of rows; Release() releases the records, which are invalid afterwards.
type Collect = collect.Sink
