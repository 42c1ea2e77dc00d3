package trees

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
)

// data are rows with their classes and numbers.
type data struct {
	Counts  *nn.Counts
	Columns []float64
	Class   []int32
	Values  []float64
}

// rows returns rows from, up to to.
func (d data) rows(s nn.Shape, from, to int) nn.Batch {
	b, width := nn.Batch{}, len(s.Columns)
	if d.Columns != nil {
		b.Columns = d.Columns[from*width : to*width]
	}
	if d.Counts != nil {
		b.Counts = &nn.Counts{Offsets: []int{0}}
		for i := from; i < to; i++ {
			b.Counts.Append(d.Counts.Row(i))
		}
	}
	if s.Classes > 0 {
		b.Targets = tensor.New(tensor.WithShape(to-from), tensor.WithBacking(slices.Clone(d.Class[from:to])))
		return b
	}
	var values []float32
	for _, x := range d.Values[from:to] {
		values = append(values, float32(x))
	}
	b.Values = tensor.New(tensor.WithShape(to-from), tensor.WithBacking(values))
	return b
}

// sample returns rows of four dense columns, some values missing, and of counts of 20 ids. The values depend on two columns, on
// whether one is missing, and on two ids, with noise; the classes are intervals of values.
func sample(n, classes int, seed uint64) data { return noisy(n, classes, seed, 0.25) }

func noisy(n, classes int, seed uint64, noise float64) data {
	r := rand.New(rand.NewPCG(seed, 7))
	rows := data{Counts: &nn.Counts{}}
	for range n {
		x := make([]float64, 4)
		for c := range x {
			if x[c] = math.Round(r.NormFloat64()*100) / 10; r.IntN(5) == 0 {
				x[c] = math.NaN()
			}
		}
		var ids []uint64
		var values []float64
		y := 0.0
		for id := range uint64(20) {
			if r.IntN(3) == 0 {
				ids, values = append(ids, id*id+3), append(values, float64(1+r.IntN(4)))
				if id == 5 || id == 9 {
					y += values[len(values)-1] - 2
				}
			}
		}
		if x[0] > 3 {
			y += 2
		}
		if x[1] != x[1] {
			y -= 3
		} else if x[1] < 0 && x[2] < 0 {
			y += 3
		}
		rows.Counts.Append(ids, values)
		rows.Columns = append(rows.Columns, x...)
		y += noise * r.NormFloat64()
		rows.Values = append(rows.Values, y)
		rows.Class = append(rows.Class, int32(min(classes-1, max(0, int(math.Floor(y+3.5)*float64(classes)/6)))))
	}
	return rows
}

func shape(classes int) nn.Shape {
	return nn.Shape{Counts: []string{"words"}, Columns: []string{"a", "b", "c", "d"}, Classes: classes}
}

// fitted learns from the first train rows, in two batches; the others choose.
func fitted(t testing.TB, m *Model, s nn.Shape, d data, train int) *Model {
	t.Helper()
	n := max(len(d.Class), len(d.Values))
	var valid Rows
	if train < n {
		valid = Of(d.rows(s, train, n))
	}
	if err := m.Init(s); err != nil {
		t.Fatal(err)
	}
	if unknown, err := m.Fit(context.Background(), Of(d.rows(s, 0, train/2), d.rows(s, train/2, train)), valid); err != nil || unknown > 0 {
		t.Fatal(unknown, err)
	}
	return m
}

func answers(t testing.TB, m nn.Predictor, r data) []float32 {
	t.Helper()
	y, err := m.Predict(nn.Batch{Counts: r.Counts, Columns: r.Columns}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return y.Float32s()
}

func saved(t testing.TB, m nn.Saver) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := m.Save(&file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// New rows, without noise, are classified, and their numbers predicted.
func TestLearns(t *testing.T) {
	race.Skip(t)
	for _, at := range []struct {
		classes int
		bag     bool
	}{{0, false}, {2, false}, {3, false}, {6, false}, {0, true}, {2, true}, {6, true}} {
		classes := at.classes
		m := fitted(t, &Model{Trees: 80, Bag: at.bag}, shape(classes), sample(4000, classes, 1), 3000)
		test := noisy(1000, classes, 2, 0)
		p, wrong, all := answers(t, m, test), 0.0, 1000.0
		if classes == 0 {
			all = 0
		}
		for i, y := range test.Values {
			if classes == 0 {
				wrong += (float64(p[i]) - y) * (float64(p[i]) - y)
				all += y * y
				continue
			}
			row, sum := p[i*classes:(i+1)*classes], float32(0)
			for _, x := range row {
				sum += x
			}
			if math.Abs(float64(sum)-1) > 1e-5 {
				t.Fatalf("probabilities %v add up to %v", row, sum)
			}
			if slices.Index(row, slices.Max(row)) != int(test.Class[i]) {
				wrong++
			}
		}
		if share := wrong / all; !(share < 0.1) { // noise in the training rows moves some over the edge of a class
			t.Errorf("%+v: %.3f wrong", at, share)
		}
	}
}

// The same bytes at any number of workers, other ones by another seed, and the same answers from a file and a clone.
func TestBytes(t *testing.T) {
	rows := sample(3000, 3, 1)
	var files [][]byte
	for _, m := range []*Model{{Workers: 1}, {Workers: 2}, {Workers: 5}, {Seed: 1}, {Bag: true}, {Bag: true, Workers: 3}} {
		m.Trees, m.Rows, m.Columns = 8, 0.7, 0.6
		fitted(t, m, shape(3), rows, 2500)
		file := saved(t, m)
		loaded, err := nn.LoadPredictor(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(saved(t, loaded), file) {
			t.Error("another file of what was loaded")
		}
		want := answers(t, m, rows)
		if !reflect.DeepEqual(answers(t, loaded, rows), want) || !reflect.DeepEqual(answers(t, m.Clone(), rows), want) {
			t.Error("a copy answers otherwise")
		}
		files = append(files, file)
	}
	if !bytes.Equal(files[0], files[1]) || !bytes.Equal(files[0], files[2]) {
		t.Error("other bytes by other workers")
	}
	if !bytes.Equal(files[4], files[5]) {
		t.Error("other bytes of bagged trees by other workers")
	}
	if bytes.Equal(files[0], files[3]) {
		t.Error("the same bytes by another seed")
	}
}

// Columns that split the rows alike have equal scores: the first of them is taken at any number of workers.
func TestTies(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	const n, kinds, columns = 2000, 12, 120
	names, rows := make([]string, columns), data{}
	for c := range names {
		names[c] = fmt.Sprint("c", c)
	}
	for range n {
		var of [kinds]float64
		for k := range of {
			of[k] = float64(r.IntN(2))
		}
		for c := range columns {
			rows.Columns = append(rows.Columns, of[c%kinds]*float64(1-2*(c/kinds%2))) // ten of a kind, half of them turned
		}
		xor := func(a, b float64) float64 { return a + b - 2*a*b } // so that scores are far above those of no split, and round
		rows.Values = append(rows.Values, 10*xor(of[0], of[1])+3*xor(of[2], of[3])+of[4]+r.NormFloat64()/8)
	}
	var files [][]byte
	for _, workers := range []int{1, 2, 3, 7} {
		m := &Model{Workers: workers, Trees: 12}
		fitted(t, m, nn.Shape{Columns: names}, rows, n)
		if files = append(files, saved(t, m)); !bytes.Equal(files[0], files[len(files)-1]) {
			t.Errorf("other bytes by %d workers", workers)
		}
	}
}

// stump is the least squared error, with L2, of two leaves that brute force finds.
func stump(rows data, columns, least int) float64 {
	n := len(rows.Values)
	best := math.Inf(1)
	mean := 0.0
	for _, y := range rows.Values {
		mean += float64(float32(y)) / float64(n)
	}
	value := func(i, c int) float64 {
		if c < columns {
			return rows.Columns[i*columns+c]
		}
		ids, values := rows.Counts.Row(i)
		if at := slices.Index(ids, uint64(c-columns)); at >= 0 {
			return values[at]
		}
		return 0
	}
	for c := range columns + 30 {
		for at := range n + 1 {
			x := math.MaxFloat64
			if at < n {
				x = value(at, c)
			}
			for _, missing := range []bool{false, true} {
				var g, h [2]float64
				var many [2]int
				for i, y := range rows.Values {
					side := 1
					if v := value(i, c); v <= x || v != v && missing {
						side = 0
					}
					g[side] += y - mean
					h[side]++
					many[side]++
				}
				if min(many[0], many[1]) >= least {
					best = min(best, -g[0]*g[0]/(h[0]+lambda)-g[1]*g[1]/(h[1]+lambda))
				}
			}
		}
	}
	return best
}

// A tree of two leaves has the split that brute force finds, of all values and both sides for missing ones.
func TestSplitIsBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for try := range 60 {
		n, least := 10+r.IntN(40), 1+r.IntN(4)
		rows := data{Counts: &nn.Counts{}}
		for range n {
			for range 2 {
				if x := float64(r.IntN(9) - 4); r.IntN(3) == 0 {
					rows.Columns = append(rows.Columns, math.NaN())
				} else {
					rows.Columns = append(rows.Columns, x)
				}
			}
			var ids []uint64
			var values []float64
			for id := range uint64(30) {
				if r.IntN(6) == 0 {
					ids, values = append(ids, id), append(values, float64(r.IntN(5)-2))
				}
			}
			rows.Counts.Append(ids, values)
			rows.Values = append(rows.Values, float64(float32(r.NormFloat64())))
		}
		s := shape(0)
		s.Columns = s.Columns[:2]
		m := fitted(t, &Model{Trees: 1, Leaves: 2, MinRows: least, Rate: 1}, s, rows, n)
		got := 0.0
		if len(m.nodes) == 3 {
			for _, leaf := range m.nodes[1:] { // -g²/(h+λ) is -x²·(h+λ)
				got -= leaf.x * leaf.x * (leaf.cover + lambda)
			}
		}
		if want := stump(rows, 2, least); math.Abs(got-want) > 1e-6 {
			t.Errorf("try %d: the split gains %v, brute force %v", try, got, want)
		}
	}
}

// subset is what a tree says of a row of which some columns are known.
func subset(tree []node, at int32, row []float64, known int) float64 {
	n := &tree[at]
	switch {
	case n.right == 0:
		return n.x
	case known>>n.column&1 == 1:
		return subset(tree, n.next(at, row), row, known)
	}
	a, b := &tree[at+1], &tree[n.right]
	return (a.cover*subset(tree, at+1, row, known) + b.cover*subset(tree, n.right, row, known)) / (a.cover + b.cover)
}

// The reasons are Shapley values by all subsets of 12 columns, and add up to the logits, of classes and numbers, where values
// are missing and ids absent.
func TestReasonsAreBruteForce(t *testing.T) {
	for _, classes := range []int{0, 2, 4} {
		rows := sample(1500, classes, 5)
		few := &nn.Counts{}
		for i := range rows.Counts.Len() { // 8 ids
			ids, values := rows.Counts.Row(i)
			n := slices.IndexFunc(append(slices.Clone(ids), 1<<20), func(id uint64) bool { return id >= 8*8+3 })
			few.Append(ids[:n], values[:n])
		}
		rows.Counts = few
		m := fitted(t, &Model{Trees: 12, Leaves: 40, MinRows: 3, Rate: 0.5}, shape(classes), rows, 1500)
		if got := 4 + len(m.ids); got != 12 {
			t.Fatalf("%d columns", got)
		}
		const columns = 12
		weight := [columns]float64{} // k!(n-1-k)!/n!
		for k := range weight {
			weight[k] = 1.0 / columns
			for j := 1; j <= k; j++ {
				weight[k] *= float64(j) / float64(columns-j)
			}
		}
		k := len(m.base)
		b := nn.Batch{Counts: rows.Counts, Columns: rows.Columns}
		for _, i := range []int{0, 7, 500} {
			e, err := m.Contributions(b, i)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float64, columns*e.Outputs)
			copy(got, e.Columns)
			for j, id := range e.IDs {
				if at, ok := slices.BinarySearch(m.ids, id); ok {
					copy(got[(4+at)*e.Outputs:], e.Weights[j*e.Outputs:(j+1)*e.Outputs])
				}
			}
			m.each(b, i, i+1, func(_ int, row []float64) {
				for out := range k {
					worth, logit := make([]float64, 1<<columns), m.base[out]
					for known := range worth {
						for tree := out; tree < len(m.at)-1; tree += k {
							worth[known] += subset(m.nodes[m.at[tree]:m.at[tree+1]], 0, row, known)
						}
					}
					logit += worth[len(worth)-1]
					if sum := e.Sum()[e.Outputs-k+out]; math.Abs(sum-logit) > 1e-9 {
						t.Errorf("%d classes, row %d: the reasons add up to %v, want %v", classes, i, sum, logit)
					}
					for c := range columns {
						want := 0.0
						for known, x := range worth {
							if known>>c&1 == 0 {
								n := 0
								for rest := known; rest > 0; rest &= rest - 1 {
									n++
								}
								want += weight[n] * (worth[known|1<<c] - x)
							}
						}
						if x := got[c*e.Outputs+e.Outputs-k+out]; math.Abs(x-want) > 1e-9 {
							t.Errorf("%d classes, row %d: column %d has %v, brute force %v", classes, i, c, x, want)
						}
					}
				}
			})
			p := e.Sum()
			if classes > 0 {
				sum := 0.0
				for _, x := range p {
					sum += math.Exp(x)
				}
				for c, x := range p {
					p[c] = math.Exp(x) / sum
				}
			}
			said := answers(t, m, rows)[i*len(p):]
			for c, x := range p {
				if math.Abs(x-float64(said[c])) > 1e-6*(1+math.Abs(x)) {
					t.Errorf("the reasons say %v of class %d, the model %v", x, c, said[c])
				}
			}
		}
	}
}

// The rounds behind the lowest loss of the rows to choose by are dropped: of noise nothing is learned.
func TestEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	rows := data{}
	for range 1000 {
		rows.Columns = append(rows.Columns, r.Float64(), r.Float64())
		rows.Class = append(rows.Class, int32(r.IntN(2)))
	}
	rounds := 0
	m := fitted(t, &Model{Progress: func(round, _ int) { rounds = round }}, nn.Shape{Columns: []string{"a", "b"}, Classes: 2}, rows, 700)
	if trees := len(m.at) - 1; trees > 10 || rounds != trees+patience {
		t.Errorf("%d trees of %d rounds", trees, rounds)
	}
}

// Rows whose target is not known are left out of both parts, and counted.
func TestUnknown(t *testing.T) {
	for _, classes := range []int{0, 3} {
		for _, m := range []Model{{Trees: 10}, {Trees: 10, Bag: true}} {
			some, all := sample(300, classes, 1), sample(300, classes, 1)
			for i := range 60 { // a row in five, of strange values
				all.Class[5*i], all.Values[5*i], all.Columns[20*i] = -int32(1+i), math.NaN(), math.MaxFloat64
			}
			kept := data{Counts: &nn.Counts{}}
			for i := range 300 {
				if i%5 > 0 {
					kept.Counts.Append(some.Counts.Row(i))
					kept.Columns = append(kept.Columns, some.Columns[4*i:4*i+4]...)
					kept.Class, kept.Values = append(kept.Class, some.Class[i]), append(kept.Values, some.Values[i])
				}
			}
			s, both := shape(classes), m
			if err := both.Init(s); err != nil {
				t.Fatal(err)
			}
			unknown, err := both.Fit(context.Background(), Of(all.rows(s, 0, 200)), Of(all.rows(s, 200, 300)))
			if err != nil || unknown != 60 {
				t.Fatal(unknown, err)
			}
			if !bytes.Equal(saved(t, &both), saved(t, fitted(t, &m, s, kept, 160))) {
				t.Error("rows without a target change the model")
			}
		}
	}
}

// Counts alone, and columns alone, decide too: the first of them, and the last.
func TestAlone(t *testing.T) {
	rows := sample(400, 2, 1)
	for name, s := range map[string]nn.Shape{"counts": {Counts: []string{"words"}, Classes: 2}, "columns": {Columns: []string{"a", "b", "c", "d"}, Classes: 2}} {
		for _, at := range []int{0, 3} {
			r := data{Columns: rows.Columns}
			if name == "counts" {
				r = data{Counts: rows.Counts}
			}
			for i := range 400 {
				yes := rows.Columns[i*4+at] > 0
				if name == "counts" {
					ids, _ := rows.Counts.Row(i)
					yes = slices.Contains(ids, uint64(at*at+3))
				}
				r.Class = append(r.Class, 0)
				if yes {
					r.Class[i] = 1
				}
			}
			m := fitted(t, &Model{Trees: 10}, s, r, 400)
			for i, p := range answers(t, m, r) {
				if i%2 == 1 && (p > 0.5) != (r.Class[i/2] == 1) {
					t.Fatalf("%s %d: row %d has class %d, the answer is %v", name, at, i/2, r.Class[i/2], p)
				}
			}
		}
	}
}

// Rows without counts, equal rows, missing values alone, and one class alone have answers, and files.
func TestDegenerate(t *testing.T) {
	nan := math.NaN()
	equal := &nn.Counts{}
	for range 40 {
		equal.Append([]uint64{1, 2}, []float64{3, 0.5})
	}
	for name, rows := range map[string]data{
		"empty":   {Counts: &nn.Counts{Offsets: make([]int, 41)}, Columns: slices.Repeat([]float64{nan}, 40)},
		"equal":   {Counts: equal, Columns: slices.Repeat([]float64{1}, 40)},
		"extreme": {Counts: equal, Columns: slices.Repeat([]float64{-math.MaxFloat64, math.MaxFloat64, 5e-324, 0}, 10)},
	} {
		for _, classes := range []int{0, 2, 3} {
			for _, other := range []int32{1, 0} {
				rows.Class, rows.Values = nil, nil
				for i := range 40 {
					c := int32(1)
					if i%4 == 0 {
						c = other
					}
					rows.Class, rows.Values = append(rows.Class, c), append(rows.Values, math.MaxFloat32*float64(c))
				}
				s := nn.Shape{Counts: []string{"words"}, Columns: []string{"a"}, Classes: classes}
				m := fitted(t, &Model{Trees: 12}, s, rows, 40)
				for _, x := range answers(t, m, rows) {
					if x-x != 0 {
						t.Fatalf("%s: %v", name, x)
					}
				}
				if _, err := nn.LoadPredictor(bytes.NewReader(saved(t, m))); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// A file has settings that are 0 for their defaults, and its trees are within the defaults.
func TestFileOfDefaults(t *testing.T) {
	for _, classes := range []int{0, 2, 6} {
		rows := sample(400, classes, 1)
		m := fitted(t, &Model{}, shape(classes), rows, 300)
		loaded, err := nn.LoadPredictor(bytes.NewReader(saved(t, m)))
		if err != nil {
			t.Fatalf("%d classes: %v", classes, err)
		}
		if want, got := answers(t, m, rows), answers(t, loaded, rows); !slices.Equal(got, want) {
			t.Errorf("%d classes: other answers than before the file", classes)
		}
	}
}

func TestErrors(t *testing.T) {
	rows := sample(50, 2, 1)
	ctx := context.Background()
	var m Model
	if _, err := m.Fit(ctx, Of(rows.rows(shape(2), 0, 50)), nil); err != nn.ErrNotReady {
		t.Error(err)
	}
	if err := m.Init(shape(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Predict(nn.Batch{Counts: rows.Counts, Columns: rows.Columns}, nil); err != nn.ErrUntrained {
		t.Error(err)
	}
	if err := m.Save(new(bytes.Buffer)); err != nn.ErrUntrained {
		t.Error(err)
	}
	fit := func(ctx context.Context, train Rows) error {
		_, err := m.Fit(ctx, train, nil)
		return err
	}
	with := func(f func(*nn.Batch)) error {
		b := sample(50, 2, 1).rows(shape(2), 0, 50)
		f(&b)
		return fit(ctx, Of(b))
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	for _, c := range []struct {
		err  error
		want string
	}{
		{(&Model{}).Init(nn.Shape{Classes: 2}), "counts and columns"},
		{(&Model{}).Init(nn.Shape{Columns: []string{"a"}, Classes: 1}), "classes = 1"},
		{(&Model{Trees: -1}).Init(shape(2)), "Trees is -1"},
		{(&Model{Rate: math.NaN()}).Init(shape(2)), "Rate is NaN"},
		{(&Model{Columns: 2}).Init(shape(2)), "Columns is 2"},
		{m.Init(shape(3)), "classes"},
		{with(func(b *nn.Batch) { b.Targets = nil }), "Targets is missing"},
		{with(func(b *nn.Batch) { b.Targets.Int32s()[3] = 2 }), "row 3: class 2"},
		{with(func(b *nn.Batch) { b.Columns[9] = math.Inf(1) }), `row 2: column "b" is +Inf`},
		{with(func(b *nn.Batch) { b.Columns = b.Columns[1:] }), "199 values of columns"},
		{with(func(b *nn.Batch) { b.Counts = nil }), "Counts is missing"},
		{with(func(b *nn.Batch) { b.Counts.Values[0] = math.NaN() }), "row 0"},
		{fit(ctx, Of()), "no rows to learn from"},
		{with(func(b *nn.Batch) { copy(b.Targets.Int32s(), slices.Repeat([]int32{-1}, 50)) }), "50 whose target is not known"},
		{fit(ctx, func(yield func(nn.Batch, error) bool) { yield(nn.Batch{}, io.ErrUnexpectedEOF) }), "unexpected EOF"},
		{fit(stopped, Of(rows.rows(shape(2), 0, 50))), "canceled"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
	if m.Trained() {
		t.Error("trained by an error")
	}
}

// A file whose numbers were changed, and whose sum is right, is refused or answers, with reasons: no path is endless.
func FuzzFile(f *testing.F) {
	rows := sample(60, 3, 1)
	m := fitted(f, &Model{Trees: 3, MinRows: 4}, shape(3), rows, 60)
	file := saved(f, m)
	for at := range 60 {
		f.Add(uint(at*37), byte(1<<(at%8)))
	}
	f.Fuzz(func(t *testing.T, at uint, x byte) {
		bad := bytes.Clone(file)
		header := 8 + int(binary.LittleEndian.Uint64(bad))
		bad[header+int(at%uint(len(bad)-header))] ^= x
		sum := bytes.Index(bad, []byte(`"sanflow.sha256":"`)) + 18
		copy(bad[sum:], strings.Repeat("0", 64))
		digest := sha256.Sum256(bad)
		hex.Encode(bad[sum:], digest[:])
		loaded, err := nn.LoadPredictor(bytes.NewReader(bad))
		if err != nil {
			return
		}
		answers(t, loaded, rows)
		if _, err := loaded.(nn.Additive).Contributions(nn.Batch{Counts: rows.Counts, Columns: rows.Columns}, 3); err != nil {
			t.Error(err)
		}
		if !bytes.Equal(saved(t, loaded), bad) {
			t.Error("another file of what was loaded")
		}
	})
}

// BenchmarkFit is boosting by dense columns and by many sparse counts.
func BenchmarkFit(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	dense, sparse := data{}, data{Counts: &nn.Counts{}}
	for range 4000 {
		y := 0.0
		for c := range 60 {
			x := r.NormFloat64()
			if dense.Columns = append(dense.Columns, x); c < 5 {
				y += x
			}
		}
		var ids []uint64
		var values []float64
		for id := uint64(r.ExpFloat64() * 4); id < 50_000; id += 1 + uint64(r.ExpFloat64()*float64(8+id/100)) {
			if ids, values = append(ids, id), append(values, float64(1+r.IntN(3))); id%7 == 0 && id < 3000 {
				y += values[len(values)-1] - 2
			}
		}
		sparse.Counts.Append(ids, values)
		dense.Values, sparse.Values = append(dense.Values, y), append(sparse.Values, y)
	}
	var names []string
	for c := range 60 {
		names = append(names, fmt.Sprint(c))
	}
	for name, rows := range map[string]data{"columns=60": dense, "ids=50000": sparse} {
		b.Run(name, func(b *testing.B) {
			s := nn.Shape{Columns: names}
			if rows.Counts != nil {
				s = nn.Shape{Counts: []string{"words"}}
			}
			for b.Loop() {
				fitted(b, &Model{Trees: 100}, s, rows, 4000)
			}
		})
	}
}

// BenchmarkPredictColumns is the answer for a row of 60 columns, by 300 trees of 31 leaves.
func BenchmarkPredictColumns(b *testing.B) {
	const columns, rows = 60, 2000
	r := rand.New(rand.NewPCG(1, 60))
	s, all := nn.Shape{Classes: 2}, data{}
	for c := range columns {
		s.Columns = append(s.Columns, fmt.Sprint(c))
	}
	for range rows {
		sum := 0.0
		for range columns {
			x := r.NormFloat64()
			sum, all.Columns = sum+x, append(all.Columns, x)
		}
		all.Class = append(all.Class, int32(map[bool]int{true: 1}[sum > 0]))
	}
	m := &Model{Rate: 0.05}
	if err := m.Init(s); err != nil {
		b.Fatal(err)
	}
	if _, err := m.Fit(context.Background(), Of(all.rows(s, 0, rows)), nil); err != nil {
		b.Fatal(err)
	}
	one, dst := nn.Batch{Columns: all.Columns[:columns]}, (*tensor.Dense)(nil)
	for b.Loop() {
		var err error
		if dst, err = m.Predict(one, dst); err != nil {
			b.Fatal(err)
		}
	}
}
