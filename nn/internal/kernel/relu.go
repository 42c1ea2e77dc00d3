package kernel

import "fmt"

// BiasReLU replaces x, which is (rows, c), by max(x+bias, 0).
//
// NaN stays NaN, so a network that has diverged shows it in its loss; +Inf
// stays, -Inf becomes 0.
func BiasReLU(x []float32, rows, c int, bias []float32) {
	checkRows("BiasReLU", "x", x, rows, c)
	if len(bias) < c {
		panic(fmt.Sprintf("kernel: BiasReLU: bias has %d values, want %d", len(bias), c))
	}
	if rows > 0 && c > 0 {
		biasReLU(x[:rows*c], bias[:c])
	}
}

// ReLUGrad sets dy to 0 where y, the output of the layer, is not positive.
// If y is NaN dy stays.
func ReLUGrad(dy, y []float32) {
	if len(dy) != len(y) {
		panic(fmt.Sprintf("kernel: ReLUGrad: dy has %d values, y has %d", len(dy), len(y)))
	}
	reluGrad(dy, y)
}

// AddBiasGrad adds the column sums of dy, which is (rows, c), to db.
func AddBiasGrad(db []float32, dy []float32, rows, c int) {
	checkRows("AddBiasGrad", "dy", dy, rows, c)
	if len(db) < c {
		panic(fmt.Sprintf("kernel: AddBiasGrad: db has %d values, want %d", len(db), c))
	}
	if rows > 0 && c > 0 {
		addBiasGrad(db[:c], dy[:rows*c])
	}
}

func checkRows(op, name string, x []float32, rows, c int) {
	if rows < 0 || c < 0 {
		panic(fmt.Sprintf("kernel: %s: negative size rows=%d c=%d", op, rows, c))
	}
	if len(x) < rows*c {
		panic(fmt.Sprintf("kernel: %s: %s has %d values, want %d×%d", op, name, len(x), rows, c))
	}
}

func biasReLUGeneric(x, bias []float32) {
	for c := len(bias); len(x) > 0; x = x[c:] {
		for j, b := range bias {
			v := x[j] + b
			if v < 0 {
				v = 0
			}
			x[j] = v
		}
	}
}

func reluGradGeneric(dy, y []float32) {
	dy = dy[:len(y)]
	for i, v := range y {
		if v <= 0 {
			dy[i] = 0
		}
	}
}

func addBiasGradGeneric(db, dy []float32) {
	for c := len(db); len(dy) > 0; dy = dy[c:] {
		for j, v := range dy[:c] {
			db[j] += v
		}
	}
}
