package graphkernel

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn"
)

// On counts the machine votes as that of their Gram matrix, for rows that it has not seen, and
// as much when it has been saved and loaded: the same bytes are written again.
func TestSVMCounts(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 5))
		classes := 2 + rng.IntN(2)
		c, class := randomCounts(rng, 60+rng.IntN(40), classes)
		others, _ := randomCounts(rng, 20, 2)
		s := nn.Shape{Counts: []string{"wl"}, Classes: classes + 1, W: 4}
		for _, by := range []nn.Similarity{"", nn.Linear, nn.Cosine, nn.Min, nn.UnitMin} {
			g, err := GramOf(ctx, c, cmp.Or(by, nn.Cosine), 1)
			if err != nil {
				t.Fatal(err)
			}
			matrix, err := Compare(ctx, others, c, cmp.Or(by, nn.Cosine), 1)
			if err != nil {
				t.Fatal(err)
			}
			want, m := &SVM{C: 5}, &SVM{C: 5, Kernel: by}
			m.Metadata()["dataset"] = "drawn by lot"
			if err := m.Init(s); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Predict(nn.Batch{Counts: c}, nil); err != nn.ErrUntrained {
				t.Errorf("%v before FitCounts", err)
			}
			if err := errors.Join(want.Fit(ctx, g, all(g.N), class), m.FitCounts(ctx, c, class), m.Init(s)); err != nil {
				t.Fatal(err)
			}
			var file, again bytes.Buffer
			if err := m.Save(&file); err != nil {
				t.Fatal(err)
			}
			loaded, err := nn.LoadPredictor(bytes.NewReader(file.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if err := loaded.Save(&again); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
				t.Errorf("saved again, the bytes differ (%v)", err)
			}
			if loaded.Metadata()["dataset"] != "drawn by lot" || loaded.Init(s) != nil || len(m.Support()) != len(want.Support()) {
				t.Errorf("loaded %+v", loaded)
			}
			for name, net := range map[string]nn.Predictor{"learned": m, "loaded": loaded, "copied": loaded.Clone()} {
				y, err := net.Predict(nn.Batch{Counts: others}, nil)
				if err != nil {
					t.Fatal(err)
				}
				for i := range others.Len() {
					votes := make([]float32, s.Classes)
					decisions := want.Decide(matrix[i*c.Len():(i+1)*c.Len()], nil)
					for class, n := range want.votes(decisions) {
						votes[class] = float32(n) / float32(len(decisions))
					}
					if got := y.Float32s()[i*s.Classes : (i+1)*s.Classes]; !slices.Equal(got, votes) {
						t.Errorf("%s, %q: votes %v for row %d, on the matrix %v", name, by, got, i, votes)
					}
				}
			}
		}
	}
}

// A machine on a matrix has no counts to save, and one without a shape no columns.
func TestSVMSaveErrors(t *testing.T) {
	ctx := context.Background()
	on, c := new(SVM), new(nn.Counts)
	c.Append([]uint64{1}, []float64{1})
	c.Append([]uint64{2}, []float64{1})
	if err := on.Fit(ctx, &Gram{N: 2, K: []float64{1, 0, 0, 1}}, []int32{0, 1}, []int32{0, 1}); err != nil {
		t.Fatal(err)
	}
	if err := on.Save(new(bytes.Buffer)); !errors.Is(err, errMatrix) {
		t.Errorf("%v of a machine on a matrix", err)
	}
	if err := new(SVM).Save(new(bytes.Buffer)); err != nn.ErrUntrained {
		t.Errorf("%v before FitCounts", err)
	}
	m := new(SVM)
	if err := m.FitCounts(ctx, c, []int32{0, 1}); err != nil {
		t.Fatal(err)
	}
	if err := m.Save(new(bytes.Buffer)); err != nn.ErrNotReady {
		t.Errorf("%v before Init", err)
	}
	if _, err := m.Predict(nn.Batch{Counts: c}, nil); err != nn.ErrNotReady {
		t.Errorf("%v before Init", err)
	}
}

func TestSVMCountsErrors(t *testing.T) {
	ctx := context.Background()
	c, class := randomCounts(rand.New(rand.NewPCG(3, 5)), 12, 2)
	bad := new(nn.Counts)
	bad.Append([]uint64{1}, []float64{math.NaN()})
	bad.Append([]uint64{1}, []float64{1})
	negative := new(nn.Counts)
	negative.Append([]uint64{1}, []float64{-1})
	negative.Append([]uint64{1}, []float64{1})
	huge := new(nn.Counts)
	for range 2 {
		huge.Append([]uint64{1}, []float64{1e200})
	}
	two := SVM{}
	if err := two.Init(nn.Shape{Counts: []string{"words"}, Classes: 2}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		m     SVM
		c     *nn.Counts
		class []int32
		want  string
	}{
		{SVM{}, huge, []int32{0, 1}, "row 0: counts too large to compare"},
		{SVM{Kernel: nn.Linear}, huge, []int32{0, 1}, "row 0: counts too large to compare"},
		{two, c, append([]int32{2}, class[1:]...), "has learned class 2, the data have 2 classes"},
		{two, c, append([]int32{-1}, class[1:]...), "has learned class -1, the data have 2 classes"},
		{SVM{}, bad, []int32{0, 1}, "row 0: the count of 0x1 is NaN"},
		{SVM{Kernel: nn.Min}, negative, []int32{0, 1}, "wants none below 0"},
		{SVM{Kernel: "euclid"}, c, class, "euclid"},
		{SVM{}, c, class[1:], "12 rows and 11 classes"},
		{SVM{}, new(nn.Counts), nil, "fewer than two classes"},
		{SVM{C: -1}, c, class, "C is -1"},
		{SVM{Tolerance: 2}, c, class, "Tolerance is 2"},
	} {
		if err := test.m.FitCounts(ctx, test.c, test.class); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	// Rows without a thing in them are learned from, as all alike.
	empty := new(nn.Counts)
	for range 3 {
		empty.Append(nil, nil)
	}
	m := &SVM{}
	if err := m.FitCounts(ctx, empty, []int32{0, 1, 1}); err != nil {
		t.Fatal(err)
	}
	if err := m.Init(nn.Shape{W: 1, K: 1, Attrs: 1, Classes: 2}); err == nil {
		t.Error("an SVM that reads fields")
	}
	if err := m.Init(nn.Shape{Counts: []string{"words"}, Classes: 2}); err != nil {
		t.Error(err)
	}
	if _, err := m.Predict(nn.Batch{Counts: empty}, nil); err != nil {
		t.Errorf("of nothing, learned from nothing: %v", err)
	}
	if err := m.Save(new(bytes.Buffer)); err != nil {
		t.Error(err)
	}
}

func TestSVMString(t *testing.T) {
	m := &SVM{Kernel: nn.Min}
	if got := m.String(); got != "SVM{C: 1, Kernel: min, Tolerance: 0.001}" {
		t.Error(got)
	}
	c := new(nn.Counts)
	for i := range 4 {
		c.Append([]uint64{uint64(i % 2)}, []float64{1})
	}
	if err := m.FitCounts(context.Background(), c, []int32{5, 6, 5, 6}); err != nil {
		t.Fatal(err)
	}
	if got, want := m.String(), fmt.Sprintf("SVM{C: 1, Kernel: min, Tolerance: 0.001, 2 classes, %d support vectors}", len(m.Support())); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := (&SVM{C: -3}).String(); !strings.Contains(got, "C: -3") {
		t.Error(got)
	}
}
