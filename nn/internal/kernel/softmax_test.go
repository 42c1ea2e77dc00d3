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
	loss, correct := SoftmaxCE(logits, 2, 3, []int32{0, 1}, grad)
	if want := (math.Log(3) + math.Log(4)) / 2; math.Abs(loss-want) > 1e-7 {
		t.Errorf("loss %v, want %v", loss, want)
	}
	if correct != 1 {
		t.Errorf("correct %d, want 1", correct)
	}
	third := float32(1) / 3
	compare(t, "grad", grad, []float32{(third - 1) / 2, third / 2, third / 2, .25, -.375, .125}, 0)

	loss2, _ := SoftmaxCE(logits, 2, 3, []int32{0, 1}, logits) // in place
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
	SoftmaxCE(x, rows, c, target, grad)
	for i, v := range x {
		x[i] = v + h
		up, _ := SoftmaxCE(x, rows, c, target, scratch)
		x[i] = v - h
		down, _ := SoftmaxCE(x, rows, c, target, scratch)
		x[i] = v
		if d := (up - down) / (2 * h); math.Abs(d-float64(grad[i])) > 1e-5 {
			t.Errorf("gradient %d is %v, differences give %v", i, grad[i], d)
		}
	}
}

func TestSoftmaxCEExtremes(t *testing.T) {
	grad := make([]float32, 2)
	if loss, correct := SoftmaxCE([]float32{1e30, -1e30}, 1, 2, []int32{0}, grad); loss != 0 || correct != 1 {
		t.Errorf("certain and right: loss %v, correct %d", loss, correct)
	}
	if loss, _ := SoftmaxCE([]float32{500, -500}, 1, 2, []int32{1}, grad); loss != 1000 {
		t.Errorf("certain and wrong: loss %v, want 1000", loss)
	}
	for _, bad := range []float32{nan, inf} {
		for i := range 2 {
			x := []float32{0, 0}
			x[i] = bad
			if loss, _ := SoftmaxCE(x, 1, 2, []int32{0}, grad); !math.IsNaN(loss) {
				t.Errorf("logits %v: loss %v, want NaN", x, loss)
			}
		}
	}
	if loss, correct := SoftmaxCE(nil, 0, 3, nil, nil); loss != 0 || correct != 0 {
		t.Errorf("no rows: loss %v, correct %d", loss, correct)
	}
	mustPanic(t, "target", func() { SoftmaxCE([]float32{0, 0}, 1, 2, []int32{2}, grad) })
	mustPanic(t, "short grad", func() { SoftmaxCE([]float32{0, 0}, 1, 2, []int32{1}, grad[:1]) })
}
