package kernel

import (
	"math"
	"testing"
)

func TestSoftmaxCE(t *testing.T) {
	logits := []float32{
		0, 0, 0, // even: loss log 3, and the first maximum is class 0
		float32(math.Log(2)), 0, 0, // probabilities 1/2, 1/4, 1/4
	}
	grad := make([]float32, 6)
	loss, correct := SoftmaxCE(logits, 2, 3, []int32{0, 1}, grad, 0.5)
	if want := math.Log(3) + math.Log(4); math.Abs(loss-want) > 1e-7 {
		t.Errorf("loss %v, want %v", loss, want)
	}
	if correct != 1 {
		t.Errorf("correct %d, want 1", correct)
	}
	third := float32(1) / 3
	compare(t, "grad", grad, []float32{(third - 1) / 2, third / 2, third / 2, .25, -.375, .125}, 0)

	loss2, _ := SoftmaxCE(logits, 2, 3, []int32{0, 1}, logits, 0.5) // in place
	compare(t, "in place", logits, grad, 0)
	if loss2 != loss {
		t.Errorf("loss in place %v, want %v", loss2, loss)
	}
}

// The gradient against differences of the loss.
func TestSoftmaxCEGradient(t *testing.T) {
	r := newRand()
	const rows, c, h = 5, 4, 1e-2
	x, target := random(r, rows*c), []int32{3, 0, 1, 2, 2}
	grad, scratch := make([]float32, rows*c), make([]float32, rows*c)
	SoftmaxCE(x, rows, c, target, grad, 1)
	for i, v := range x {
		x[i] = v + h
		up, _ := SoftmaxCE(x, rows, c, target, scratch, 1)
		x[i] = v - h
		down, _ := SoftmaxCE(x, rows, c, target, scratch, 1)
		x[i] = v
		if d := (up - down) / (2 * h); math.Abs(d-float64(grad[i])) > 1e-5 {
			t.Errorf("gradient %d is %v, differences give %v", i, grad[i], d)
		}
	}
}

// Many rows, where the logarithm of the sums is taken now and then.
func TestSoftmaxCERows(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		const rows, c = 900, 7
		x, target := random(r, rows*c), make([]int32, rows)
		grad := make([]float32, rows*c)
		var want float64
		wantGrad, wantHits := make([]float32, rows*c), 0
		for i := range target {
			target[i] = r.Int32N(c)
			row := x[i*c : i*c+c]
			var sum float64
			best := 0
			for j, v := range row {
				sum += math.Exp(float64(v))
				if v > row[best] {
					best = j
				}
			}
			want += math.Log(sum) - float64(row[target[i]])
			if best == int(target[i]) {
				wantHits++
			}
			for j, v := range row {
				p := math.Exp(float64(v)) / sum
				if j == int(target[i]) {
					p--
				}
				wantGrad[i*c+j] = float32(p / rows)
			}
		}
		loss, hits := SoftmaxCE(x, rows, c, target, grad, 1.0/rows)
		if math.Abs(loss-want) > 1e-5*want || hits != wantHits {
			t.Errorf("loss %v, %d correct, want %v, %d", loss, hits, want, wantHits)
		}
		for i, g := range grad {
			if math.Abs(float64(g-wantGrad[i])) > 1e-6/rows {
				t.Fatalf("gradient %d is %v, want %v", i, g, wantGrad[i])
			}
		}
	})
}

func TestSoftmaxCEExtremes(t *testing.T) {
	grad := make([]float32, 2)
	if loss, correct := SoftmaxCE([]float32{1e30, -1e30}, 1, 2, []int32{0}, grad, 1); loss != 0 || correct != 1 {
		t.Errorf("certain and right: loss %v, correct %d", loss, correct)
	}
	if loss, _ := SoftmaxCE([]float32{500, -500}, 1, 2, []int32{1}, grad, 1); loss != 1000 {
		t.Errorf("certain and wrong: loss %v, want 1000", loss)
	}
	for _, bad := range []float32{nan, inf} {
		for i := range 2 {
			x := []float32{0, 0}
			x[i] = bad
			if loss, _ := SoftmaxCE(x, 1, 2, []int32{0}, grad, 1); !math.IsNaN(loss) {
				t.Errorf("logits %v: loss %v, want NaN", x, loss)
			}
		}
	}
	if loss, correct := SoftmaxCE(nil, 0, 3, nil, nil, 1); loss != 0 || correct != 0 {
		t.Errorf("no rows: loss %v, correct %d", loss, correct)
	}
	mustPanic(t, "target", func() { SoftmaxCE([]float32{0, 0}, 1, 2, []int32{2}, grad, 1) })
	mustPanic(t, "short grad", func() { SoftmaxCE([]float32{0, 0}, 1, 2, []int32{1}, grad[:1], 1) })
}
