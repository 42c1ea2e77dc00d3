package kernel

import (
	"fmt"
	"math"
)

// In each function below, a value of y depends on its own x alone and not on its position, so cutting
// a batch does not change a bit. y and x may be one slice. The error bounds were checked on every
// seventh float32 against math.Exp and math.Tanh, in units of the last place (ulp) of the result.

// Sigmoid sets y[i] to 1/(1+exp(-x[i])), to within 2.5 ulp.
func Sigmoid(y, x []float32) {
	checkEach("Sigmoid", y, x)
	sigmoid(y, x)
}

// Tanh sets y[i] to tanh(x[i]), to within 2.5 ulp.
func Tanh(y, x []float32) {
	checkEach("Tanh", y, x)
	tanh(y, x)
}

func checkEach(op string, y, x []float32) {
	if len(y) != len(x) {
		panic(fmt.Sprintf("kernel: %s: y has %d values, x has %d", op, len(y), len(x)))
	}
}

func sigmoidGeneric(y, x []float32) {
	for i, v := range x {
		y[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
}

func tanhGeneric(y, x []float32) {
	for i, v := range x {
		y[i] = float32(math.Tanh(float64(v)))
	}
}

// SoftmaxCE compares logits, which is (rows, c), with the class that target
// names for each row:
//
//	loss    = sum over rows of -log softmax(row)[target]
//	grad    = scale·(softmax(row) - onehot(target))
//	correct = rows whose largest logit is the target's; the first of equals counts
//
// grad is written whole and may be logits. A row that holds NaN or +Inf makes
// the loss NaN.
func SoftmaxCE(logits []float32, rows, c int, target []int32, grad []float32, scale float64) (loss float64, correct int) {
	checkRows("SoftmaxCE", "logits", logits, rows, c)
	checkRows("SoftmaxCE", "grad", grad, rows, c)
	if len(target) < rows {
		panic(fmt.Sprintf("kernel: SoftmaxCE: target has %d values, want %d", len(target), rows))
	}
	// The sum of logarithms is the logarithm of a product, which is computed once for many rows.
	product := 1.0
	for i, t := range target[:rows] {
		if t < 0 || int(t) >= c {
			panic(fmt.Sprintf("kernel: SoftmaxCE: target[%d] is %d, want 0 to %d", i, t, c-1))
		}
		x, g := logits[i*c:i*c+c], grad[i*c:i*c+c]
		best := 0
		for j, v := range x {
			if v > x[best] {
				best = j
			}
		}
		if best == int(t) {
			correct++
		}
		top := x[best]
		loss += float64(top) - float64(x[t])
		var sum float64
		for j, v := range x {
			e := float32(math.Exp(float64(v - top)))
			sum += float64(e)
			g[j] = e // overwrites x[j] if grad is logits
		}
		if product *= sum; product > 1e200 {
			loss += math.Log(product)
			product = 1
		}
		part := scale / sum
		own := float32(float64(g[t])*part - scale) // in float64, because 1 - p loses digits in float32
		for j, e := range g {
			g[j] = float32(float64(e) * part)
		}
		g[t] = own
	}
	return loss + math.Log(product), correct
}
