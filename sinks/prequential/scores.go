package prequential

import (
	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/internal/temporal"
	"github.com/sanflow/sanflow/nn/drift"
)

// Answer is the result of one question.
type Answer struct {
	Event event.Event // event with the true answer; its attributes are borrowed
	Rank  float64     // of the true answer, from 1
}

// Scores are the results over some questions.
type Scores struct {
	Questions int
	Accuracy  float64 // share of the answers of rank 1
	MRR       float64 // mean of 1/rank
	// AUC and AP compare the score of the true answer with that of one random candidate of each question,
	// over at least the last 2¹⁷ scores.
	AUC, AP float64
	// Baselines has the MRR of "edgebank", "recency", "common_neighbours" and "adamic_adar".
	Baselines map[string]float64
}

// Report is the results of a run. Valid is of Links.Benchmark alone.
type Report struct {
	Events      int // edges of the stream
	Candidates  int // the largest number of candidates of a question
	Valid, Test Scores
	Alarms      []drift.Alarm // Position counts questions from 0
}

const lastAnswers = 1 << 17 // scores for AUC and AP

// meter sums answers.
type meter struct {
	n, right int
	sum      float64
	base     [4]float64 // sums of 1/rank of temporal.Baselines
	pos, neg []float32
}

// scores returns the means.
func (m *meter) scores() Scores {
	s, n := Scores{Questions: m.n, Baselines: map[string]float64{}}, float64(max(m.n, 1))
	s.Accuracy, s.MRR = float64(m.right)/n, m.sum/n
	for i, b := range temporal.Baselines() {
		s.Baselines[b] = m.base[i] / n
	}
	s.AUC, s.AP = curve(m.pos, m.neg)
	return s
}

// last keeps the last lastAnswers scores, once there are twice as many.
func last(scores []float32) []float32 {
	if len(scores) >= 2*lastAnswers {
		scores = scores[:copy(scores, scores[len(scores)-lastAnswers:])]
	}
	return scores
}
