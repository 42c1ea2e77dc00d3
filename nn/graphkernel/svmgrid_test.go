package graphkernel

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
)

// A grid that goes from C to C scores what machines that begin anew decide, up to
// the tolerance of both.
func TestSVMGrid(t *testing.T) {
	ctx := context.Background()
	c, class := randomCounts(rand.New(rand.NewPCG(7, 5)), 80, 3)
	gram, err := GramOf(ctx, c, nn.Cosine, 1)
	if err != nil {
		t.Fatal(err)
	}
	// As a ridge does, it leaves one optimum.
	for i := range gram.N {
		gram.K[i*gram.N+i] += .1
	}
	const tolerance = 1e-6
	grid := &SVMGrid{Class: class, C: []float64{.01, 1, 100}, svm: SVM{Tolerance: tolerance, MaxSteps: 1e6}, Gram: func(context.Context, int) (*Gram, error) { return gram, nil }}
	if err := grid.Prepare(ctx, 0); err != nil {
		t.Fatal(err)
	}
	trial := validation.Split{Train: all(60), Test: all(80)[60:]}
	correct, losses, err := grid.Learn(ctx, trial)
	if err != nil || len(correct) != 3 {
		t.Fatalf("%v (%v)", correct, err)
	}
	for i, price := range grid.C {
		m := &SVM{C: price, Tolerance: tolerance}
		if err := m.Fit(ctx, gram, trial.Train, class[:60]); err != nil {
			t.Fatal(err)
		}
		right, loss := 0, 0.0
		for _, row := range trial.Test {
			if m.Class(gram.Row(int(row))) == class[row] {
				right++
			}
			loss += m.missed(m.Decide(gram.Row(int(row)), nil), class[row])
		}
		if correct[i] != right || math.Abs(losses[i]-loss) > 1e-3 {
			t.Errorf("C = %v: %d and %v, want %d right and a loss of %v", price, correct[i], losses[i], right, loss)
		}
	}
	// If the steps end early the C before stands; the first must have an end.
	grid.svm.MaxSteps = 1
	if _, _, err := grid.Learn(ctx, trial); err == nil || !strings.Contains(err.Error(), "no end after 1 steps") {
		t.Errorf("%v", err)
	}
	if got := grid.Bounded(); !slices.Equal(got, []int{0, 0, 0}) {
		t.Errorf("%v trials ended before their time", got)
	}
	grid.svm.MaxSteps = 0
	for most := 1; ; most++ {
		if grid.svm.MaxSteps = most; most == 1e6 {
			t.Fatal("no end")
		}
		if correct, losses, err = grid.Learn(ctx, trial); err == nil {
			break
		}
	}
	if got := grid.Bounded(); !slices.Equal(got, []int{0, 1, 1}) || correct[1] != correct[0] || losses[2] != losses[0] {
		t.Errorf("%v trials ended before their time, with %v and %v", got, correct, losses)
	}
	// One class to learn from is the answer.
	var ones validation.Split
	for i, k := range class {
		if k == 1 {
			ones.Train = append(ones.Train, int32(i))
		}
		ones.Test = append(ones.Test, int32(i))
	}
	correct, losses, err = grid.Learn(ctx, ones)
	if err != nil || correct[0] != len(ones.Train) || correct[2] != correct[0] {
		t.Errorf("%v, %v (%v), want %d right", correct, losses, err, len(ones.Train))
	}
}

func TestSVMGridErrors(t *testing.T) {
	ctx := context.Background()
	for _, test := range []struct {
		g    SVMGrid
		gram Gram
		want string
	}{
		{SVMGrid{Class: []int32{0, 1}}, Gram{2, []float64{1, 2, 3, 1}}, "not symmetric"},
		{SVMGrid{Class: []int32{0, 1}}, Gram{2, []float64{1, math.NaN(), math.NaN(), 1}}, "NaN"},
		{SVMGrid{Class: []int32{0, 1}}, Gram{2, []float64{1, math.NaN(), 0, 1}}, "the value of 0 and 1 is NaN"},
		{SVMGrid{Class: []int32{0, 1, 1}}, Gram{2, []float64{1, 0, 0, 1}}, "a matrix of 2 rows for 3 classes"},
		{SVMGrid{Class: []int32{0, 1}, C: []float64{1, .1}}, Gram{2, []float64{1, 0, 0, 1}}, "want positive numbers that ascend"},
		{SVMGrid{Class: []int32{0, 1}, C: []float64{-1}}, Gram{2, []float64{1, 0, 0, 1}}, "want positive numbers that ascend"},
	} {
		test.g.Gram = func(context.Context, int) (*Gram, error) { return &test.gram, nil }
		if err := test.g.Prepare(ctx, 0); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
		if test.g.now != nil {
			t.Errorf("a matrix is kept that is refused: %s", test.want)
		}
	}
}

// A kernel that diverges is no matrix.
func TestSVMGridDiverges(t *testing.T) {
	diverges := errors.New("diverges")
	g := SVMGrid{Class: []int32{0, 1}, Gram: func(_ context.Context, variant int) (*Gram, error) {
		if variant == 1 {
			return nil, diverges
		}
		return &Gram{2, []float64{1, 0, 0, 1}}, nil
	}}
	if err := g.Prepare(context.Background(), 0); err != nil {
		t.Error(err)
	}
	if err := g.Prepare(context.Background(), 1); !errors.Is(err, diverges) || g.now != nil {
		t.Errorf("%v, want that of Gram", err)
	}
}

func TestSVMGridMisused(t *testing.T) {
	ctx := context.Background()
	gram := func(context.Context, int) (*Gram, error) { return &Gram{2, []float64{1, 0, 0, 1}}, nil }
	class := []int32{0, 1}
	trial := validation.Split{Train: []int32{0, 1}, Test: []int32{0}}
	for _, test := range []struct {
		g     SVMGrid
		trial validation.Split
		want  string
	}{
		{SVMGrid{Class: class, Gram: gram, C: []float64{0, 0.1}}, trial, "want positive numbers that ascend"},
		{SVMGrid{Class: class}, trial, "needs Gram"},
		{SVMGrid{Class: class, Gram: gram}, validation.Split{}, "no rows to learn from"},
	} {
		err := test.g.Prepare(ctx, 0)
		if err == nil {
			_, _, err = test.g.Learn(ctx, test.trial)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	if _, _, err := (&SVMGrid{Class: class, Gram: gram}).Learn(ctx, trial); err == nil || !strings.Contains(err.Error(), "after Prepare") {
		t.Errorf("learned without a matrix: %v", err)
	}
}

// A few rows more never change by much how many steps a search has, nor how long it
// takes, and each row can be met several times.
func TestGridSteps(t *testing.T) {
	if got := gridSteps(1); got != 1e6 {
		t.Errorf("%d steps for a row", got)
	}
	for rows := 100; rows < 200_000; rows++ {
		now, next := float64(gridSteps(rows)), float64(gridSteps(rows+1))
		if now < 10*float64(rows) || math.Abs(next/now-1) > 0.02 || rows >= 500 && rows < 7000 && math.Abs(now*float64(rows)/5e8-1) > 0.01 {
			t.Fatalf("%v steps for %d rows, %v for one more", now, rows, next)
		}
	}
}
