package nn

import (
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/layer"
)

// The rows that a Logistic with the Min kernel reads have the inner products
// that its documentation promises, where the table is wide enough for no two ids
// to meet.
func TestLogisticMinComparesDoublings(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var c Counts
	levels := make([]map[uint64]int, 20)
	for i := range levels {
		levels[i] = map[uint64]int{}
		var ids []uint64
		var values []float64
		for id := range uint64(8) {
			if rng.IntN(3) > 0 {
				n := rng.IntN(40)
				ids, values = append(ids, id), append(values, float64(n)+rng.Float64()*0.99)
				levels[i][id] = bits.Len(uint(n))
			}
		}
		c.Append(ids, values)
	}
	const width = 1 << 24
	l := &logisticLayer{table: &layer.Weight{Shape: []int{width}}, kernel: Min, models: 1}
	if err := l.hash(batch{rows: c.Len(), counts: &c}); err != nil {
		t.Fatal(err)
	}
	dense := make([]map[int32]float64, c.Len())
	from := 0
	for i, end := range l.ends {
		dense[i] = map[int32]float64{}
		for j := from; j < end; j++ {
			dense[i][l.at[j]] += float64(l.x[j])
		}
		from = end
	}
	length := func(a map[uint64]int) (n float64) {
		for _, x := range a {
			n += float64(x)
		}
		return math.Sqrt(n)
	}
	for i := range levels {
		for j := range i {
			got, want := 0.0, 0.0
			for at, x := range dense[i] {
				got += x * dense[j][at]
			}
			for id, x := range levels[i] {
				want += float64(min(x, levels[j][id]))
			}
			want /= length(levels[i]) * length(levels[j])
			if math.Abs(got-want) > 1e-6 {
				t.Fatalf("rows %d and %d: %v, want %v", i, j, got, want)
			}
		}
	}
}

func TestLogisticMinRefusesNegativeCounts(t *testing.T) {
	m := &Logistic{Kernel: Min}
	if err := m.Init(Shape{Counts: []string{"wl"}, Classes: 2}); err != nil {
		t.Fatal(err)
	}
	var c Counts
	c.Append([]uint64{1}, []float64{2})
	c.Append([]uint64{1, 7}, []float64{2, -1})
	_, err := m.Step(Batch{Counts: &c, Targets: tensor.New(tensor.WithBacking([]int32{0, 1}))})
	var row *RowError
	if !errors.As(err, &row) || row.Row != 1 {
		t.Fatal(err)
	}
}

// A head says of the rows that it leaves out what a model says that was trained
// without them, and together they answer by the mean. The plain models take their
// steps over the whole table.
func TestLogisticHeadsLeaveRowsOut(t *testing.T) {
	const heads, rows, width = 3, 40, 64
	shape := Shape{Counts: []string{"wl"}, Classes: 3}
	b := countedRows(rows, 8, shape.Classes)
	out := make([]int, rows)
	for i := range out {
		ids, values := b.Counts.Row(i)
		out[i] = heldOutBy(ids, values, heads)
	}
	m := &Logistic{Width: width, Heads: heads, Kernel: Min}
	if err := m.Init(shape); err != nil {
		t.Fatal(err)
	}
	var alone []*Logistic
	for range heads {
		one := &Logistic{Width: width, Kernel: Min}
		if err := one.Init(shape); err != nil {
			t.Fatal(err)
		}
		alone = append(alone, one)
	}
	for epoch := range 5 {
		loss, correct := 0.0, 0
		for h, one := range alone {
			c := learnerOf(one)
			in, err := b.open(shape, true)
			if err != nil {
				t.Fatal(err)
			}
			y, err := c.work.forward(in)
			if err != nil {
				t.Fatal(err)
			}
			dy := make([]float32, len(y))
			c.loss.compare(y, in, shape, dy, 1.0/rows)
			for i := range rows {
				if out[i] != h {
					continue
				}
				r := c.loss.compare(y[i*3:i*3+3], in.cut(shape, i, i+1), shape, make([]float32, 3), 1)
				loss, correct = loss+r.loss, correct+r.correct
				clear(dy[i*3 : i*3+3])
			}
			c.work.body.backward(dy, in)
			if !updateAll(c, epoch+1) {
				t.Fatal("no step")
			}
			c.seen++
		}
		r, err := m.Step(b)
		if err != nil || r.Correct != correct || math.Abs(r.Loss-loss/rows) > 1e-5 {
			t.Fatalf("epoch %d: %+v, %v, want %d right and a loss of %v", epoch, r, err, correct, loss/rows)
		}
	}
	table := learnerOf(m).work.List[0].W
	for h, one := range alone {
		for i, w := range learnerOf(one).work.List[0].W {
			if got := table[i/3*3*heads+h*3+i%3]; math.Abs(float64(got-w)) > 1e-5 {
				t.Fatalf("head %d: weight %d is %v, want %v", h, i, got, w)
			}
		}
	}
	y, err := learnerOf(m).work.forward(mustOpen(t, b, shape))
	if err != nil {
		t.Fatal(err)
	}
	mean := make([]float64, len(y))
	for _, one := range alone {
		z, err := learnerOf(one).work.forward(mustOpen(t, b, shape))
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range z {
			mean[i] += float64(v) / heads
		}
	}
	compare(t, "mean of the heads", y, mean, 1e-5)
}

// updateAll takes a step over the whole table.
func updateAll(c *Learner, n int) bool {
	table, _ := c.work.body.(scatterer).scatter()
	return table.whole(&c.work.Params, func() bool { return update(&c.work.Params, c.opt, c.decay, n) })
}

func mustOpen(t *testing.T, b Batch, s Shape) batch {
	t.Helper()
	in, err := b.open(s, true)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// countedRows returns rows of up to 12 of some ids, and classes.
func countedRows(rows, ids, classes int) Batch {
	rng := rand.New(rand.NewPCG(5, 5))
	var c Counts
	class := make([]int32, rows)
	for i := range rows {
		var at []uint64
		var values []float64
		for id := range uint64(ids) {
			if rng.IntN(2) > 0 {
				at, values = append(at, id), append(values, float64(1+rng.IntN(9)))
			}
		}
		c.Append(at, values)
		class[i] = int32(rng.IntN(classes))
	}
	return Batch{Counts: &c, Targets: tensor.New(tensor.WithBacking(class))}
}

// A step over the rows of the table that a batch looks at is the step over all,
// to the last bit, in one part and in several.
func TestLogisticStepsWhereWordsAre(t *testing.T) {
	shape := Shape{Counts: []string{"wl"}, Classes: 3}
	for _, rows := range []int{20, 200} {
		some, all := &Logistic{Width: 50, Heads: 2, Kernel: Min}, &Logistic{Width: 50, Heads: 2, Kernel: Min}
		for _, m := range []*Logistic{some, all} {
			if err := m.Init(shape); err != nil {
				t.Fatal(err)
			}
		}
		c := learnerOf(all)
		for step := range 4 {
			b := countedRows(rows, 3+step, 3)
			if _, err := some.Step(b); err != nil {
				t.Fatal(err)
			}
			if _, _, err := c.team.learn(mustOpen(t, b, shape)); err != nil || !updateAll(c, step+1) {
				t.Fatal(err)
			}
			c.steps++
		}
		if some.Hash() != all.Hash() {
			t.Errorf("%d rows: other weights", rows)
		}
	}
}

// The hashed counts times the mean of the heads' tables are what the model predicts from.
func TestLogisticMeansHeads(t *testing.T) {
	shape := Shape{Counts: []string{"wl"}, Classes: 3}
	for _, k := range []Similarity{Linear, Cosine, Min} {
		m := ready(t, shape, &Logistic{Width: 30, Heads: 4, Kernel: k}).(*Logistic)
		b := countedRows(7, 12, 3)
		b.Counts.Append(nil, nil)
		b.Targets = nil
		l := &logisticLayer{table: &layer.Weight{Shape: []int{m.Width}}, kernel: k, models: 1}
		if err := l.hash(batch{rows: 8, counts: b.Counts}); err != nil || len(l.ends) != 8 {
			t.Fatalf("%d rows, %v", len(l.ends), err)
		}
		y, err := learnerOf(m).work.forward(batch{rows: 8, counts: b.Counts})
		if err != nil {
			t.Fatal(err)
		}
		list := learnerOf(m).work.List
		want := make([]float64, 8*3)
		for i := range want {
			row, c := i/3, i%3
			from := 0
			if row > 0 {
				from = l.ends[row-1]
			}
			for h := range 4 {
				want[i] += float64(list[1].W[h*3+c]) / 4
				for j := from; j < l.ends[row]; j++ {
					want[i] += float64(l.x[j]) * float64(list[0].W[(int(l.at[j])*4+h)*3+c]) / 4
				}
			}
		}
		compare(t, string(k), y, want, 1e-5)
	}
}

// With AdaGrad a table has no gradient of its size, and with others it does.
func TestLogisticGradientOfTable(t *testing.T) {
	for _, o := range []Optimizer{AdaGrad{}, Adam{}} {
		m := &Logistic{Optimizer: o}
		s := Shape{Counts: []string{"words"}, Classes: 2}
		if err := m.Init(s); err != nil {
			t.Fatal(err)
		}
		var c Counts
		c.Append([]uint64{7}, []float64{1})
		if _, err := m.Step(Batch{Counts: &c, Targets: tensor.New(tensor.WithShape(1), tensor.WithBacking([]int32{1}))}); err != nil {
			t.Fatal(err)
		}
		if made := m.work.G != nil; made != (o.name() == "adam") {
			t.Errorf("%v: there is a gradient of the table: %t", o, made)
		}
	}
}
