package kernel

import (
	"fmt"
	"math"
)

// Of each function below, every value is computed from its own x alone, in the
// same way wherever it lies: cutting a batch does not change a bit. y and x may
// be one slice. The bounds were checked on every seventh float32 against math.Exp and
// math.Tanh, in units of the last place (ulp) of the result.

// Exp sets y[i] to exp(x[i]), to within 1 ulp.
func Exp(y, x []float32) {
	checkEach("Exp", y, x)
	exp(y, x)
}

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

func expGeneric(y, x []float32) {
	for i, v := range x {
		y[i] = float32(math.Exp(float64(v)))
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
