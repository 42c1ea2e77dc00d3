package validation

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// TestMeasuresPeer compares with what testdata/measures.py has written by scikit-learn.
func TestMeasuresPeer(t *testing.T) {
	content, err := os.ReadFile("testdata/measures.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Classes                     int
			Class                       []int32
			Probs, Smooth, Untied       []float32
			Accuracy, Balanced          float64
			AUC, AP, MRR                float64
			LogLoss, Brier, Calibration float64
		}
		Numbers struct {
			Want, Said []float64
			RMSE, MAE  float64
		}
	}
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	check := func(m Measure, a Answers, want, tolerance float64) {
		t.Helper()
		if got, err := m.Of(&a); err != nil || math.Abs(got-want) > tolerance {
			t.Errorf("%s of %d rows, %d classes: %v, %v, want %v", m, a.Rows(), a.Classes, got, err, want)
		}
	}
	for _, c := range file.Cases {
		a := Answers{Classes: c.Classes, Class: c.Class, Probs: c.Probs}
		for m, want := range map[Measure]float64{Accuracy: c.Accuracy, Balanced: c.Balanced, ROC: c.AUC, Precision: c.AP, Brier: c.Brier, Calibration: c.Calibration} {
			check(m, a, want, 1e-12)
		}
		a.Probs = c.Smooth
		check(LogLoss, a, c.LogLoss, 1e-6) // of float32
		a.Probs = c.Untied
		check(MRR, a, c.MRR, 1e-12)
	}
	n := Answers{Want: file.Numbers.Want, Value: file.Numbers.Said}
	check(RMSE, n, file.Numbers.RMSE, 1e-12)
	check(MAE, n, file.Numbers.MAE, 1e-12)
}

// Measures that count pairs and places are what counting all of them gives, and the order of rows
// does not matter.
func TestMeasuresBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		classes, rows := 2+r.IntN(3), 2+r.IntN(12)
		a := Answers{Classes: classes}
		for range rows {
			a.Class = append(a.Class, int32(r.IntN(classes)))
			for range classes {
				a.Probs = append(a.Probs, float32(r.IntN(4))/4)
			}
		}
		var auc, mrr float64
		counted := 0
		for c := range classes {
			won, pairs := 0.0, 0.0
			for i := range rows {
				for j := range rows {
					if int(a.Class[i]) == c && int(a.Class[j]) != c {
						p, q := a.row(i)[c], a.row(j)[c]
						pairs++
						if p > q {
							won++
						} else if p == q {
							won += 0.5
						}
					}
				}
			}
			if pairs > 0 && (classes > 2 || c == 1) {
				auc, counted = auc+won/pairs, counted+1
			}
		}
		for i, c := range a.Class {
			higher, equal := 0.0, 0.0
			for other, p := range a.row(i) {
				if p > a.row(i)[c] {
					higher++
				} else if p == a.row(i)[c] && other != int(c) {
					equal++
				}
			}
			mrr += 1 / (1 + higher + equal/2) / float64(rows)
		}
		if got, err := ROC.Of(&a); counted > 0 && (err != nil || math.Abs(got-auc/float64(counted)) > 1e-12) || (err == nil) != (counted > 0) {
			t.Errorf("%+v: AUC %v, %v, want %v", a, got, err, auc/float64(counted))
		}
		if got, _ := MRR.Of(&a); math.Abs(got-mrr) > 1e-12 {
			t.Errorf("%+v: MRR %v, want %v", a, got, mrr)
		}
		turned := Answers{Classes: classes}
		for _, i := range r.Perm(rows) {
			turned.Class, turned.Probs = append(turned.Class, a.Class[i]), append(turned.Probs, a.row(i)...)
		}
		for _, m := range Measures() {
			x, err := m.Of(&a)
			y, again := m.Of(&turned)
			if math.Abs(x-y) > 1e-12 || (err == nil) != (again == nil) {
				t.Errorf("%s: %v and %v in another order", m, x, y)
			}
		}
	}
}

func TestMeasureErrors(t *testing.T) {
	two := Answers{Classes: 2, Class: []int32{1, 1}, Probs: []float32{0, 1, 1, 0}}
	for _, test := range []struct {
		m    Measure
		a    Answers
		want string
	}{
		{ROC, two, "auc: all 2 rows are of one class"},
		{Precision, two, "ap: all 2 rows are of one class"},
		{Accuracy, Answers{Classes: 2}, "accuracy: there are no rows to measure"},
		{RMSE, two, "rmse is for numbers, and the rows have classes"},
		{Brier, Answers{Want: []float64{1}, Value: []float64{1}}, "brier is for classes, and the rows have numbers"},
		{MRR, Answers{Classes: 2, Class: []int32{0}}, "mrr: 1 rows, and answers for another number of them"},
		{MRR, Answers{Classes: 1, Class: []int32{1}, Probs: []float32{1}}, "mrr: row 0 is of class 1, want 0 to 0"},
		{"f1", two, `there is no measure "f1", want one of accuracy balanced auc`},
	} {
		if _, err := test.m.Of(&test.a); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	for _, m := range Measures() {
		if got, err := ParseMeasure(string(m)); got != m || err != nil || m.Loss(1) > m.Loss(0) != m.Lower() {
			t.Error(m, got, err)
		}
	}
}
