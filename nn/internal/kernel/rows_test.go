package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// entries are rows, some of them twice, and factors.
func entries(n, rows int) (idx []int32, x []float32) {
	r := newRand()
	for range n {
		idx = append(idx, int32(r.IntN(rows)))
	}
	return idx, random(r, n)
}

func TestRows(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		const rows = 19
		for _, c := range append(lengths[1:], 20, 24, 60, 96) {
			for _, n := range []int{0, 1, 2, 7, 40} {
				name := fmt.Sprintf("c=%d n=%d", c, n)
				idx, x := entries(n, rows)
				table, dst := random(r, rows*c), newGuarded(c)
				copy(dst.x, random(r, c))
				want := slices.Clone(dst.x)
				for j, row := range idx {
					axpyGeneric(x[j], table[int(row)*c:][:c], want)
				}
				AddRows(dst.x, table, idx, x)
				compare(t, "AddRows "+name, dst.x, want, n)
				dst.check(t, "AddRows "+name, all)

				stride := Stride(c)
				to, src := newGuarded(rows*stride), random(r, c)
				clear(to.x)
				want = slices.Clone(to.x)
				for j, row := range idx {
					axpyGeneric(x[j], src, want[int(row)*stride:][:c])
				}
				AddToRows(to.x, idx, x, src)
				compare(t, "AddToRows "+name, to.x, want, n)
				to.check(t, "AddToRows "+name, all)
			}
		}
	})
}

// The step over some rows is that of AdaGrad over each, to the last bit.
func TestAdaGradRows(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		const rows = 11
		for _, c := range append(lengths[1:], 20, 24, 60) {
			name, stride := fmt.Sprintf("c=%d", c), Stride(c)
			w, v := newGuarded(rows*c), newGuarded(rows*c)
			copy(w.x, random(r, rows*c))
			clear(v.x)
			wantW, wantV := slices.Clone(w.x), slices.Clone(v.x)
			idx := []int32{3, 10, 0, 7}
			for range 3 {
				g := newGuarded(len(idx) * stride)
				clear(g.x)
				for j, row := range idx {
					one := g.x[j*stride:][:c]
					copy(one, random(r, c))
					AdaGrad(wantW[int(row)*c:][:c], one, wantV[int(row)*c:][:c], 0.05, 1e-3)
				}
				AdaGradRows(w.x, v.x, c, idx, g.x, 0.05, 1e-3)
				compare(t, name+": gradient", g.x, make([]float32, len(g.x)), 0)
				g.check(t, name+": gradient", all)
			}
			for i := range wantW {
				if math.Float32bits(w.x[i]) != math.Float32bits(wantW[i]) || math.Float32bits(v.x[i]) != math.Float32bits(wantV[i]) {
					t.Fatalf("%s: value %d is %v with v = %v, want %v and %v", name, i, w.x[i], v.x[i], wantW[i], wantV[i])
				}
			}
			w.check(t, name, all)
			v.check(t, name, all)
		}
	})
}

func TestRowsBadIndex(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		for _, c := range []int{3, 8, 20, 70} {
			x, row := make([]float32, 3), make([]float32, c)
			table, w := make([]float32, 5*Stride(c)), make([]float32, 5*c)
			for _, bad := range []int32{5, -1, math.MaxInt32, math.MinInt32} {
				idx := []int32{0, 4, bad}
				mustPanic(t, "AddRows", func() { AddRows(row, w, idx, x) })
				mustPanic(t, "AddToRows", func() { AddToRows(table, idx, x, row) })
				mustPanic(t, "AdaGradRows", func() { AdaGradRows(w, w, c, idx, make([]float32, 3*Stride(c)), 1, 1) })
			}
		}
		mustPanic(t, "no columns", func() { AddRows(nil, nil, nil, nil) })
		mustPanic(t, "short x", func() { AddToRows(make([]float32, 16), []int32{0}, nil, make([]float32, 3)) })
		mustPanic(t, "short g", func() { AdaGradRows(make([]float32, 8), make([]float32, 8), 4, []int32{0}, nil, 1, 1) })
		AddRows(make([]float32, 4), nil, nil, nil)
	})
}

// Rows of ten heads for two classes, as nn.Best has them.
func BenchmarkRows(b *testing.B) {
	const c, rows, n = 20, 4096, 700
	r := newRand()
	idx, x := entries(n, rows)
	w, v, dst, g := random(r, rows*c), random(r, rows*c), make([]float32, c), make([]float32, rows*Stride(c))
	for i, y := range v {
		v[i] = y * y
	}
	benchValues(b, fmt.Sprintf("AddRows/c=%d", c), n*c, func() { AddRows(dst, w, idx, x) })
	benchValues(b, fmt.Sprintf("AddToRows/c=%d", c), n*c, func() { AddToRows(g, idx, x, dst) })
	benchValues(b, fmt.Sprintf("AdaGradRows/c=%d", c), n*c, func() { AdaGradRows(w, v, c, idx, g[:n*Stride(c)], 1e-2, 1e-3) })
}
