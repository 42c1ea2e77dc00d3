package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// fieldInputs is n inputs of one to five rows, and the rows of all.
func fieldInputs(r *rand.Rand, n, c int) (first, count []int32, rows int) {
	for range n {
		first, count = append(first, int32(rows*c)), append(count, int32(1+r.IntN(5)))
		rows += int(count[len(count)-1])
	}
	return first, count, rows
}

// fieldValues is w·n values, some of them -1.
func fieldValues(r *rand.Rand, w int, count []int32) (v []int32) {
	for range w {
		for _, n := range count {
			v = append(v, r.Int32N(n+1)-1)
		}
	}
	return v
}

func TestRowOffsets(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		for _, n := range lengths[1:] {
			for _, w := range []int{0, 1, 2, 5} {
				first, count, _ := fieldInputs(r, n, 24)
				values := fieldValues(r, w, count)
				want := make([]int32, w*n)
				for i, v := range values {
					if want[i] = -1; v >= 0 {
						want[i] = first[i%n] + 24*v
					}
				}
				all := make([]int32, w*n+2)
				got := all[1 : 1+w*n]
				if bad := RowOffsets(got, first, count, values, 24); bad != -1 {
					t.Fatalf("n=%d w=%d: value %d is bad", n, w, bad)
				}
				if !slices.Equal(got, want) || all[0] != 0 || all[w*n+1] != 0 {
					t.Fatalf("n=%d w=%d: %d, want %d", n, w, all, want)
				}
			}
		}
	})
}

func TestRowOffsetsBad(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		for _, n := range []int{3, 8, 16, 21, 40, 41} {
			first, count := make([]int32, n), make([]int32, n)
			for j := range count {
				count[j] = int32(1 + j%4)
			}
			for at := range 2 * n {
				for _, v := range []int32{count[at%n], count[at%n] + 1, -2, math.MaxInt32, math.MinInt32} {
					values := make([]int32, 2*n)
					values[at], values[2*n-1] = v, 7 // the first counts
					if at == 2*n-1 {
						values[at] = v
					}
					if got := RowOffsets(make([]int32, 2*n), first, count, values, 1); got != at {
						t.Fatalf("n=%d: value %d is %d: found %d", n, at, v, got)
					}
				}
			}
		}
	})
	x := make([]int32, 4)
	mustPanic(t, "no inputs", func() { RowOffsets(x, nil, nil, x, 1) })
	mustPanic(t, "count", func() { RowOffsets(x, x, x[:3], x, 1) })
	mustPanic(t, "dst", func() { RowOffsets(x[:3], x, x, x, 1) })
	mustPanic(t, "c=0", func() { RowOffsets(x, x, x, x, 0) })
}

func TestFields(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		r := newRand()
		for _, c := range lengths[1:] {
			for _, s := range [][2]int{{0, 3}, {3, 0}, {1, 1}, {1, 4}, {5, 1}, {3, 10}, {18, 7}} {
				w, n := s[0], s[1]
				name := fmt.Sprintf("c=%d w=%d n=%d", c, w, n)
				first, count, rows := fieldInputs(r, n, c)
				idx := make([]int32, w*n)
				if n > 0 {
					RowOffsets(idx, first, count, fieldValues(r, w, count), c)
				}
				table, dst := newGuarded(rows*c), newGuarded(w*c)
				copy(table.x, random(r, rows*c))
				copy(dst.x, random(r, w*c))

				// Rows of other layers, one by one.
				want, sum := slices.Clone(dst.x), slices.Clone(table.x)
				src := random(r, w*c)
				for f := range w {
					for _, at := range idx[f*n : f*n+n] {
						if at >= 0 {
							axpyGeneric(1, table.x[at:int(at)+c], want[f*c:f*c+c])
							axpyGeneric(1, src[f*c:f*c+c], sum[at:int(at)+c])
						}
					}
				}
				GatherFields(dst.x, w, c, table.x, idx)
				if !slices.Equal(dst.x, want) { // the order of the sum is part of the promise
					t.Fatalf("GatherFields %s: %v, want %v", name, dst.x, want)
				}
				dst.check(t, "GatherFields "+name, all)
				ScatterFields(table.x, idx, src, w, c)
				if !slices.Equal(table.x, sum) {
					t.Fatalf("ScatterFields %s: %v, want %v", name, table.x, sum)
				}
				table.check(t, "ScatterFields "+name, all)
			}
		}
	})
}

func TestFieldsPanics(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		for _, c := range []int{3, 8, 16, 40} {
			table, rows := make([]float32, 5*c), make([]float32, 2*c)
			for _, bad := range []int32{int32(4*c + 1), int32(5 * c), math.MaxInt32} {
				idx := []int32{0, int32(4 * c), -1, bad}
				mustPanic(t, "GatherFields", func() { GatherFields(rows, 2, c, table, idx) })
				mustPanic(t, "ScatterFields", func() { ScatterFields(table, idx, rows, 2, c) })
			}
		}
	})
	x, idx := make([]float32, 8), make([]int32, 6)
	mustPanic(t, "c=0", func() { GatherFields(x, 2, 0, x, idx) })
	mustPanic(t, "short dst", func() { GatherFields(x[:7], 2, 4, x, idx) })
	mustPanic(t, "short table", func() { GatherFields(x, 2, 4, x[:3], idx) })
	mustPanic(t, "half a field", func() { ScatterFields(x, idx[:5], x, 2, 4) })
	mustPanic(t, "no fields", func() { ScatterFields(x, idx, x, 0, 4) })
}

func TestFieldsAllocs(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		if n := testing.AllocsPerRun(20, func() {
			var x [64]float32 // stays on the stack
			idx := [4]int32{0, -1, 16, 32}
			RowOffsets(idx[:], []int32{0, 0}, []int32{1, 1}, []int32{0, -1, 0, 0}, 16)
			GatherFields(x[:], 2, 16, x[32:], idx[:])
			ScatterFields(x[32:], idx[:], x[:], 2, 16)
		}); n > 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// One graph: w fields of k = 10 nodes, each with one of a labels.
func BenchmarkFields(b *testing.B) {
	r := newRand()
	for _, s := range []struct {
		name    string
		w, a, c int
	}{{"MUTAG", 18, 7, 16}, {"NCI1", 30, 37, 16}, {"DD", 284, 89, 16}, {"NCI1", 30, 37, 8}, {"NCI1", 30, 37, 128}} {
		var first, count []int32
		for i := range 160 {
			first, count = append(first, int32(i%10*s.a*s.c)), append(count, int32(s.a))
		}
		table, rows := make([]float32, 10*s.a*s.c), make([]float32, s.w*s.c) // aligned, as weights are
		var values [64][]int32                                               // or the processor learns them
		for i := range values {
			values[i] = fieldValues(r, s.w, count[:10])
		}
		idx, at := make([]int32, 10*s.w), 0
		offsets := func() {
			at++
			RowOffsets(idx, first, count, values[at%len(values)], s.c)
		}
		offsets()
		name := fmt.Sprintf("%s,c=%d", s.name, s.c)
		n := 10 * s.w * s.c
		benchValues(b, "RowOffsets/"+name, 10*s.w, offsets)
		benchValues(b, "Gather/"+name, n, func() { GatherFields(rows, s.w, s.c, table, idx) })
		benchValues(b, "Scatter/"+name, n, func() { ScatterFields(table, idx, rows, s.w, s.c) })
	}
}
