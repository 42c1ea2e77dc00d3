package nn

import (
	"math"
	"strings"
	"testing"
)

// Each loss and its gradient against its definition, in float64, even if
// exponentials overflow.
func TestLosses(t *testing.T) {
	r := newRand(3)
	for _, test := range []struct {
		loss    lossName
		classes int
		of      func(y []float64, class int, value float64) float64
	}{
		{crossEntropy, 3, func(y []float64, class int, _ float64) float64 {
			return math.Log(math.Exp(y[0]-y[class]) + math.Exp(y[1]-y[class]) + math.Exp(y[2]-y[class]))
		}},
		{binaryCrossEntropy, 2, func(y []float64, class int, _ float64) float64 {
			p := 1 / (1 + math.Exp(-y[0]))
			if class == 0 {
				p = 1 / (1 + math.Exp(y[0]))
			}
			return -math.Log(p)
		}},
		{squared, 0, func(y []float64, _ int, v float64) float64 { return (y[0] - v) * (y[0] - v) }},
	} {
		s := Shape{Classes: test.classes}
		units := test.loss.units(s)
		for _, scale := range []float64{1, 20} {
			const rows = 9
			b := batch{rows: rows}
			y := make([]float32, rows*units)
			for i := range y {
				y[i] = float32(scale * r.NormFloat64())
			}
			for range rows {
				if test.classes > 0 {
					b.targets = append(b.targets, r.Int32N(int32(test.classes)))
				} else {
					b.values = append(b.values, float32(r.NormFloat64()))
				}
			}
			dy := make([]float32, len(y))
			tally := test.loss.compare(y, b, s, dy, 1.0/rows)
			var loss, abs float64
			want := make([]float64, len(y))
			for i := range rows {
				x := make([]float64, units)
				for j := range x {
					x[j] = float64(y[i*units+j])
				}
				class, value := 0, 0.0
				if test.classes > 0 {
					class = int(b.targets[i])
				} else {
					value = float64(b.values[i])
					abs += math.Abs(x[0] - value)
				}
				loss += test.of(x, class, value)
				for j := range x {
					const h = 1e-5
					x[j] += h
					up := test.of(x, class, value)
					x[j] -= 2 * h
					want[i*units+j] = (up - test.of(x, class, value)) / (2 * h) / rows
					x[j] += h
				}
			}
			if math.Abs(tally.loss-loss) > 1e-5*(1+loss) || math.Abs(tally.abs-abs) > 1e-5*(1+abs) || tally.rows != rows {
				t.Errorf("%s: %+v, want a loss of %v and an error of %v", test.loss, tally, loss, abs)
			}
			compare(t, string(test.loss), dy, want, 1e-5)
		}
	}
}

// Binary is cross-entropy of two classes whose outputs are 0 and z.
func TestBinaryIsTwoClasses(t *testing.T) {
	z := []float32{-1000, -50, -3, -1e-3, 0, 1e-3, 2, 60, 1000}
	b := batch{rows: len(z), targets: []int32{0, 1, 0, 1, 0, 1, 0, 1, 0}}
	two := make([]float32, 2*len(z))
	for i, v := range z {
		two[2*i+1] = v
	}
	s := Shape{Classes: 2}
	dz, dtwo := make([]float32, len(z)), make([]float32, len(two))
	got, want := binaryCrossEntropy.compare(z, b, s, dz, 1), crossEntropy.compare(two, b, s, dtwo, 1)
	if got.correct != want.correct || math.Abs(got.loss-want.loss) > 1e-9*want.loss {
		t.Errorf("%+v, want %+v", got, want)
	}
	p, q := make([]float32, len(two)), make([]float32, len(two))
	if bad := binaryCrossEntropy.predict(p, z, len(z), s, unit{}); bad >= 0 {
		t.Errorf("row %d has no prediction", bad)
	}
	crossEntropy.predict(q, two, len(z), s, unit{})
	for i := range z {
		if math.Abs(float64(dz[i]-dtwo[2*i+1])) > 1e-7 {
			t.Errorf("gradient at %v is %v, want %v", z[i], dz[i], dtwo[2*i+1])
		}
		if math.Abs(float64(p[2*i+1]-q[2*i+1])) > 1e-7 || math.Abs(float64(p[2*i]-q[2*i])) > 1e-7 {
			t.Errorf("probabilities at %v are %v, want %v", z[i], p[2*i:2*i+2], q[2*i:2*i+2])
		}
	}
	nan := float32(math.NaN())
	if bad := binaryCrossEntropy.predict(p, []float32{0, nan}, 2, s, unit{}); bad != 1 {
		t.Errorf("NaN in row 1: bad = %d", bad)
	}
	if bad := squared.predict(p, []float32{nan, 0}, 2, Shape{}, unit{}); bad != 0 {
		t.Errorf("NaN in row 0: bad = %d", bad)
	}
}

func TestLossSettings(t *testing.T) {
	for _, test := range []struct {
		net     Model
		classes int
		want    lossName
		err     string
	}{
		{&CNN{}, 5, crossEntropy, ""},
		{&CNN{}, 0, squared, ""},
		{&Link{}, 2, binaryCrossEntropy, ""},
		{&Link{}, 3, "", `Loss is "binary cross-entropy", which is for 2 classes, the data have 3`},
	} {
		err := test.net.Init(Shape{W: 2, K: 1, Attrs: 1, Classes: test.classes})
		switch {
		case test.err == "" && (err != nil || learnerOf(test.net).loss != test.want):
			t.Errorf("%T with %d classes: %v, want %q", test.net, test.classes, err, test.want)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%T with %d classes: %v, want %q", test.net, test.classes, err, test.err)
		}
	}
}
