package main

import (
	"testing"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks/choose"
)

// As many graphs vote as the documentation says, and more only where they are as near.
func TestSizeOnly(t *testing.T) {
	d := &collection{Collection: &choose.Collection{Layout: record.Layout{Classes: []string{"a", "b"}}}}
	for _, test := range []struct {
		name  string
		size  []int // of the training graphs, and of the one asked about
		class []int32
		size0 int
		right bool
	}{
		{"three of nine", []int{10, 11, 12, 20, 21, 22, 23, 24, 25}, []int32{1, 1, 0, 0, 0, 0, 0, 0, 0}, 10, true},
		{"a fourth as near as the third", []int{10, 11, 12, 8, 21, 22, 23, 24, 25}, []int32{1, 1, 0, 0, 0, 0, 0, 0, 0}, 10, false},
		{"one of three", []int{10, 11, 12}, []int32{1, 0, 0}, 10, true},
	} {
		d.Sizes, d.Class = append(test.size[:len(test.size):len(test.size)], test.size0), append(test.class[:len(test.class):len(test.class)], 1)
		s := validation.Split{Test: []int32{int32(len(test.size))}}
		for i := range test.size {
			s.Train = append(s.Train, int32(i))
		}
		if got := sizeOnly(d, s) == 1; got != test.right {
			t.Errorf("%s: right %t, want %t", test.name, got, test.right)
		}
	}
	// The first of equal classes.
	d.Class = []int32{1, 0, 1, 0, 0}
	if got := majority(d, validation.Split{Train: []int32{0, 1, 2, 3}, Test: []int32{2, 4}}); got != 1 {
		t.Errorf("%d right, want 1", got)
	}
}
