package prequential

import (
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/internal/temporal"
	"github.com/sanflow/sanflow/nn/drift"
	"github.com/sanflow/sanflow/nn/validation"
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

const lastAnswers = 1 << 17 // number of pairs of scores that AUC and AP are computed from

// meter sums the reciprocal ranks of answers, and keeps scores for AUC and AP.
type meter struct {
	n, right int
	sum      float64
	base     [4]float64 // sums of 1/rank of temporal.Baselines
	score    []float64
	positive []bool // by index in score: whether the candidate was the true answer
}

// scores returns the means over the answers. AUC and AP are NaN without scores.
func (m *meter) scores() Scores {
	s, n := Scores{Questions: m.n, Baselines: map[string]float64{}}, float64(max(m.n, 1))
	s.Accuracy, s.MRR = float64(m.right)/n, m.sum/n
	for i, b := range temporal.Baselines() {
		s.Baselines[b] = m.base[i] / n
	}
	if s.AUC, s.AP = math.NaN(), math.NaN(); len(m.score) > 0 {
		s.AUC, s.AP = validation.AUC(m.score, m.positive), validation.AveragePrecision(m.score, m.positive)
	}
	return s
}

// compare adds the scores of the true answer and of another candidate, and keeps the last lastAnswers pairs, once there are twice as many.
func (m *meter) compare(answer, other float32) {
	m.score, m.positive = append(m.score, float64(answer), float64(other)), append(m.positive, true, false)
	if n := len(m.score) - 2*lastAnswers; n >= 2*lastAnswers {
		m.score, m.positive = slices.Delete(m.score, 0, n), slices.Delete(m.positive, 0, n)
	}
}
