package validation_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/nn/validation"
)

type scored struct {
	score float64
	link  bool
}

func split(pairs []scored) (score []float64, positive []bool) {
	for _, p := range pairs {
		score, positive = append(score, p.score), append(positive, p.link)
	}
	return score, positive
}

func areaOf(pairs []scored) float64 { return validation.AUC(split(pairs)) }

func precisionOf(pairs []scored) float64 { return validation.AveragePrecision(split(pairs)) }

// AUC by comparing every link with every other pair, average precision by
// counting at every distinct score.
func TestRanking(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		pairs := make([]scored, 2+r.IntN(30))
		for i := range pairs {
			pairs[i] = scored{float64(r.IntN(8)), r.IntN(2) == 0}
		}
		pairs[0].link, pairs[1].link = true, false
		won, compared, ap, links := 0., 0., 0., 0.
		for _, p := range pairs {
			if p.link {
				links++
			}
			for _, q := range pairs {
				if !p.link || q.link {
					continue
				}
				compared++
				switch {
				case p.score > q.score:
					won++
				case p.score == q.score:
					won += 0.5
				}
			}
		}
		before := 0.
		for level := 7.; level >= 0; level-- {
			found, all := 0., 0.
			for _, p := range pairs {
				if p.score >= level {
					all++
					if p.link {
						found++
					}
				}
			}
			if all > 0 {
				ap += (found - before) / links * found / all
			}
			before = found
		}
		if got := areaOf(pairs); math.Abs(got-won/compared) > 1e-12 {
			t.Fatalf("%v: AUC %v, want %v", pairs, got, won/compared)
		}
		if got := precisionOf(pairs); math.Abs(got-ap) > 1e-12 {
			t.Fatalf("%v: average precision %v, want %v", pairs, got, ap)
		}
		r.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		if got := precisionOf(pairs); math.Abs(got-ap) > 1e-12 {
			t.Fatalf("in another order: average precision %v, want %v", got, ap)
		}
	}
}

// Without rows of both kinds there is no area.
func TestRankingOfOneKind(t *testing.T) {
	if a := validation.AUC([]float64{1, 2}, []bool{true, true}); !math.IsNaN(a) {
		t.Errorf("AUC %v of positive rows alone, want NaN", a)
	}
	if a := validation.AveragePrecision([]float64{1, 2}, []bool{false, false}); a != 0 {
		t.Errorf("average precision %v without a positive row, want 0", a)
	}
}

// AtTop by the mean over all orders of the rows that keep the scores in order.
func TestAtTop(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	var orders func(pairs []scored, at int, each func([]scored))
	orders = func(pairs []scored, at int, each func([]scored)) {
		if at == len(pairs) {
			each(pairs)
			return
		}
		for i := at; i < len(pairs); i++ {
			pairs[at], pairs[i] = pairs[i], pairs[at]
			if at == 0 || pairs[at-1].score >= pairs[at].score {
				orders(pairs, at+1, each)
			}
			pairs[at], pairs[i] = pairs[i], pairs[at]
		}
	}
	for range 100 {
		pairs := make([]scored, 1+r.IntN(7))
		for i := range pairs {
			pairs[i] = scored{float64(r.IntN(3)), r.IntN(2) == 0}
		}
		for rows := range len(pairs) + 1 {
			found, all := 0., 0.
			orders(pairs, 0, func(pairs []scored) {
				all++
				for _, p := range pairs[:rows] {
					if p.link {
						found++
					}
				}
			})
			score, positive := split(pairs)
			if got := validation.AtTop(score, positive, rows); math.Abs(got-found/all) > 1e-12 {
				t.Fatalf("%v, %d rows: %v, want %v of %v orders", pairs, rows, got, found/all, all)
			}
		}
	}
}
