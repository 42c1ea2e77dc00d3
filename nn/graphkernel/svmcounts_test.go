package graphkernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn"
)

// On counts, with room for all rows or for two, the machine is that of their Gram
// matrix, and answers for rows that it has not seen.
func TestSVMCounts(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 5))
		c, class := randomCounts(rng, 60+rng.IntN(40), 2+rng.IntN(2))
		others, _ := randomCounts(rng, 20, 2)
		for _, s := range []nn.Similarity{"", nn.Linear, nn.Cosine, nn.Min, nn.UnitMin} {
			by := s
			if by == "" {
				by = nn.Cosine
			}
			g, err := GramOf(ctx, c, by, 1)
			if err != nil {
				t.Fatal(err)
			}
			matrix, err := Compare(ctx, others, c, by, 1)
			if err != nil {
				t.Fatal(err)
			}
			want := &SVM{C: 5}
			if err := want.Fit(ctx, g, all(g.N), class); err != nil {
				t.Fatal(err)
			}
			for _, cache := range []int64{0, 1} {
				m := &SVM{C: 5, Kernel: s, Cache: cache}
				if err := m.FitCounts(ctx, c, class); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(m.Support(), want.Support()) {
					t.Errorf("%s: support vectors %v, on the matrix %v", s, m.Support(), want.Support())
				}
				for i := range others.Len() {
					ids, values := others.Row(i)
					k, err := m.Similar(ids, values, nil)
					if err != nil {
						t.Fatal(err)
					}
					row := matrix[i*c.Len() : (i+1)*c.Len()]
					for j, d := range want.Decide(row, nil) {
						if got := m.Decide(k, nil)[j]; math.Abs(got-d) > 1e-9*(1+math.Abs(d)) {
							t.Fatalf("%s, cache %d: decision %v, on the matrix %v", s, cache, got, d)
						}
					}
					if got, err := m.Classify(ids, values); err != nil || got != want.Class(row) {
						t.Errorf("class %d (%v), want %d", got, err, want.Class(row))
					}
				}
			}
		}
	}
}

// Saved and loaded a machine decides the same to the last bit, and predicts votes.
func TestSVMSaveLoad(t *testing.T) {
	ctx := context.Background()
	c, class := randomCounts(rand.New(rand.NewPCG(3, 5)), 50, 3)
	s := nn.Shape{Counts: []string{"wl"}, Classes: 3, W: 4}
	m := &SVM{Kernel: nn.Min, Info: map[string]string{"dataset": "drawn by lot"}}
	if err := m.Init(s); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Predict(nn.Batch{Counts: c}, nil); err != nn.ErrUntrained {
		t.Errorf("%v before Fit", err)
	}
	if err := m.FitCounts(ctx, c, class); err != nil {
		t.Fatal(err)
	}
	var file, again bytes.Buffer
	if err := m.Save(&file); err != nil {
		t.Fatal(err)
	}
	loaded := new(SVM)
	if err := loaded.Load(bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	if err := loaded.Save(&again); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Errorf("saved again, the bytes differ (%v)", err)
	}
	if !slices.Equal(loaded.Support(), m.Support()) {
		t.Errorf("loaded, the support vectors are %v, want %v", loaded.Support(), m.Support())
	}
	if loaded.Info["dataset"] != "drawn by lot" || loaded.Kernel != nn.Min || !slices.Equal(loaded.Classes(), []int32{0, 1, 2}) {
		t.Errorf("loaded %+v", loaded)
	}
	if err := loaded.Init(s); err != nil {
		t.Error(err)
	}
	p, err := m.Predict(nn.Batch{Counts: c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := loaded.Clone().Predict(nn.Batch{Counts: c}, nil)
	if err != nil || !slices.Equal(p.Float32s(), q.Float32s()) {
		t.Errorf("other votes after loading (%v)", err)
	}
	for i := range c.Len() {
		ids, values := c.Row(i)
		want, _ := m.Classify(ids, values)
		row := p.Float32s()[3*i : 3*i+3]
		if got := slices.Index(row, slices.Max(row)); got != int(want) {
			t.Errorf("row %d: votes %v, class %d", i, row, want)
		}
	}
	any, err := nn.LoadPredictor(bytes.NewReader(file.Bytes()))
	if err != nil || any.Metadata()["dataset"] != "drawn by lot" {
		t.Fatalf("%v from LoadPredictor (%v)", any, err)
	}
	if q, err := any.Predict(nn.Batch{Counts: c}, nil); err != nil || !slices.Equal(p.Float32s(), q.Float32s()) {
		t.Errorf("other votes after LoadPredictor (%v)", err)
	}
	// On a matrix there are only numbers of rows.
	g, _ := GramOf(ctx, c, nn.Cosine, 1)
	on := &SVM{}
	if err := on.Fit(ctx, g, all(g.N), class); err != nil {
		t.Fatal(err)
	}
	file.Reset()
	if err := on.Save(&file); err != nil {
		t.Fatal(err)
	}
	back := new(SVM)
	if err := back.Load(bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	for i := range g.N {
		if !slices.Equal(on.Decide(g.Row(i), nil), back.Decide(g.Row(i), nil)) {
			t.Fatalf("row %d is decided otherwise after loading", i)
		}
	}
	if _, err := back.Classify(nil, nil); err == nil {
		t.Error("a machine on a matrix compares counts")
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
		{SVM{Cache: -1}, c, class, "Cache is -1"},
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
	if got, err := m.Classify(nil, nil); err != nil || got < 0 {
		t.Errorf("class %d of nothing, learned from nothing (%v)", got, err)
	}
	if err := m.Save(new(bytes.Buffer)); err != nil {
		t.Error(err)
	}
	if err := m.Init(nn.Shape{W: 1, K: 1, Attrs: 1, Classes: 2}); err == nil {
		t.Error("an SVM that reads fields")
	}
}

// A batch is tested by the same decisions that Predict and Classify make, and by how
// much those about the right class miss the margin.
func TestSVMEvaluate(t *testing.T) {
	ctx := context.Background()
	for _, classes := range []int{2, 3} {
		c, class := randomCounts(rand.New(rand.NewPCG(uint64(classes), 7)), 60, classes)
		m := &SVM{C: .5}
		if err := m.Init(nn.Shape{Counts: []string{"wl"}, Classes: classes + 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Evaluate(nn.Batch{Counts: c}); err != nn.ErrUntrained {
			t.Errorf("%v before Fit", err)
		}
		if err := m.FitCounts(ctx, c, class); err != nil {
			t.Fatal(err)
		}
		class[0] = int32(classes) // which it has not learned
		right, loss := 0, 0.0
		for i := range c.Len() {
			ids, values := c.Row(i)
			got, err := m.Classify(ids, values)
			if err != nil {
				t.Fatal(err)
			}
			if got == class[i] {
				right++
			}
			k, _ := m.Similar(ids, values, nil)
			for j, d := range m.Decide(k, nil) {
				pair := [][2]int32{{0, 1}, {0, 2}, {1, 2}}[j]
				switch class[i] {
				case pair[0]:
					loss += max(0, 1-d)
				case pair[1]:
					loss += max(0, 1+d)
				}
			}
		}
		targets := tensor.New(tensor.WithBacking(class))
		got, err := m.Evaluate(nn.Batch{Counts: c, Targets: targets})
		if err != nil || got.Rows != 60 || got.Correct != right || math.Abs(got.Loss-loss/60) > 1e-12 {
			t.Errorf("%+v (%v), want %d of 60 right and a loss of %v", got, err, right, loss/60)
		}
		class[7] = int32(classes) + 1
		var bad *nn.RowError
		if _, err := m.Evaluate(nn.Batch{Counts: c, Targets: targets}); !errors.As(err, &bad) || bad.Row != 7 {
			t.Errorf("%v of a class that there is none of", err)
		}
		if _, err := m.Evaluate(nn.Batch{Counts: c}); err == nil {
			t.Error("no error without targets")
		}
	}
	if _, err := new(SVM).Evaluate(nn.Batch{}); err != nn.ErrUntrained {
		t.Errorf("%v of an empty machine", err)
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

// A machine without rows gives no answer.
func TestSVMUntrained(t *testing.T) {
	if _, err := new(SVM).Classify(nil, nil); !errors.Is(err, nn.ErrUntrained) || new(SVM).Trained() {
		t.Errorf("%v before Fit", err)
	}
}
