package graphkernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn"
)

// Counts whose similarities overflow are errors, which name the row, and never an
// answer.
func TestCountsThatOverflow(t *testing.T) {
	ctx := context.Background()
	one := func(x float64) *nn.Counts {
		c := new(nn.Counts)
		c.Append([]uint64{1, 2}, []float64{1, 2})
		c.Append([]uint64{1, 3}, []float64{x, x})
		return c
	}
	tried := map[string]error{}
	for _, by := range []nn.Similarity{nn.Linear, nn.Cosine, nn.Min} {
		for _, x := range []float64{1e308, 1e155, math.Inf(1), math.NaN()} {
			if by == nn.Min && x == 1e155 {
				continue // its minima are finite
			}
			name := func(what string) string { return string(by) + what + fmt.Sprint(x) }
			_, tried[name(" GramOf ")] = GramOf(ctx, one(x), by, 1)
		}
	}
	for what, err := range tried {
		if err == nil || !strings.Contains(err.Error(), "0x") && !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: %v, want an error that names the count", what, err)
		}
	}
}

// A matrix of similarities that are finite, but whose sums are not, gives no machine,
// and no class.
func TestSVMOfHugeMatrix(t *testing.T) {
	g := &Gram{N: 4, K: make([]float64, 16)}
	for i := range 4 {
		g.K[5*i] = 1e308
	}
	m := &SVM{MaxSteps: 1000}
	if err := m.Fit(context.Background(), g, []int32{0, 1, 2, 3}, []int32{0, 1, 0, 1}); err == nil {
		for i := range 4 {
			if c := m.Class(g.Row(i)); c != int32(i%2) && c != -1 {
				t.Errorf("row %d is of class %d", i, c)
			}
		}
	} else if !strings.Contains(err.Error(), "scale the kernel") && !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
	if c := m.Class([]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}); c != -1 {
		t.Errorf("the class of NaN is %d", c)
	}
}

// Counts whose squares are lost are an error where rows are brought to unit length: their
// cosine would be 0. Such counts beside others are none.
func TestCountsThatUnderflow(t *testing.T) {
	ctx := context.Background()
	of := func(values ...float64) *nn.Counts {
		c := new(nn.Counts)
		c.Append([]uint64{1, 2}, []float64{1, 2})
		c.Append([]uint64{1, 3}, values)
		c.Append(nil, nil)
		return c
	}
	var row *nn.RowError
	const tiny = 1e-170
	if _, err := GramOf(ctx, of(tiny, tiny), nn.Cosine, 1); !errors.As(err, &row) || row.Row != 1 || !strings.Contains(err.Error(), "too small") {
		t.Errorf("GramOf: %v, want an error of row 1", err)
	}
	if gram, err := GramOf(ctx, of(1, tiny), nn.Cosine, 1); err != nil || gram.Row(1)[1] != 1 || gram.Row(2)[2] != 0 {
		t.Errorf("%v, %v, want 1 of a row and 0 of an empty one", gram, err)
	}
	if gram, err := GramOf(ctx, of(1e-170, 1), nn.Linear, 1); err != nil || gram.Row(0)[1] != 1e-170 {
		t.Errorf("linear: %v, %v", gram, err)
	}
}
