package kernel

import (
	"fmt"
	"math"
)

// SoftmaxCE compares logits, which is (rows, classes) with classes =
// len(logits)/rows, with the class that target names for each row:
//
//	loss    = mean over rows of -log softmax(row)[target]
//	grad    = (softmax(row) - onehot(target)) / rows
//	correct = rows whose largest logit is the target's; the first of equals counts
//
// grad is written whole and may be logits. A row that holds NaN or +Inf makes
// the loss NaN.
//
// There is no assembly: a batch has rows·classes exponentials, a handful beside
// the products of the layer before.
func SoftmaxCE(logits []float32, rows, c int, target []int32, grad []float32) (loss float64, correct int) {
	checkRows("SoftmaxCE", "logits", logits, rows, c)
	checkRows("SoftmaxCE", "grad", grad, rows, c)
	if len(target) < rows {
		panic(fmt.Sprintf("kernel: SoftmaxCE: target has %d values, want %d", len(target), rows))
	}
	for i, t := range target[:rows] {
		if t < 0 || int(t) >= c {
			panic(fmt.Sprintf("kernel: SoftmaxCE: target[%d] is %d, want 0 to %d", i, t, c-1))
		}
		l, hit := softmaxRow(logits[i*c:i*c+c], int(t), grad[i*c:i*c+c], rows)
		loss += l
		if hit {
			correct++
		}
	}
	if rows > 0 {
		loss /= float64(rows)
	}
	return loss, correct
}

func softmaxRow(x []float32, t int, grad []float32, rows int) (loss float64, hit bool) {
	best := 0
	for j, v := range x {
		if v > x[best] {
			best = j
		}
	}
	top, xt := float64(x[best]), float64(x[t])
	var sum float64
	for j, v := range x {
		e := math.Exp(float64(v) - top)
		sum += e
		grad[j] = float32(e) // overwrites x[j] when grad is logits
	}
	scale := 1 / (sum * float64(rows))
	for j, e := range grad {
		g := float64(e) * scale
		if j == t {
			g -= 1 / float64(rows)
		}
		grad[j] = float32(g)
	}
	return math.Log(sum) - (xt - top), best == t
}
