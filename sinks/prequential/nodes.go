package prequential

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/event/checkpoint"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/internal/state"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/drift"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators/temporal"
)

// Nodes tests the prediction of the class of each node, from its contacts with nodes of known
// class, before the class becomes known. The model learns from the contacts of nodes that are
// known; to its scores the logarithm of the share of each class among the contacts is added, with
// 0.02 for a class that was not met, so that an answer of a model that has learned little is that
// of the majority. Zero fields are the defaults.
type Nodes struct {
	Net *nn.Ranker // nil = &nn.Ranker{Batch: 1}, since there are few nodes
	// After is the number of edges of a node before the question about it; an earlier class in the
	// stream is held back until then. 0 = 10. Nodes with fewer edges are asked about at the end.
	After int
	watch
}

// Signs tests the prediction of the sign of each edge, of its first continuous attribute, before
// the edge arrives. An edge of value 0 is left out.
type Signs struct {
	Net *nn.Ranker // nil = &nn.Ranker{}
	// History has the edges for the features; nil = all edges so far.
	History *temporal.History
	watch
}

// watch is what a run tells while it goes on.
type watch struct {
	// Drift, if set, is given 1 for each wrong answer and 0 for each right one, and
	// OnAlarm its alarms. An error of OnAlarm ends the run.
	Drift   drift.Detector
	OnAlarm func(drift.Alarm) error
	// Asked, if set, is called after each answer. An error ends the run.
	Asked func(ClassAnswer) error
	// Checkpoint lets a run be killed and resumed, to the same bytes. The default is not
	// to.
	Checkpoint checkpoint.File
}

// ClassAnswer is the result of one question about a class or a sign.
type ClassAnswer struct {
	Event event.Event // event with the true class; its attributes are borrowed
	Rank  float64     // of the true class among all, from 1
	// Score is the score of the true class; for Signs, the score of a positive edge minus the score
	// of a negative one.
	Score float32
}

// ClassReport is the results of a run of Nodes or Signs.
type ClassReport struct {
	Events, Questions int
	Accuracy          float64 // share of the answers that are right
	MRR               float64 // mean of 1/rank of the true class
	// AUC and AP compare the score of the true class with the scores of the others, and of Signs
	// those of positive edges against negative ones, over at least the last 2¹⁷ questions.
	AUC, AP float64
	// Baseline is the share of right answers of the most frequent class among known
	// neighbours, or among all, and of Signs of the more frequent sign.
	Baseline float64
	Alarms   []drift.Alarm
}

func (w *watch) answer(a ClassAnswer, r *ClassReport) error {
	e, rank := a.Event, a.Rank
	r.Questions++
	r.MRR += 1 / rank
	wrong := 1.0
	if rank == 1 {
		r.Accuracy++
		wrong = 0
	}
	err := observe(w.Drift, w.OnAlarm, wrong, int64(r.Questions-1), e.Time, &r.Alarms)
	if err == nil && w.Asked != nil {
		err = w.Asked(a)
	}
	return err
}

func (r *ClassReport) finish(pos, neg []float32) *ClassReport {
	n := float64(max(r.Questions, 1))
	r.Accuracy, r.MRR, r.Baseline = r.Accuracy/n, r.MRR/n, r.Baseline/n
	r.AUC, r.AP = Curve(pos, neg)
	return r
}

// Run tests the model on the nodes of a stream. Classes are numbers from 0.
func (n *Nodes) Run(ctx context.Context, events iter.Seq2[event.Event, error]) (*ClassReport, error) {
	after := cmp.Or(n.After, 10)
	if after < 1 {
		return nil, fmt.Errorf("prequential: After is %d, want at least 1", n.After)
	}
	if n.Net == nil {
		n.Net = &nn.Ranker{Batch: 1}
	}
	if err := n.Net.Init(temporal.ClassFeatures); err != nil {
		return nil, err
	}
	report, known := &ClassReport{}, &temporal.Classes{}
	var held, edges []int32 // by node: the class that is kept back, edges so far
	var now int64           // time of the last event
	var pos, neg, scores []float32
	grow := func(v int32) {
		for int(v) >= len(held) {
			held, edges = append(held, -1), append(edges, 0)
		}
	}
	ask := func(v int32) error {
		class := held[v]
		held[v] = -1
		told := event.Event{Kind: event.SetClass, Time: now, Source: v, Class: class}
		if known.Len() > 1 && int(class) < known.Len() {
			x := known.Describe(v, now)
			scores = room(scores, known.Len())
			if err := n.Net.Score(x, scores); err != nil {
				return err
			}
			best := 0
			for k := range scores {
				scores[k] += float32(math.Log(float64(x[k*temporal.ClassFeatures]) + 0.02))
				if x[k*temporal.ClassFeatures]+x[k*temporal.ClassFeatures+6]/1e3 > x[best*temporal.ClassFeatures]+x[best*temporal.ClassFeatures+6]/1e3 {
					best = k
				}
			}
			if best == int(class) {
				report.Baseline++
			}
			scores[0], scores[class] = scores[class], scores[0]
			pos, neg = last(append(pos, scores[0])), last(append(neg, scores[1:]...))
			if err := n.answer(ClassAnswer{told, validation.Rank(scores, 0), scores[0]}, report); err != nil {
				return err
			}
		}
		known.Add(told)
		return nil
	}
	l := loop{task: "nodes", settings: []store.Setting{setting("After", after)}, net: n.Net, features: known, drift: n.Drift, checkpoint: n.Checkpoint}
	l.state = func(c *state.Codec) {
		report.state(c, &pos, &neg)
		state.Slice(c, "nodes", mostNumbers, &held)
		state.Slice(c, "nodes", mostNumbers, &edges)
		state.Num(c, &now)
		c.Check(len(held) == len(edges), "there are %d classes of %d nodes", len(held), len(edges))
	}
	l.do = func(e event.Event) (bool, error) {
		report.Events++
		now = e.Time
		switch e.Kind {
		case event.SetClass:
			if grow(e.Source); known.Class(e.Source) >= 0 || e.Class < 0 {
				held[e.Source] = -1
				known.Add(e)
			} else if held[e.Source] = e.Class; edges[e.Source] >= int32(after) {
				return true, ask(e.Source)
			}
		case event.RemoveNode:
			grow(e.Source)
			held[e.Source], edges[e.Source] = -1, 0
			known.Add(e)
		case event.AddEdge:
			grow(max(e.Source, e.Target))
			known.Add(e)
			for _, v := range [2]int32{e.Source, e.Target} {
				edges[v]++
				if class := known.Class(v); class >= 0 && known.Len() > 1 {
					x := known.Describe(v, e.Time)
					swap(x, int(class), temporal.ClassFeatures)
					if _, err := n.Net.Learn(nn.Question{X: x}); err != nil {
						return false, err
					}
				} else if held[v] >= 0 && edges[v] >= int32(after) {
					if err := ask(v); err != nil {
						return false, err
					}
				}
			}
		}
		return true, nil
	}
	if err := l.run(ctx, events); err != nil {
		return nil, err
	}
	for v := range held {
		if held[v] >= 0 {
			if err := ask(int32(v)); err != nil {
				return nil, err
			}
		}
	}
	return report.finish(pos, neg), nil
}

// last forgets all but the last scores, now and then.
func last(scores []float32) []float32 {
	if len(scores) >= 2*lastAnswers {
		scores = scores[:copy(scores, scores[len(scores)-lastAnswers:])]
	}
	return scores
}

// swap exchanges a row with the first.
func swap(x []float32, row, width int) {
	for j := range width {
		x[j], x[row*width+j] = x[row*width+j], x[j]
	}
}

// Run tests the model on the edges of a stream.
func (s *Signs) Run(ctx context.Context, events iter.Seq2[event.Event, error]) (*ClassReport, error) {
	if s.Net == nil {
		s.Net = &nn.Ranker{}
	}
	if err := s.Net.Init(temporal.SignFeatures); err != nil {
		return nil, err
	}
	const f = temporal.SignFeatures
	report, history := &ClassReport{}, s.History
	if history == nil {
		history = &temporal.History{}
	}
	var pos, neg []float32
	var count [2]int
	scores := make([]float32, 2)
	l := loop{task: "signs", net: s.Net, features: history, drift: s.Drift, checkpoint: s.Checkpoint}
	l.state = func(c *state.Codec) {
		report.state(c, &pos, &neg)
		for i := range count {
			state.Int(c, "the number of edges of a sign", &count[i], 0, 1<<62)
		}
	}
	l.do = func(e event.Event) (bool, error) {
		if report.Events++; e.Kind != event.AddEdge || len(e.Attr) == 0 || e.Attr[0] == 0 {
			return true, nil
		}
		// The first row is that of a positive edge; a negative one is all zeros, so that
		// the difference of the scores is a function of the features.
		x := make([]float32, 2*f)
		if err := history.DescribeSign(e.Source, e.Target, e.Time, x[:f]); err != nil {
			return false, err
		}
		if err := s.Net.Score(x, scores); err != nil {
			return false, err
		}
		sign, score := 0, scores[0]-scores[1]
		if e.Attr[0] > 0 {
			pos = last(append(pos, score))
		} else {
			sign, neg = 1, last(append(neg, score))
		}
		if count[sign] >= count[1-sign] {
			report.Baseline++
		}
		count[sign]++
		scores[0], scores[sign] = scores[sign], scores[0]
		if err := s.answer(ClassAnswer{e, validation.Rank(scores, 0), score}, report); err != nil {
			return false, err
		}
		if sign == 1 {
			swap(x, 1, f)
		}
		if _, err := s.Net.Learn(nn.Question{X: x}); err != nil {
			return false, err
		}
		e.Attr = slices.Clone(e.Attr)
		e.Attr[0] = max(-1, min(1, e.Attr[0]))
		return true, history.Add(e)
	}
	if err := l.run(ctx, events); err != nil {
		return nil, err
	}
	return report.finish(pos, neg), nil
}
