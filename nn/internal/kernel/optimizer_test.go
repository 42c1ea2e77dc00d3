package kernel

import (
	"fmt"
	"slices"
	"testing"
)

// optimizers take a step on w; m and v are their memory.
var optimizers = []struct {
	name        string
	fast, plain func(w, g, m, v []float32)
}{
	{"RMSprop",
		func(w, g, m, v []float32) { RMSprop(w, g, v, 1e-2, 0.9, 1e-7) },
		func(w, g, m, v []float32) { rmspropGeneric(w, g, v, 1e-2, 0.9, 1e-7) }},
	{"Adam",
		func(w, g, m, v []float32) { Adam(w, g, m, v, 1e-2, 0.9, 0.99, 1e-7) },
		func(w, g, m, v []float32) { adamGeneric(w, g, m, v, 1e-2, 0.9, 0.99, 1e-7) }},
}

func TestOptimizers(t *testing.T) {
	for _, o := range optimizers {
		forEachVariant(t, func(t *testing.T) {
			r := newRand()
			for _, n := range append(lengths, 1000) {
				w, m, v, g := newGuarded(n), newGuarded(n), newGuarded(n), random(r, n)
				copy(w.x, random(r, n))
				clear(m.x)
				clear(v.x)
				if n > 2 {
					g[n/2] = 0 // with v = 0: no step, and no 0/0
				}
				wantW, wantM, wantV := slices.Clone(w.x), slices.Clone(m.x), slices.Clone(v.x)
				for range 3 {
					o.plain(wantW, g, wantM, wantV)
					o.fast(w.x, g, m.x, v.x)
				}
				for _, x := range []struct {
					name string
					got  guarded
					want []float32
				}{{"w", w, wantW}, {"m", m, wantM}, {"v", v, wantV}} {
					name := fmt.Sprintf("%s: %s, n=%d", o.name, x.name, n)
					compare(t, name, x.got.x, x.want, 0)
					x.got.check(t, name, all)
				}
			}
		})
	}
}

// One step from rest, by hand: w = 1, g = 0.5.
func TestOptimizersByHand(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		for _, c := range []struct {
			name string
			step func(w, g, v, m []float32)
			want float32
		}{
			// v = 0.5
			// w - rate·(g + 0.9·v)
			// m = 0.1·0.5, v = 0.01·0.25, √v = 0.05
			{"Adam", func(w, g, v, m []float32) { Adam(w, g, m, v, 0.1, 0.9, 0.99, 0) }, 1 - 0.1*0.05/0.05},
			// v = 0.25, √v = 0.5
			{"AdaGrad", func(w, g, v, m []float32) { AdaGrad(w, g, v, 0.1, 0.5) }, 1 - 0.1*0.5/(0.5+0.5)},
			// v = 0.1·0.25, √v = 0.1581139
			{"RMSprop", func(w, g, v, m []float32) { RMSprop(w, g, v, 0.1, 0.9, 0) }, 1 - 0.1*0.5/0.15811388},
		} {
			w := []float32{1}
			c.step(w, []float32{0.5}, []float32{0}, []float32{0})
			if !closeTo(w[0], c.want, 0) {
				t.Errorf("%s: w = %v, want %v", c.name, w[0], c.want)
			}
		}
	})
}

func TestOptimizerPanics(t *testing.T) {
	x := make([]float32, 6)
	mustPanic(t, "RMSprop", func() { RMSprop(x, x, x[:5], 1, 1, 1) })
	mustPanic(t, "AdaGrad", func() { AdaGrad(x, x[:5], x, 1, 1) })
	mustPanic(t, "Adam", func() { Adam(x, x, x, x[:5], 1, 1, 1, 1) })
}

func BenchmarkOptimizers(b *testing.B) {
	r := newRand()
	for _, n := range []int{12000, 300000} {
		w, g, m, v := random(r, n), random(r, n), make([]float32, n), make([]float32, n)
		for _, o := range optimizers {
			benchValues(b, fmt.Sprintf("%s/n=%d", o.name, n), n, func() { o.fast(w, g, m, v) })
		}
	}
}
