package nn

import (
	"math"
	"testing"

	"gorgonia.org/tensor"
)

// A filter is its weights times the field plus its bias, and a copy without it has none.
func TestFilters(t *testing.T) {
	const rows, w, k = 3, 4, 2
	cats, attrs := make([]int32, rows*w*k), make([]float32, rows*w*k)
	for i := range cats {
		cats[i], attrs[i] = int32(i%3), float32(i%5)-2
	}
	b := Batch{
		Cats:    tensor.New(tensor.WithShape(rows, w, k, 1), tensor.WithBacking(cats)),
		Attrs:   tensor.New(tensor.WithShape(rows, w, k, 1), tensor.WithBacking(attrs)),
		Targets: tensor.New(tensor.WithShape(rows), tensor.WithBacking([]int32{0, 1, 0})),
	}
	net := &CNN{Maps1: 3, Size2: 2, Dropout: -1}
	if err := net.Init(Shape{W: w, K: k, Cats: []int{3}, Attrs: 1, Classes: 2}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := net.Step(b); err != nil {
			t.Fatal(err)
		}
	}
	f := net.Clone().(Filtered)
	out, err := f.Filters(b)
	if err != nil {
		t.Fatal(err)
	}
	out = append([]float32(nil), out...)
	without, err := f.WithoutFilters(1)
	if err != nil {
		t.Fatal(err)
	}
	left, err := without.(Filtered).Filters(b)
	if err != nil {
		t.Fatal(err)
	}
	bias := f.(filtered).conv().Bias.W
	for field := range rows * w {
		for m := range 3 {
			want, weights := float64(bias[m]), f.FilterWeights(m)
			for v := range k {
				want += weights[v*4+int(cats[field*k+v])] + weights[v*4+3]*float64(attrs[field*k+v])
			}
			got, rest := out[field*3+m], left[field*3+m]
			if math.Abs(float64(got)-max(0, want)) > 1e-5 || m != 1 && rest != got || m == 1 && rest != 0 {
				t.Errorf("field %d, filter %d: %v, want %v; without filter 1 %v", field, m, got, max(0, want), rest)
			}
		}
	}
	if _, err := f.WithoutFilters(3); err == nil {
		t.Error("filter 3 of 3: want an error")
	}
}
