package choose

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
)

// Each row is in one part, classes are spread, and the seed decides.
func TestDeal(t *testing.T) {
	class := make([]int32, 100)
	for i := range class {
		class[i] = int32(i%5) - 1 // 20 of no class
	}
	train, valid, test, err := deal(class, nil, nil, 7)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int32]bool{}
	for _, part := range [][]int32{train, valid, test} {
		if !slices.IsSorted(part) {
			t.Errorf("%v is not ascending", part)
		}
		for _, row := range part {
			if seen[row] || class[row] < 0 {
				t.Errorf("row %d of class %d is in two parts, or unknown", row, class[row])
			}
			seen[row] = true
		}
	}
	if len(seen) != 80 || len(valid) < 12 || len(test) < 12 {
		t.Errorf("%d, %d, %d rows", len(train), len(valid), len(test))
	}
	if _, _, again, _ := deal(class, nil, nil, 7); !slices.Equal(again, test) {
		t.Error("the same seed deals otherwise")
	}
	if _, _, other, _ := deal(class, nil, nil, 8); slices.Equal(other, test) {
		t.Error("another seed deals alike")
	}
	if _, _, _, err := deal(class[:5], nil, nil, 1); err == nil {
		t.Error("five rows are dealt")
	}
}

// Measures are those of a plain count.
func TestMeasures(t *testing.T) {
	m := NewMeasures([]string{"no", "yes"})
	for _, p := range []sinks.Prediction{
		{Class: 1, Probs: []float32{0.25, 0.75}, Target: 1},
		{Class: 1, Probs: []float32{0.25, 0.75}, Target: 0},
		{Class: 0, Probs: []float32{1, 0}, Target: 0},
		{Class: 0, Probs: []float32{0.5, 0.5}, Target: 0},
		{Class: 0, Probs: []float32{0.5, 0.5}, Target: -1},
	} {
		if err := m.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	near := func(name string, got, want float64) {
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	near("accuracy", m.Accuracy(), 75)
	near("error", m.Error(), 100*math.Sqrt(0.75*0.25/4))
	near("majority", m.Majority(), 75)
	by := func(measure validation.Measure) float64 {
		x, err := m.By(measure)
		if err != nil {
			t.Error(err)
		}
		return x
	}
	near("AUC", by(validation.ROC), 2.5/3)
	balanced, err := m.By(validation.Balanced)
	near("balanced accuracy", balanced, (1+2./3)/2)
	if _, wrong := m.By(validation.MAE); err != nil || wrong == nil {
		t.Error(err, wrong)
	}
	near("loss", by(validation.LogLoss), -(math.Log(0.75)+math.Log(0.25)+math.Log(0.5))/4)
	near("calibration", by(validation.Calibration), (0.25*2+0.5)/4)
	if m.Rows != 4 || m.Unknown != 1 || m.Confusion[0][1] != 1 || m.Confusion[0][0] != 2 || m.Bins()[9] != (validation.Bin{Rows: 1, Confidence: 1, Accuracy: 1}) || m.Bins()[7] != (validation.Bin{Rows: 2, Confidence: 0.75, Accuracy: 0.5}) {
		t.Errorf("%+v", m)
	}
	m.Wrong(1)
	near("accuracy with a foreign row", m.Accuracy(), 60)
	near("loss with a foreign row", by(validation.LogLoss), -(math.Log(0.75)+math.Log(0.25)+math.Log(0.5))/4)
	if m.Rows != 5 || m.Foreign != 1 {
		t.Errorf("%d rows, %d foreign", m.Rows, m.Foreign)
	}
	if err := m.Add(sinks.Prediction{Target: 2, Probs: []float32{1, 0}}); err == nil {
		t.Error("a class that is not named passes")
	}
	r := NewMeasures(nil)
	for _, p := range [][2]float32{{1, 2}, {3, 1}, {0, float32(math.NaN())}} {
		if err := r.Add(sinks.Prediction{Value: p[0], TargetValue: p[1]}); err != nil {
			t.Fatal(err)
		}
	}
	rmse, err := r.By(validation.RMSE)
	near("RMSE", rmse, math.Sqrt(2.5))
	near("error of the RMSE", r.Error(), 1.5/math.Sqrt(2)/(2*math.Sqrt(2.5)))
	near("spread", r.Spread(), 0.5)
	if r.Rows != 2 || r.Unknown != 1 || err != nil {
		t.Errorf("%+v", r)
	}
}

// The recommended system stays where another is better by less than a standard error.
func TestRecommended(t *testing.T) {
	c := Choice{Systems: []System{{Name: "a"}, {Name: "b", Recommended: true}, {Name: "c"}}}
	of := func(rows int, scores ...float64) (all []*trial) {
		for i, s := range scores {
			all = append(all, &trial{Tried: Tried{Name: c.Systems[i].Name, Score: s}, Rows: rows})
		}
		return all
	}
	for _, x := range []struct {
		all     []*trial
		numbers bool
		want    string
	}{
		{of(100, 80, 78, 79), false, "b"},
		{of(100, 80, 70, 79), false, "a"},
		{of(10000, 80, 78, 79), false, "a"},
		{of(100, 80), false, "a"},
		{of(100, 3, 2, 1), true, "c"},
	} {
		if c.Classes = []string{"a", "b"}; x.numbers {
			c.Classes = nil
		}
		if got := c.best(x.all).Name; got != x.want {
			t.Errorf("%s is chosen, want %s", got, x.want)
		}
	}
}

// The recommended system of a History stays where another has an AUC or AP that is better by less than a standard error: an error as
// that of samples of the rows, at most three times.
func TestRecommendedRows(t *testing.T) {
	race.Skip(t)
	rng := rand.New(rand.NewPCG(1, 40))
	scored := func(c Choice, rows []sinks.Prediction) *trial {
		x := &trial{Positive: "b"}
		if err := c.score(x, rows, nil); err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, measure := range []validation.Measure{validation.ROC, validation.Precision} {
		c := Choice{Systems: []System{{Name: "a"}, {Name: "b", Recommended: true, rows: true}}, Classes: []string{"a", "b"}, Measure: measure.About(1)}
		var rows []sinks.Prediction
		for i := range 800 {
			class := i % 8 / 7
			p := float32(1 / (1 + math.Exp(-rng.NormFloat64()-float64(class))))
			rows = append(rows, sinks.Prediction{Target: class, Class: int(p + 0.5), Probs: []float32{1 - p, p}})
		}
		whole := scored(c, rows)
		var squares float64
		const samples = 200
		for range samples {
			some := make([]sinks.Prediction, len(rows))
			for i := range some {
				some[i] = rows[rng.IntN(len(rows))]
			}
			squares += math.Pow(scored(c, some).Score-whole.Score, 2) / samples
		}
		if spread := math.Sqrt(squares); whole.Error < spread*0.9 || whole.Error > 3*spread {
			t.Errorf("%s: error %v, and samples of the rows have %v", measure, whole.Error, spread)
		}
		for _, x := range []struct {
			better float64 // errors
			rows   bool
			want   int
		}{{0.9, true, 1}, {1.1, true, 0}, {0.9, false, 0}, {-1, true, 1}, {-1, false, 1}} {
			c.Systems[1].rows = x.rows
			other := &trial{Tried: Tried{Score: whole.Score + x.better*whole.Error}}
			if all := []*trial{other, whole}; c.best(all) != all[x.want] {
				t.Errorf("%s: %+v: the other is chosen", measure, x)
			}
		}
		c.Measure = validation.Brier
		if x := scored(c, rows); x.Error != 0 {
			t.Errorf("the Brier score has the error %v", x.Error)
		}
	}
}

// A measure chooses in place of the accuracy, the loss decides between equals, whichever is recommended.
func TestBestByMeasure(t *testing.T) {
	var all []*trial
	for _, score := range []float64{0.5, 0.25, 0.25, 0.75, 0.75} {
		all = append(all, &trial{Tried: Tried{Score: score}, Rows: 1})
	}
	systems := make([]System, len(all))
	systems[0].Recommended = true
	for measure, want := range map[validation.Measure]int{validation.ROC: 3, validation.Brier: 1} {
		all[want].Loss, all[want+1].Loss = 0.2, 0.1
		if got := (Choice{Systems: systems, Classes: []string{"a", "b"}, Measure: measure}).best(all); got != all[want+1] {
			t.Errorf("%s: %+v is chosen, want %d", measure, got, want)
		}
	}
}

// With Balance, the score and the loss that decides between equals are those of the answers that the
// model gives: with its temperature and its prior. A row without a class does not count.
func TestBalancedLoss(t *testing.T) {
	c := Choice{Classes: []string{"a", "b"}, Balance: true, Measure: validation.Balanced}
	prior := sinks.Prior{0.9, 0.1}
	rows := []sinks.Prediction{
		{Target: 0, Probs: []float32{0.95, 0.05}}, {Target: 0, Probs: []float32{0.7, 0.3}},
		{Target: 1, Probs: []float32{0.8, 0.2}}, {Target: -1, Probs: []float32{0.5, 0.5}}, {Target: 1, Probs: []float32{0.93, 0.07}},
	}
	var said sinks.Answers
	for i := range rows {
		p := &rows[i]
		if err := said.Add(*p); err != nil {
			t.Fatal(err)
		}
		if p.Probs[1] > p.Probs[0] {
			p.Class = 1
		}
	}
	x := &trial{Loss: 7}
	if err := c.score(x, rows, prior); err != nil {
		t.Fatal(err)
	}
	heat, want, right := float64(said.Temperature()), 0., [2]float64{}
	for _, p := range rows {
		if p.Target < 0 {
			continue
		}
		a := math.Pow(float64(p.Probs[0]), 1/heat) / prior[0]
		b := math.Pow(float64(p.Probs[1]), 1/heat) / prior[1]
		q := []float64{a / (a + b), b / (a + b)}[p.Target]
		want -= math.Log(q) / 4
		if q > 0.5 {
			right[p.Target] += 0.5
		}
	}
	if score := (right[0] + right[1]) / 2; math.Abs(x.Loss-want) > 1e-6 || math.Abs(x.Score-score) > 1e-9 {
		t.Errorf("loss %v and score %v, want %v and %v", x.Loss, x.Score, want, score)
	}
	loss := 0.
	for _, p := range rows {
		if p.Target >= 0 {
			loss -= math.Log(float64(p.Probs[p.Target])) / 4
		}
	}
	if err := c.score(x, rows, nil); err != nil || math.Abs(x.Loss-loss) > 1e-6 {
		t.Errorf("%v, loss %v without a prior, want %v", err, x.Loss, loss)
	}
}
