package graphkernel

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
)

// A path that goes from C to C scores what machines that begin anew decide, up to
// the tolerance of both.
func TestPath(t *testing.T) {
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
	costs, svm := []float64{.01, 1, 100}, SVM{Tolerance: tolerance, MaxSteps: 1e6}
	trial := validation.Split{Train: all(60), Test: all(80)[60:]}
	correct, losses, fits, err := svm.Path(ctx, gram, class, costs, trial)
	if err != nil || len(correct) != 3 || fits != 3 {
		t.Fatalf("%v, %d fits (%v)", correct, fits, err)
	}
	for i, price := range costs {
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
	svm.MaxSteps = 1
	if _, _, _, err := svm.Path(ctx, gram, class, costs, trial); err == nil || !strings.Contains(err.Error(), "no end after 1 steps") {
		t.Errorf("%v", err)
	}
	for svm.MaxSteps = 1; ; svm.MaxSteps++ {
		if svm.MaxSteps == 1e6 {
			t.Fatal("no end")
		}
		if correct, losses, fits, err = svm.Path(ctx, gram, class, costs, trial); err == nil {
			break
		}
	}
	if fits != 1 || correct[1] != correct[0] || losses[2] != losses[0] {
		t.Errorf("%d fits, with %v and %v", fits, correct, losses)
	}
	// One class to learn from is the answer.
	var ones validation.Split
	for i, k := range class {
		if k == 1 {
			ones.Train = append(ones.Train, int32(i))
		}
		ones.Test = append(ones.Test, int32(i))
	}
	correct, losses, fits, err = SVM{}.Path(ctx, gram, class, costs, ones)
	if err != nil || correct[0] != len(ones.Train) || correct[2] != correct[0] || losses[0] != 0 || fits != 3 {
		t.Errorf("%v, %v, %d fits (%v), want %d right", correct, losses, fits, err, len(ones.Train))
	}
}

func TestPathErrors(t *testing.T) {
	two := &Gram{2, []float64{1, 0, 0, 1}}
	both := validation.Split{Train: []int32{0, 1}, Test: []int32{0}}
	for _, test := range []struct {
		class []int32
		c     []float64
		split validation.Split
		want  string
	}{
		{[]int32{0, 1, 1}, []float64{1}, both, "a matrix of 2 rows for 3 classes"},
		{[]int32{0, 1}, []float64{1, .1}, both, "want positive numbers that ascend"},
		{[]int32{0, 1}, []float64{-1}, both, "want positive numbers that ascend"},
		{[]int32{0, 1}, []float64{0, .1}, both, "want positive numbers that ascend"},
		{[]int32{0, 1}, nil, both, "want positive numbers that ascend"},
		{[]int32{1, 1}, []float64{math.NaN()}, both, "want positive numbers that ascend"},
		{[]int32{1, 1}, []float64{1, math.Inf(1)}, both, "want positive numbers that ascend"},
		{[]int32{0, 1}, []float64{1}, validation.Split{}, "no rows to learn from"},
	} {
		if _, _, _, err := (SVM{}).Path(context.Background(), two, test.class, test.c, test.split); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// A few rows more never change by much how many steps a search has, nor how long it
// takes, and each row can be met several times.
func TestPathSteps(t *testing.T) {
	if got := pathSteps(1); got != 1e6 {
		t.Errorf("%d steps for a row", got)
	}
	for rows := 100; rows < 200_000; rows++ {
		now, next := float64(pathSteps(rows)), float64(pathSteps(rows+1))
		if now < 10*float64(rows) || math.Abs(next/now-1) > 0.02 || rows >= 500 && rows < 7000 && math.Abs(now*float64(rows)/5e8-1) > 0.01 {
			t.Fatalf("%v steps for %d rows, %v for one more", now, rows, next)
		}
	}
}
