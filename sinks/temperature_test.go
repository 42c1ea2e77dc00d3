package sinks_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
)

// top is the first of the largest.
func top[T float32 | float64](row []T) int { return slices.Index(row, slices.Max(row)) }

// cost is the cross-entropy that Answers.Temperature minimises, as it is defined.
func cost(a *sinks.Answers, t float64) (sum float64) {
	n := float64(len(a.Class))
	for i, target := range a.Class {
		row, total := a.Probs[i*a.Classes:][:a.Classes], 0.
		for _, p := range row {
			total += math.Pow(max(float64(p), 1e-30), 1/t)
		}
		for c, p := range row {
			weight := 1 / (n + 2) / float64(a.Classes-1)
			if c == int(target) {
				weight = (n + 1) / (n + 2)
			}
			sum -= weight * math.Log(math.Pow(max(float64(p), 1e-30), 1/t)/total)
		}
	}
	return sum
}

// The fitted temperature is the least of a fine grid, for models that are too sure, not
// sure enough, and all correct. Rows without a class do not count.
func TestTemperature(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 15 {
		classes, rows := 2+rng.IntN(5), 1+rng.IntN(40)
		var a sinks.Answers
		sharp, correct := math.Exp(4*rng.Float64()-1), 0
		for range rows {
			p, sum := sinks.Prediction{Probs: make([]float32, classes)}, float32(0)
			for c := range classes {
				p.Probs[c] = float32(math.Exp(sharp * rng.NormFloat64()))
				sum += p.Probs[c]
			}
			for c := range classes {
				p.Probs[c] /= sum
			}
			switch p.Target = rng.IntN(classes); {
			case trial%3 == 0 || rng.IntN(3) > 0:
				p.Target = top(p.Probs)
			case rng.IntN(5) == 0:
				p.Target = -1
			}
			if p.Target == top(p.Probs) {
				correct++
			}
			if err := a.Add(p); err != nil {
				t.Fatal(err)
			}
		}
		if a.Correct() != correct {
			t.Errorf("%d rows are correct, want %d", a.Correct(), correct)
		}
		if len(a.Class) == 0 {
			continue
		}
		got := float64(a.Temperature())
		least, at := math.Inf(1), 0.
		for x := -math.Log(50); x <= math.Log(50); x += 0.02 {
			if y := cost(&a, math.Exp(x)); y < least {
				least, at = y, x
			}
		}
		if math.Abs(math.Log(got)-at) > 0.02 || cost(&a, got) > least*(1+1e-12) {
			t.Errorf("%d rows of %d classes: temperature %v costs %v, %v costs %v", rows, classes, got, cost(&a, got), math.Exp(at), least)
		}
	}
	one := validation.Answers{Classes: 1, Class: []int32{0}, Probs: []float32{1}}
	for _, none := range []*sinks.Answers{{}, {Answers: one}} {
		if got := none.Temperature(); got != 1 {
			t.Errorf("temperature %v of %v", got, none)
		}
	}
	// Zeros have a temperature too.
	sure := &sinks.Answers{Answers: validation.Answers{Classes: 2, Class: []int32{0, 0}, Probs: []float32{1, 0, 0, 1}}}
	if got := sure.Temperature(); !(got > 1 && got <= 50) {
		t.Errorf("a model that is certain and wrong has the temperature %v", got)
	}
}

// A temperature changes no decision, not even between probabilities that are almost
// equal; p^(1/T) over its sum is what it makes.
func TestTemperatureApply(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	next := func(x float32, up float32) float32 { return math.Nextafter32(x, up) }
	rows := [][]float32{{0, 0, 1}, {0.25, 0.5, 0.25}, {0.25, next(0.25, 1), 0.25}, {0.3, 0.35, 0.35}, {next(0.4, 0), 0.2, 0.4}, {1e-40, 0, 1}}
	for range 200 {
		p := float32(rng.Float64() / 2)
		rows = append(rows, []float32{p, next(p, float32(rng.IntN(2))), 1 - 2*p})
	}
	for _, heat := range []sinks.Temperature{0.02, 0.3, 1, 1.7, 50} {
		for _, row := range rows {
			got := slices.Clone(row)
			heat.Apply(got, 3)
			sum, all := 0., 0.
			for c, p := range row {
				sum += math.Pow(max(float64(p), 1e-30), 1/float64(heat))
				all += float64(got[c])
			}
			for c, p := range row {
				want := math.Pow(max(float64(p), 1e-30), 1/float64(heat)) / sum
				if math.Abs(float64(got[c])-want) > 1e-6 {
					t.Errorf("%v at %v: %v, want %v of class %d", row, heat, got, want, c)
				}
			}
			if top(got) != top(row) || math.Abs(all-1) > 1e-6 {
				t.Errorf("%v at %v: %v", row, heat, got)
			}
		}
	}
	if sinks.Temperature(2).Apply(nil, 3); testing.AllocsPerRun(3, func() { sinks.Temperature(2).Apply(make([]float32, 6), 3) }) > 2 {
		t.Error("a row allocates")
	}
}

// A model that is kept with a temperature and a prior answers by them: a Predictor, an open graph,
// smoothed or not, and a stream, before it was saved and after. Bad metadata are refused.
func TestTemperatureKept(t *testing.T) {
	defer leak.VerifyNone(t)
	set := halves(t, 60)
	roots := set.All()
	const heat = sinks.Temperature(0.4)
	prior := sinks.Prior{0.8, 0.2}
	explained := 0
	for _, trial := range openTrials(set) {
		if trial.name == "pairs" || trial.name == "known classes" || trial.name == "words with beliefs" { // which have no file: models of nodes keep what is known by ids
			continue
		}
		for _, smooth := range []bool{false, true} {
			p, _ := trial.predictor(t, set, roots)
			defer p.Close()
			net := p.Net().(nn.Saver)
			if smooth {
				if err := (sinks.Smoothing{Share: 0.7}).Keep(net); err != nil {
					t.Fatal(err)
				}
			}
			of := func(p *sinks.Predictor) []sinks.Answer {
				t.Helper()
				open, err := p.Open(t.Context(), set.Graph)
				if err != nil {
					t.Fatal(err)
				}
				defer open.Close()
				all, err := open.Predict(t.Context(), roots...)
				if err != nil {
					t.Fatal(err)
				}
				if e, err := open.Explain(t.Context(), sinks.ExplainOptions{}, 0); err == nil {
					explained++
					want := 0.
					for _, x := range e.Probs {
						want += math.Log(float64(slices.Max(e.Probs)/x)) / float64(len(e.Probs))
					}
					if math.Abs(e.Sum-want) > 1e-4*max(1, want) {
						t.Errorf("%s, smoothed %v: the weights add up to %v, want %v", trial.name, smooth, e.Sum, want)
					}
				}
				return all
			}
			fresh := func() *sinks.Predictor {
				t.Helper()
				p, err := sinks.NewPredictor(net, p.Recipe())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = p.Close() })
				return p
			}
			want := of(fresh())
			moved := 0
			for i, a := range want {
				heat.Apply(a.Probs, len(set.Classes))
				prior.Apply(a.Probs)
				if want[i].Index = map[bool]int{true: 1}[a.Probs[1] > a.Probs[0]]; want[i].Index != a.Index {
					moved++
				}
				want[i].Class = set.Classes[want[i].Index]
			}
			if moved == 0 {
				t.Errorf("%s: the prior changes no answer", trial.name)
			}
			if err := errors.Join(heat.Keep(net), prior.Keep(net)); err != nil {
				t.Fatal(err)
			}
			if got := of(fresh()); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, smoothed %v: %v, want %v", trial.name, smooth, got, want)
			}
			path := filepath.Join(t.TempDir(), "model")
			if err := sinks.Save(path, net, p.Recipe()); err != nil {
				t.Fatal(err)
			}
			q, err := sinks.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			if got := of(q); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, smoothed %v, loaded: %v, want %v", trial.name, smooth, got, want)
			}
			if smooth {
				continue
			}
			row := 0
			err = trial.stream(set, roots).To(sinks.Predict{Net: q.Net(), Each: func(one sinks.Prediction) error {
				if a := want[row]; one.Class != a.Index || !slices.Equal(one.Probs, a.Probs) {
					t.Errorf("%s: row %d: %+v, want %+v", trial.name, row, one, a)
				}
				row++
				return nil
			}}).Run(t.Context())
			if err != nil || row != len(roots) {
				t.Errorf("%d rows, %v", row, err)
			}
			for _, text := range []string{"0", "51", "NaN", "x"} {
				net.Metadata()["temperature"] = text
				_, err := sinks.NewPredictor(net, p.Recipe())
				streamed := trial.stream(set, roots).To(sinks.Predict{Net: net, Each: func(sinks.Prediction) error { return nil }}).Run(t.Context())
				for _, err := range []error{err, streamed} {
					if err == nil || !strings.Contains(err.Error(), "from 1/50 to 50") {
						t.Errorf("%q: %v", text, err)
					}
				}
			}
			delete(net.Metadata(), "temperature")
			delete(net.Metadata(), "prior")
		}
	}
	if explained == 0 {
		t.Error("no answer is explained")
	}
	if err := sinks.Temperature(0).Keep(&nn.CNN{}); err == nil {
		t.Error("a temperature of 0 is kept")
	}
}
