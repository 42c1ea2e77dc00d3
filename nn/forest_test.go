package nn

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// forestRows returns rows of counts of 12 ids, and classes that depend on two of them, with noise.
func forestRows(n, classes int, seed uint64) (*Counts, []int32) {
	r := rand.New(rand.NewPCG(seed, 1))
	c, class := &Counts{}, make([]int32, n)
	for i := range n {
		var ids []uint64
		var values []float64
		k := 0
		for id := range uint64(12) {
			if x := r.IntN(5); x > 0 {
				ids, values = append(ids, id), append(values, float64(x))
				if x >= 2 && (id == 3 || id == 7) {
					k += int(id)
				}
			}
		}
		if r.IntN(10) == 0 {
			k = r.IntN(classes)
		}
		c.Append(ids, values)
		class[i] = int32(k % classes)
	}
	return c, class
}

func fitForest(t testing.TB, m *Forest, classes int, c *Counts, class []int32) {
	t.Helper()
	if err := m.Init(Shape{Counts: []string{"words"}, Classes: classes}); err != nil {
		t.Fatal(err)
	}
	if err := m.FitCounts(context.Background(), c, class); err != nil {
		t.Fatal(err)
	}
}

func said(t testing.TB, m Predictor, c *Counts) []float32 {
	t.Helper()
	y, err := m.Predict(Batch{Counts: c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return y.Float32s()
}

// A forest classifies new rows, by shares that add up to 1.
func TestForestLearns(t *testing.T) {
	for _, classes := range []int{2, 3, 20} {
		c, class := forestRows(2000, classes, 1)
		m := &Forest{Trees: 50, Seed: 1}
		fitForest(t, m, classes, c, class)
		more, want := forestRows(500, classes, 2)
		p, right := said(t, m, more), 0
		for i := range want {
			row, sum := p[i*classes:(i+1)*classes], 0.0
			for _, x := range row {
				sum += float64(x)
			}
			if math.Abs(sum-1) > 1e-5 {
				t.Fatalf("row %d: probabilities add up to %v", i, sum)
			}
			if slices.Index(row, slices.Max(row)) == int(want[i]) {
				right++
			}
		}
		if share := float64(right) / 500; share < 0.85 { // 10 % of classes are random
			t.Errorf("%d classes: %.3f right", classes, share)
		}
	}
}

// The same bytes at any number of workers, other ones by another seed, and the same answers from a
// file and a clone.
func TestForestBytes(t *testing.T) {
	c, class := forestRows(300, 3, 1)
	var files [][]byte
	for _, m := range []*Forest{{Trees: 9, Seed: 1}, {Trees: 9, Seed: 1, Workers: 4}, {Trees: 9, Seed: 2}} {
		fitForest(t, m, 3, c, class)
		var file bytes.Buffer
		if err := m.Save(&file); err != nil {
			t.Fatal(err)
		}
		files = append(files, file.Bytes())
		loaded, err := LoadPredictor(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		want := said(t, m, c)
		if !reflect.DeepEqual(said(t, loaded, c), want) || !reflect.DeepEqual(said(t, m.Clone(), c), want) {
			t.Error("a copy says something else")
		}
		var again bytes.Buffer
		if err := loaded.Save(&again); err != nil || !bytes.Equal(again.Bytes(), file.Bytes()) {
			t.Errorf("another file of what was loaded (%v)", err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("another forest by 4 workers")
	}
	if bytes.Equal(files[0], files[2]) {
		t.Error("the same forest by another seed")
	}
}

// Rows without counts, rows that are all equal, and one class alone have answers.
func TestForestDegenerate(t *testing.T) {
	empty := &Counts{Offsets: []int{0, 0, 0, 0, 0}}
	equal := &Counts{}
	for range 4 {
		equal.Append([]uint64{1, 2}, []float64{3, 0.5})
	}
	for name, c := range map[string]*Counts{"empty": empty, "equal": equal} {
		m := &Forest{Trees: 200}
		fitForest(t, m, 3, c, []int32{0, 1, 1, 1})
		if p := said(t, m, c); math.Abs(float64(p[1])-0.75) > 0.1 || p[2] != 0 {
			t.Errorf("%s: %v", name, p[:3])
		}
		m = &Forest{Trees: 2}
		fitForest(t, m, 3, c, []int32{2, 2, 2, 2})
		if p := said(t, m, c); p[2] != 1 {
			t.Errorf("%s: one class: %v", name, p[:3])
		}
		var file bytes.Buffer
		if err := m.Save(&file); err != nil {
			t.Error(err)
		}
		if _, err := LoadPredictor(&file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestForestErrors(t *testing.T) {
	c, class := forestRows(5, 2, 1)
	shape := Shape{Counts: []string{"words"}, Classes: 2}
	ctx := context.Background()
	var m Forest
	if err := m.FitCounts(ctx, c, class); err != ErrNotReady {
		t.Error(err)
	}
	if err := m.Init(shape); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Predict(Batch{Counts: c}, nil); err != ErrUntrained {
		t.Error(err)
	}
	if err := m.Save(new(bytes.Buffer)); err != ErrUntrained {
		t.Error(err)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	for _, c := range []struct {
		err  error
		want string
	}{
		{(&Forest{}).Init(Shape{Counts: []string{"words"}}), "classes = 0"},
		{(&Forest{}).Init(Shape{W: 1, K: 1, Cats: []int{2}, Classes: 2}), "counts"},
		{(&Forest{Trees: -1}).Init(shape), "Trees is -1"},
		{m.FitCounts(ctx, c, class[:4]), "5 rows and 4 classes"},
		{m.FitCounts(ctx, c, []int32{0, 1, 0, 2, 0}), "row 3: class 2"},
		{m.FitCounts(ctx, &Counts{}, nil), "0 rows"},
		{m.FitCounts(ctx, &Counts{Offsets: []int{0, 2}, IDs: []uint64{2, 1}, Values: []float64{1, 1}}, []int32{0}), "ascending"},
		{m.FitCounts(stopped, c, class), "canceled"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
	if m.Trained() {
		t.Error("trained by an error")
	}
}

// A file whose numbers were changed, and whose sum is right, is refused or answers: no path is
// endless.
func FuzzForestFile(f *testing.F) {
	c, class := forestRows(60, 2, 1)
	m := &Forest{Trees: 3}
	if err := m.Init(Shape{Counts: []string{"words"}, Classes: 2}); err != nil {
		f.Fatal(err)
	}
	if err := m.FitCounts(context.Background(), c, class); err != nil {
		f.Fatal(err)
	}
	var file bytes.Buffer
	if err := m.Save(&file); err != nil {
		f.Fatal(err)
	}
	for at := range 40 {
		f.Add(uint(at*37), byte(1<<(at%8)))
	}
	f.Fuzz(func(t *testing.T, at uint, x byte) {
		bad := bytes.Clone(file.Bytes())
		header := 8 + int(bad[0]) + int(bad[1])<<8
		bad[header+int(at%uint(len(bad)-header))] ^= x
		bad = summed(bad)
		if loaded, err := LoadPredictor(bytes.NewReader(bad)); err == nil {
			said(t, loaded, c)
		}
	})
}
