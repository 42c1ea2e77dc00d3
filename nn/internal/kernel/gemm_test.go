package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

type gemmFunc func(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool)

// product is one of the three with what differs between them.
type product struct {
	name  string
	fast  gemmFunc
	plain gemmFunc

	// shape returns rows and columns of A, B and C, and the number of terms of
	// a sum.
	shape func(m, n, k int) (ar, ac, br, bc, cr, cc, terms int)
}

var products = []product{
	{"Gemm", Gemm, gemmGeneric, func(m, n, k int) (ar, ac, br, bc, cr, cc, terms int) { return m, k, k, n, m, n, k }},
	{"GemmTN", GemmTN, gemmTNGeneric, func(m, n, k int) (ar, ac, br, bc, cr, cc, terms int) { return m, k, m, n, k, n, m }},
	{"GemmNT", GemmNT, gemmNTGeneric, func(m, n, k int) (ar, ac, br, bc, cr, cc, terms int) { return m, n, k, n, m, k, n }},
}

// gemmCase is one call; pads are added to the smallest strides, overlap
// replaces a stride when it is not 0.
type gemmCase struct {
	m, n, k            int
	padA, padB, padC   int
	overlapA, overlapC int
	acc                bool
}

func size(rows, cols, ld int) int {
	if rows == 0 || cols == 0 {
		return 0
	}
	return (rows-1)*ld + cols
}

func checkProduct(t *testing.T, p product, g gemmCase, r *rand.Rand) {
	t.Helper()
	name := fmt.Sprintf("%s%+v", p.name, g)
	ar, ac, br, bc, cr, cc, terms := p.shape(g.m, g.n, g.k)
	lda, ldb, ldc := ac+g.padA, bc+g.padB, cc+g.padC
	if g.overlapA != 0 {
		lda = g.overlapA
	}
	if g.overlapC != 0 {
		ldc = g.overlapC
		terms *= cc/ldc + 1
	}
	a, b := random(r, size(ar, ac, lda)), random(r, size(br, bc, ldb))
	got := newGuarded(size(cr, cc, ldc))
	in := func(i int) bool { return i%ldc < cc || g.overlapC != 0 }
	for i, v := range random(r, len(got.x)) {
		if in(i) {
			got.x[i] = v
		}
	}
	want := append([]float32(nil), got.x...)
	if terms > 0 && len(want) > 0 { // the entry points take care of empty sums
		p.plain(g.m, g.n, g.k, a, lda, b, ldb, want, ldc, g.acc)
	} else {
		clearUnless(g.acc || len(want) == 0, cr, cc, want, ldc)
	}
	p.fast(g.m, g.n, g.k, a, lda, b, ldb, got.x, ldc, g.acc)
	compare(t, name, got.x, want, terms)
	got.check(t, name, in)
}

func TestGemm(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		for _, p := range products {
			for _, n := range []int{1, 2, 3, 7, 8, 9, 11, 15, 16, 17, 31, 32, 33, 65} {
				for _, k := range []int{0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 40, 41, 49, 81} {
					for _, m := range []int{1, 2, 9, 12, 13, 21, 25} {
						checkProduct(t, p, gemmCase{m: m, n: n, k: k, acc: (m+n+k)%2 == 0}, r)
					}
				}
			}
		}
	})
}

// Every number of rows up to twice the tallest tile, for every product.
func TestGemmRows(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		for _, p := range products {
			for m := range 60 {
				for _, n := range []int{2, 5, 8, 12, 20, 40} {
					checkProduct(t, p, gemmCase{m: m, n: n, k: 13, acc: true}, r)
					checkProduct(t, p, gemmCase{m: m, n: n, k: 10}, r)
					checkProduct(t, p, gemmCase{m: 13, n: n, k: m, acc: true}, r)
					checkProduct(t, p, gemmCase{m: 10, n: n, k: m}, r)
				}
			}
		}
	})
}

func TestGemmStrides(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		for _, p := range products {
			for i := range 400 {
				g := gemmCase{m: 1 + r.IntN(50), n: 1 + r.IntN(50), k: 1 + r.IntN(50), acc: i%2 == 0}
				g.padA, g.padB, g.padC = r.IntN(6), r.IntN(6), r.IntN(6)
				if i%3 == 0 {
					g.overlapA = 1 + r.IntN(20)
				}
				if i%4 == 0 && p.name != "GemmTN" {
					g.overlapC = 1 + r.IntN(20)
				}
				checkProduct(t, p, g, r)
			}
		}
	})
}

// Sums longer than one block, and the shapes of the networks.
func TestGemmLarge(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		for _, g := range []gemmCase{
			{m: 21, n: 8, k: 160, overlapA: 16},
			{m: 275, n: 8, k: 160, overlapA: 16, acc: true},
			{m: 32, n: 128, k: 600},
			{m: 33, n: 130, k: 515, acc: true},
			{m: 1, n: 128, k: 300},
			{m: 128, n: 2, k: 128},
			{m: 700, n: 3, k: 128},
			{m: 700, n: 33, k: 17},
			{m: 9, n: 700, k: 35},
			{m: 100, n: 100, k: 81},
		} {
			for _, p := range products {
				h := g
				if p.name == "GemmNT" && g.overlapA != 0 {
					h.overlapA, h.overlapC, h.acc = 0, g.overlapA, true
				}
				checkProduct(t, p, h, r)
			}
		}
	})
}

// Same input, same bytes.
func TestGemmDeterministic(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		const m, n, k = 37, 41, 300
		for _, p := range products {
			ar, ac, br, bc, cr, cc, _ := p.shape(m, n, k)
			a, b := random(r, ar*ac), random(r, br*bc)
			var first []float32
			for off := range 20 { // wherever the result lies in memory
				c := make([]float32, cr*cc+off)[off:]
				p.fast(m, n, k, a, ac, b, bc, c, cc, false)
				if first == nil {
					first = c
				}
				for i := range c {
					if c[i] != first[i] {
						t.Fatalf("%s: value %d is %v, then %v", p.name, i, first[i], c[i])
					}
				}
			}
		}
	})
}

func TestGemmPanics(t *testing.T) {
	x := make([]float32, 12)
	mustPanic(t, "negative size", func() { Gemm(-1, 2, 3, x, 3, x, 2, x, 2, false) })
	mustPanic(t, "short A", func() { Gemm(5, 2, 3, x, 3, x, 2, x, 2, false) })
	mustPanic(t, "short B", func() { Gemm(2, 7, 2, x, 2, x, 7, x, 7, false) })
	mustPanic(t, "narrow stride", func() { GemmTN(2, 3, 3, x, 3, x, 2, x, 3, false) })
	mustPanic(t, "overlapping C, not acc", func() { GemmNT(2, 1, 3, x, 3, x, 2, x, 1, false) })
	mustPanic(t, "zero stride", func() { GemmNT(2, 1, 3, x, 0, x, 2, x, 3, false) })
}

func TestGemmAllocs(t *testing.T) {
	r := newRand()
	a, b, c := random(r, 64*64), random(r, 64*64), random(r, 64*64)
	forEachVariant(t, func(t *testing.T) {
		for _, p := range products {
			if n := testing.AllocsPerRun(20, func() { p.fast(64, 64, 64, a, 64, b, 64, c, 64, true) }); n > 0 {
				t.Errorf("%s: %v allocations", p.name, n)
			}
		}
	})
}

// FuzzGemm compares the variants with the plain loops on sizes, strides and
// offsets that the fuzzer picks.
func FuzzGemm(f *testing.F) {
	f.Add(uint64(1), uint8(21), uint8(8), uint8(160), uint8(16), uint8(0), uint8(0), true)
	f.Add(uint64(2), uint8(33), uint8(17), uint8(5), uint8(0), uint8(3), uint8(7), false)
	f.Add(uint64(3), uint8(33), uint8(0), uint8(4), uint8(185), uint8(0), uint8(0), false)
	f.Fuzz(func(t *testing.T, seed uint64, m, n, k, overlap, padB, padC uint8, acc bool) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, v := range variants() {
			use(v)
			for _, p := range products {
				g := gemmCase{m: int(m), n: int(n), k: int(k), padB: int(padB), padC: int(padC), overlapA: int(overlap), acc: acc}
				checkProduct(t, p, g, r)
				if p.name == "GemmNT" && acc && overlap > 0 {
					g.overlapA, g.overlapC = 0, int(overlap)
					checkProduct(t, p, g, r)
				}
			}
		}
		use(best)
	})
}

func TestTranspose(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		for _, rows := range lengths {
			for _, cols := range []int{0, 1, 3, 4, 5, 8, 15, 16, 18} {
				src, dst := random(r, rows*cols), newGuarded(rows*cols)
				Transpose(dst.x, src, rows, cols)
				for i := range rows {
					for j := range cols {
						if dst.x[j*rows+i] != src[i*cols+j] {
							t.Fatalf("%d×%d: entry %d, %d is wrong", rows, cols, i, j)
						}
					}
				}
				dst.check(t, "Transpose", all)
			}
		}
	})
	mustPanic(t, "dst", func() { Transpose(make([]float32, 5), make([]float32, 6), 2, 3) })
}
