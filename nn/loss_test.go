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

// The row of the first output that is not finite is named.
func TestLossOfNaN(t *testing.T) {
	p, nan := make([]float32, 2), float32(math.NaN())
	if bad := crossEntropy.predict(p, []float32{0, nan}, 1, Shape{Classes: 2}, unit{}); bad != 0 {
		t.Errorf("NaN in row 0: bad = %d", bad)
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
