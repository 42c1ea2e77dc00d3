package graphkernel

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/nn"
)

// What scikit-learn learns from the same counts: testdata/svm.py.
func TestSVMGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/golden/svm.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Class       []int32
		IDs, Counts [][]uint64
		Fits        []struct {
			Kernel    nn.Similarity
			Classes   int32
			C         float64
			Support   []int32
			Decisions [][]float64 // of every fifth row
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	words := new(nn.Counts)
	for i, ids := range golden.IDs {
		var values []float64
		for _, n := range golden.Counts[i] {
			values = append(values, float64(n))
		}
		words.Append(ids, values)
	}
	for _, f := range golden.Fits {
		gram, err := GramOf(context.Background(), words, f.Kernel, 1)
		if err != nil {
			t.Fatal(err)
		}
		var rows, class []int32
		for i, c := range golden.Class {
			if c < f.Classes {
				rows, class = append(rows, int32(i)), append(class, c)
			}
		}
		m := &SVM{C: f.C, Tolerance: 1e-4}
		if err := m.Fit(context.Background(), gram, rows, class); err != nil {
			t.Fatal(err)
		}
		if got := m.Support(); !slices.Equal(got, f.Support) {
			t.Errorf("%s, %d classes, C = %v: support vectors\n%v, want\n%v", f.Kernel, f.Classes, f.C, got, f.Support)
		}
		for i, want := range f.Decisions {
			for j, got := range m.Decide(gram.Row(5*i), nil) {
				if math.Abs(got-want[j]) > 1e-3 {
					t.Errorf("%s, %d classes, C = %v: decision %d of row %d is %v, want %v", f.Kernel, f.Classes, f.C, j, 5*i, got, want[j])
				}
			}
		}
	}
}
