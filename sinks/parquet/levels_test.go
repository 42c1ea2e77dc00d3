package parquet

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"pgregory.net/rapid"
)

// decode reads n levels as the format describes them.
func decode(b []byte, width, n int) (levels []int) {
	for len(levels) < n {
		head, k := binary.Uvarint(b)
		b = b[k:]
		if head&1 == 0 {
			levels = append(levels, slices.Repeat([]int{int(b[0])}, int(head>>1))...)
			b = b[1:]
			continue
		}
		size := int(head>>1) * width
		for bit := range size * 8 / width {
			level := 0
			for i := range width {
				at := bit*width + i
				level |= int(b[at/8]>>(at%8)&1) << i
			}
			levels = append(levels, level)
		}
		b = b[size:]
	}
	return levels[:n]
}

func TestLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := levels{width: rapid.IntRange(1, 3).Draw(t, "width")}
		l.reset()
		var want []int
		for range rapid.IntRange(0, 200).Draw(t, "runs") {
			v := rapid.IntRange(0, 1<<l.width-1).Draw(t, "v")
			n := rapid.OneOf(rapid.IntRange(0, 9), rapid.IntRange(0, 1000)).Draw(t, "n")
			l.add(v, n)
			want = append(want, slices.Repeat([]int{v}, n)...)
		}
		if got := decode(l.finish(), l.width, len(want)); l.n != len(want) || !slices.Equal(got, want) {
			t.Fatalf("%d levels %v, want %d levels %v", l.n, got, len(want), want)
		}
	})
}

// Bounds hold every value, both zeros too, and there are none where a value is
// not a number.
func TestBounds(t *testing.T) {
	zero, minus := float32(0), float32(math.Copysign(0, -1))
	for _, c := range []struct {
		v         []float32
		low, high float32
		none      bool
	}{
		{[]float32{2, -1, 3}, -1, 3, false},
		{[]float32{zero}, minus, zero, false},
		{[]float32{minus}, minus, zero, false},
		{[]float32{1, float32(math.NaN())}, 0, 0, true},
		{[]float32{float32(math.Inf(-1)), 5}, float32(math.Inf(-1)), 5, false},
	} {
		col := types[arrow.FLOAT32].column(0)
		var out bytesWriter
		col.begin(&pages{w: &out})
		b := array.NewFloat32Builder(memory.DefaultAllocator)
		b.AppendValues(c.v, nil)
		if err := col.write(b.NewArray()); err != nil {
			t.Fatal(err)
		}
		of, err := col.end()
		if err != nil {
			t.Fatal(err)
		}
		bits := func(x float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)) }
		low, high := of.low, of.top
		if c.none && low != nil || !c.none && (!slices.Equal(low, bits(c.low)) || !slices.Equal(high, bits(c.high))) {
			t.Errorf("%v: bounds % x and % x", c.v, low, high)
		}
	}
}

type bytesWriter []byte

func (w *bytesWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// A row that is larger than a page can say is an error before it is copied: a page has
// whole rows and a size of 32 bits.
func TestRowLargerThanPage(t *testing.T) {
	for _, c := range []struct {
		c    column
		most int
	}{
		{types[arrow.INT32].column(1), math.MaxInt32 / 4},
		{types[arrow.UINT8].column(1), math.MaxInt32 / 4},
		{types[arrow.INT64].column(1), math.MaxInt32 / 8},
	} {
		reserve := c.c.(interface{ reserve(n int) error }).reserve
		if err := reserve(c.most); err != nil {
			t.Errorf("%T: %d values: %v", c.c, c.most, err)
		}
		if err := reserve(c.most + 1); err == nil {
			t.Errorf("%T: %d values are no error", c.c, c.most+1)
		}
	}
}
