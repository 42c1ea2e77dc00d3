package kernel

import (
	"hash/fnv"
	"math"
	"os"
	"testing"
)

// specialValues are those that a loop may treat by a way of its own.
var specialValues = []float32{
	nan, inf, -inf, 0, float32(math.Copysign(0, -1)), 1, math.MaxFloat32, -math.MaxFloat32, 1e20, -1e20,
	0x1p-126, -0x1p-126, 1e-40, -1e-40, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 88.8, -88.8, -104,
}

// specialKernel is a kernel of numbers over operands that it reads and writes in place. sizes
// returns the lengths of the operands for n values.
type specialKernel struct {
	name  string
	v     int // the operand that holds squares, if not 0
	sizes func(n int) []int
	run   func(n int, x [][]float32)
}

var specialKernels = []specialKernel{
	{"Axpy", 0, times(1, 1), func(n int, x [][]float32) { Axpy(0.7, x[0], x[1]) }},
	{"Axpy by x", 0, func(n int) []int { return []int{1, n, n} }, func(n int, x [][]float32) { Axpy(x[0][0], x[1], x[2]) }},
	{"Dot", 0, func(n int) []int { return []int{n, n, 1} }, func(n int, x [][]float32) { x[2][0] = Dot(x[0], x[1]) }},
	{"ReLUGrad", 0, times(1, 1), func(n int, x [][]float32) { ReLUGrad(x[0], x[1]) }},
	{"BiasReLU", 0, times(3, 1), func(n int, x [][]float32) { BiasReLU(x[0], 3, n, x[1]) }},
	{"AddBiasGrad", 0, times(1, 3), func(n int, x [][]float32) { AddBiasGrad(x[0], x[1], 3, n) }},
	{"GatherFields", 0, times(2, 3), func(n int, x [][]float32) {
		GatherFields(x[0], 2, n, x[1], []int32{0, int32(2 * n), -1, int32(n), -1, 0})
	}},
	{"ScatterFields", 0, times(3, 2), func(n int, x [][]float32) {
		ScatterFields(x[0], []int32{0, int32(2 * n), -1, int32(n), -1, 0}, x[1], 2, n)
	}},
	{"AddRows", 0, func(n int) []int { return []int{n, 3 * n, 3} }, func(n int, x [][]float32) { AddRows(x[0], x[1], []int32{0, 2, 1}, x[2]) }},
	{"AddToRows", 0, func(n int) []int { return []int{n, 3} }, func(n int, x [][]float32) {
		table := make([]float32, 3*Stride(n))
		AddToRows(table, []int32{0, 2, 1}, x[1], x[0])
		copy(x[0], table)
	}},
	{"AdaGradRows", 1, times(2, 2, 1), func(n int, x [][]float32) {
		g := make([]float32, 2*Stride(n))
		copy(g[:n], x[2])
		AdaGradRows(x[0], x[1], n, []int32{1, 0}, g, 1e-2, 1e-7)
	}},
	{"RMSprop", 2, times(1, 1, 1), func(n int, x [][]float32) { RMSprop(x[0], x[1], x[2], 1e-2, 0.9, 1e-7) }},
	{"AdaGrad", 2, times(1, 1, 1), func(n int, x [][]float32) { AdaGrad(x[0], x[1], x[2], 1e-2, 1e-7) }},
	{"Adam", 3, times(1, 1, 1, 1), func(n int, x [][]float32) { Adam(x[0], x[1], x[2], x[3], 1e-2, 0.9, 0.99, 1e-7) }},
	{"Sigmoid", 0, times(1, 1), func(n int, x [][]float32) { Sigmoid(x[0], x[1]) }},
	{"Tanh", 0, times(1, 1), func(n int, x [][]float32) { Tanh(x[0], x[1]) }},
	{"Drop", 0, times(1, 1), func(n int, x [][]float32) {
		draws := make([]uint16, n)
		for i := range draws {
			draws[i] = uint16(i % 3)
		}
		Drop(x[0], x[1], draws, 1, 2)
	}},
	{"Transpose", 0, times(5, 5), func(n int, x [][]float32) { Transpose(x[0], x[1], 5, n) }},
	{"SoftmaxCE", 0, times(2, 2), func(n int, x [][]float32) { SoftmaxCE(x[1], 2, n, []int32{0, int32(n - 1)}, x[0], 1) }},
	{"Gemm", 0, func(n int) []int { return []int{15, 5 * n, 3 * n} }, func(n int, x [][]float32) { Gemm(3, n, 5, x[0], 5, x[1], n, x[2], n, true) }},
	{"GemmTN", 0, func(n int) []int { return []int{15, 5 * n, 3 * n} }, func(n int, x [][]float32) { GemmTN(5, n, 3, x[0], 3, x[1], n, x[2], n, true) }},
	{"GemmNT", 0, func(n int) []int { return []int{3 * n, 5 * n, 15} }, func(n int, x [][]float32) { GemmNT(3, n, 5, x[0], n, x[1], n, x[2], 5, true) }},
}

// operands returns operands of zeros.
func (k specialKernel) operands(n int) (x [][]float32) {
	for _, size := range k.sizes(n) {
		x = append(x, make([]float32, size))
	}
	return x
}

// times returns the sizes of operands that are multiples of n.
func times(factors ...int) func(n int) []int {
	return func(n int) (sizes []int) {
		for _, f := range factors {
			sizes = append(sizes, f*n)
		}
		return sizes
	}
}

// specialDigests are of the kinds of all results of the plain loops: NaN, an infinity, a zero or
// another number. NEON is a variant of another processor, so it is compared with them.
var specialDigests = map[string]uint64{
	"Axpy":          0x2da10b7a76d44945,
	"Axpy by x":     0x1d0483eee0e3b45f,
	"Dot":           0x5251401c795de3c3,
	"ReLUGrad":      0x8888f286aeef36e5,
	"BiasReLU":      0x11f1832317d01a0d,
	"AddBiasGrad":   0x48d7afa94bc231c5,
	"GatherFields":  0x1b78d3a5fc6238c5,
	"ScatterFields": 0x8323ebed7ddfc0b1,
	"AddRows":       0xc13522d5e5ee194d,
	"AddToRows":     0x3bb78c36fdc9ea3,
	"AdaGradRows":   0xa68f9d87b22fedb5,
	"RMSprop":       0xd5c1312a0507d279,
	"AdaGrad":       0xd5c1312a0507d279,
	"Adam":          0xf7af27cdf0b4195d,
	"Sigmoid":       0xe248b3567b4cbd5,
	"Tanh":          0xf917c3b6362cd495,
	"Drop":          0xba52016f3edb2cbd,
	"Transpose":     0xa7142b0f32acb9f5,
	"SoftmaxCE":     0x40c6ee4930769b5d,
	"Gemm":          0x40199009b9a4068f,
	"GemmTN":        0x17c9918c174d87eb,
	"GemmNT":        0x9f405132c37c53eb,
}

// A special value, in each operand, lane and length, gives the same kind of number in each
// variant: NaN, an infinity of one sign, a zero of one sign, a number. Two things depend on
// fused products: whether a sum of the largest numbers is infinite or Inf - Inf, and what a
// product below the smallest number rounds to.
func TestSpecialValues(t *testing.T) {
	sizes := []int{1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 33, 65}
	if os.Getenv("SANFLOW_LONG") != "" {
		sizes = append(sizes, 32, 47, 48, 63, 64, 100, 129)
	}
	for _, k := range specialKernels {
		r, digest := newRand(), fnv.New64a()
		for _, n := range sizes {
			x := k.operands(n)
			got, want := k.operands(n), k.operands(n)
			for _, zeros := range []bool{true, false} {
				for o := range x {
					if !zeros {
						copy(x[o], random(r, len(x[o])))
					}
					for i, v := range x[o] {
						if o > 0 && o == k.v {
							x[o][i] = v * v
						}
					}
				}
				for o := range x {
					for p := n % 7; p < len(x[o]); p += 1 + len(x[o])/40*6 { // each lane, of a long operand by turns
						for _, v := range specialValues {
							before := x[o][p]
							x[o][p] = v
							for at, variant := range variants() {
								use(variant)
								to := got
								if at == 0 {
									to = want
								}
								for i := range x {
									copy(to[i], x[i])
								}
								k.run(n, to)
								for i := range to {
									if j := differs(to[i], want[i], v, zeros); j >= 0 {
										t.Fatalf("%s, %v, n=%d: operand %d has %v at %d: value %d of operand %d is %v, want %v",
											k.name, variant, n, o, v, p, j, i, to[i][j], want[i][j])
									}
								}
							}
							if n <= 17 {
								for _, one := range want {
									for _, y := range one {
										digest.Write([]byte{kind(y, v)})
									}
								}
							}
							x[o][p] = before
						}
					}
				}
			}
		}
		use(best)
		if sum := digest.Sum64(); sum != specialDigests[k.name] {
			t.Errorf("%s: kinds of results have the digest %#x, want %#x", k.name, sum, specialDigests[k.name])
		}
	}
}

// kind names the kind of y, which v led to.
func kind(y, v float32) byte {
	tiny, largest := v != 0 && max(v, -v) < 0x1p-100, max(v, -v) == math.MaxFloat32
	switch {
	case y-y != 0 && largest:
		return 'o'
	case y != y:
		return 'n'
	case y-y != 0 && y > 0:
		return '+'
	case y-y != 0:
		return '-'
	case y == 0 && !tiny && math.Signbit(float64(y)):
		return 'z'
	case y == 0 && !tiny:
		return '0'
	}
	return 'x'
}

// differs returns the first place where got and want, which v led to, are of other kinds or
// further apart than rounding puts them, or -1.
func differs(got, want []float32, v float32, zeros bool) int {
	room := 1e-44
	if !zeros {
		room = 1e-5
	}
	for i, w := range want {
		g := got[i]
		if math.Float32bits(g) == math.Float32bits(w) || g != g && w != w {
			continue
		}
		if kind(g, v) != kind(w, v) || w-w == 0 && math.Abs(float64(g)-float64(w)) > room+1e-5*math.Abs(float64(w)) {
			return i
		}
	}
	return -1
}

// Every sum that is not finite is found, wherever it lies, and none that is large.
func TestOverflow(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		for _, n := range lengths[1:] {
			for p := range n {
				for _, c := range []struct {
					x, bias float32
					is      bool
				}{
					{nan, 0, true}, {inf, 1, true}, {-inf, 1, true}, {1, inf, true}, {0, nan, true}, {inf, -inf, true},
					{3e38, 3e38, true}, {-3e38, -3e38, true}, {3e38, -3e38, false}, {3e38, 0, false}, {-math.MaxFloat32, 1, false}, {1e20, 0, false},
				} {
					x, bias := random(r, 3*n), random(r, n)
					x[n+p], bias[p] = c.x, c.bias
					if c.bias != c.bias || c.bias-c.bias != 0 {
						x[p], x[2*n+p] = inf, inf // the bias is of each row
					}
					got, want := Overflow(x, bias), -1
					if c.is {
						if want = n + p; x[p] != x[p] {
							want = p
						}
					}
					if got != want || (x[n+p] != x[n+p]) != c.is {
						t.Fatalf("n=%d: %v + %v at %d: found %d, want %d; it became %v", n, c.x, c.bias, n+p, got, want, x[n+p])
					}
				}
			}
		}
		if at := Overflow([]float32{1, 3e38, -inf}, nil); at != 2 || Overflow(nil, nil) != -1 {
			t.Errorf("without a bias: %d", at)
		}
	})
}
