package kernel

import (
	"fmt"
	"math"
	"testing"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

func TestAxpyDot(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		for _, n := range append(lengths, 1000) {
			name := fmt.Sprint("n=", n)
			x, y := random(r, n), newGuarded(n)
			copy(y.x, random(r, n))
			if got, want := Dot(x, y.x), dotGeneric(x, y.x); !closeTo(got, want, n) {
				t.Errorf("Dot %s: %v, want %v", name, got, want)
			}
			want := append([]float32(nil), y.x...)
			axpyGeneric(0.7, x, want)
			Axpy(0.7, x, y.x)
			compare(t, "Axpy "+name, y.x, want, 1)
			y.check(t, "Axpy "+name, all)
		}
	})
}

func TestBiasReLU(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		for _, rows := range []int{0, 1, 2, 3, 7, 12} {
			for _, c := range lengths {
				name := fmt.Sprintf("rows=%d c=%d", rows, c)
				x, bias := newGuarded(rows*c), random(r, c)
				copy(x.x, random(r, rows*c))
				want := append([]float32(nil), x.x...)
				if rows*c > 0 {
					biasReLUGeneric(want, bias)
				}
				BiasReLU(x.x, rows, c, bias)
				compare(t, "BiasReLU "+name, x.x, want, 0)
				x.check(t, "BiasReLU "+name, all)

				db := newGuarded(c)
				copy(db.x, random(r, c))
				dy := random(r, rows*c)
				want = append(want[:0], db.x...)
				if rows*c > 0 {
					addBiasGradGeneric(want, dy)
				}
				AddBiasGrad(db.x, dy, rows, c)
				compare(t, "AddBiasGrad "+name, db.x, want, rows)
				db.check(t, "AddBiasGrad "+name, all)
			}
		}
	})
}

func TestReLUGrad(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		for _, n := range append(lengths, 1000) {
			y, dy := random(r, n), newGuarded(n)
			copy(dy.x, random(r, n))
			for i := 0; i < n; i += 3 {
				y[i] = 0
			}
			want := append([]float32(nil), dy.x...)
			reluGradGeneric(want, y)
			ReLUGrad(dy.x, y)
			compare(t, fmt.Sprint("ReLUGrad n=", n), dy.x, want, 0)
			dy.check(t, "ReLUGrad", all)
		}
	})
}

func TestReLUSpecial(t *testing.T) {
	negZero := float32(math.Copysign(0, -1))
	forEachVariant(t, func(t *testing.T) {
		for _, rows := range []int{1, 40} { // the tail, and the body, of the loop
			in := []float32{nan, inf, -inf, 0, negZero, -1, 1}
			relu := []float32{nan, inf, 0, 0, 0, 0, 1}
			grad := []float32{5, 5, 0, 0, 0, 0, 5}
			var x, dy []float32
			for range rows {
				x = append(x, in...)
				dy = append(dy, 5, 5, 5, 5, 5, 5, 5)
			}
			ReLUGrad(dy, x)
			BiasReLU(x, rows, len(in), make([]float32, len(in)))
			for i := range x {
				if want := relu[i%len(in)]; !closeTo(x[i], want, 0) {
					t.Errorf("BiasReLU(%v) = %v, want %v", in[i%len(in)], x[i], want)
				}
				if want := grad[i%len(in)]; dy[i] != want {
					t.Errorf("ReLUGrad at y = %v: %v, want %v", in[i%len(in)], dy[i], want)
				}
			}
		}
	})
}

func TestVectorPanics(t *testing.T) {
	x := make([]float32, 6)
	mustPanic(t, "Axpy", func() { Axpy(1, x, x[:5]) })
	mustPanic(t, "Dot", func() { Dot(x, x[:5]) })
	mustPanic(t, "ReLUGrad", func() { ReLUGrad(x, x[:5]) })
	mustPanic(t, "BiasReLU", func() { BiasReLU(x, 3, 3, x) })
	mustPanic(t, "BiasReLU bias", func() { BiasReLU(x, 2, 3, x[:2]) })
	mustPanic(t, "AddBiasGrad", func() { AddBiasGrad(x[:2], x, 2, 3) })
	mustPanic(t, "negative rows", func() { AddBiasGrad(x, x, -2, 3) })
}

func TestVectorAllocs(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		if n := testing.AllocsPerRun(20, func() {
			var row [16]float32 // stays on the stack
			var x, y, v [50]float32
			GatherFields(row[:], 1, 16, x[:], []int32{0, 32, -1})
			ScatterFields(x[:], []int32{0, 32, -1}, row[:], 1, 16)
			Axpy(2, x[:], y[:])
			_ = Dot(x[:], y[:])
			BiasReLU(x[:], 5, 10, y[:])
			ReLUGrad(x[:], y[:])
			AddBiasGrad(row[:], x[:], 5, 10)
			RMSprop(x[:], y[:], v[:], 1, 0.9, 1)
			AdaGrad(x[:], y[:], v[:], 1, 1)
			AddRows(row[:], x[:], []int32{0, 2}, y[:2])
			AddToRows(x[:], []int32{0, 2}, y[:2], row[:])
			AdaGradRows(x[:], v[:], 16, []int32{0, 2}, y[:32], 1, 1)
		}); n > 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
