package trees

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Rows are rows to learn from, and behind them rows to choose the number of trees by.
type Rows struct {
	Counts  *nn.Counts
	Columns []float64 // (rows, columns), row-major; NaN = missing
	Class   []int32   // of each row, if classes are learned
	Values  []float64 // of each row, if numbers are learned
	Weights []float64 // of each row in the loss, from 0; nil = 1
}

// check returns how many rows there are.
func (r *Rows) check(s nn.Shape) (n int, err error) {
	n, err = sizeOf(s, r.Counts, r.Columns)
	switch d := len(s.Columns); {
	case err != nil:
		return 0, err
	case s.Classes > 0 && len(r.Class) != n || s.Classes == 0 && len(r.Values) != n || r.Weights != nil && len(r.Weights) != n || n > mostRows:
		return 0, fmt.Errorf("trees: %d rows with %d classes, %d values and %d weights, want one for each of at most %d", n, len(r.Class), len(r.Values), len(r.Weights), mostRows)
	default:
		if i := slices.IndexFunc(r.Columns, func(x float64) bool { return math.IsInf(x, 0) }); i >= 0 {
			return 0, rowErrorf(i/d, "column %q is %v", s.Columns[i%d], r.Columns[i])
		}
	}
	for i := range n {
		switch {
		case r.Weights != nil && !(r.Weights[i] >= 0 && r.Weights[i] <= math.MaxFloat32):
			return 0, rowErrorf(i, "the weight is %v, want a number from 0", r.Weights[i])
		case s.Classes > 0 && (r.Class[i] < 0 || int(r.Class[i]) >= s.Classes):
			return 0, rowErrorf(i, "class %d, want 0 to %d", r.Class[i], s.Classes-1)
		case s.Classes == 0 && !(math.Abs(r.Values[i]) <= math.MaxFloat32):
			return 0, rowErrorf(i, "the value is %v, want a number of float32", r.Values[i])
		}
	}
	return n, nil
}

func rowErrorf(row int, format string, args ...any) error {
	return &nn.RowError{Row: row, Err: fmt.Errorf(format, args...)}
}

// Fit learns from the first train rows, after Init, and forgets what was learned before. If there are more rows, boosting
// ends after 30 rounds without a lower loss of these, and the rounds behind the lowest loss are dropped. An error leaves the
// model unchanged.
func (m *Model) Fit(ctx context.Context, rows Rows, train int) error {
	if !m.ready() {
		return nn.ErrNotReady
	}
	set, err := m.resolved()
	if err != nil {
		return err
	}
	n, err := rows.check(m.shape)
	if err != nil {
		return err
	}
	if train < 1 || train > n {
		return fmt.Errorf("trees: %d of %d rows to learn from", train, n)
	}
	if set.MinRows == 0 {
		set.MinRows = max(1, min(20, train/20))
	}
	if rows.Weights == nil {
		rows.Weights = slices.Repeat([]float64{1}, n)
	}
	g := &grower{Model: set, rows: rows, n: n, train: train, outputs: outputs(m.shape)}
	g.table = newTable(m.shape, rows, n, train, set.MinRows)
	if err := g.run(ctx); err != nil {
		return err
	}
	m.base, m.at, m.nodes, m.ids = g.base, g.at, g.nodes, g.ids
	return nil
}

// patience is after how many rounds without a lower loss a fit ends.
const patience = 30

// run grows the trees.
func (g *grower) run(ctx context.Context) error {
	k := g.outputs
	g.base, g.at, g.nodes = g.constant(), []int{0}, nil
	g.scores, g.targets = slices.Repeat(g.base, g.n), make([]float64, g.n*k)
	g.sums, g.order, g.scratch, g.drawn = make([]sums, g.n), make([]int32, g.n), make([]int32, g.n), make([]bool, len(g.table.columns))
	least, best := math.Inf(1), 0
	for round := 0; ; round++ {
		copy(g.targets, g.scores)
		for i := range g.n {
			g.link(g.targets[i*k : (i+1)*k])
		}
		if loss := g.loss(); loss < least || g.n == g.train {
			least, best = loss, round
		}
		if round == g.Trees || round-best == patience {
			break
		}
		for out := range k {
			if err := g.grow(ctx, out, random.New(g.Seed, random.Parts+uint64(round*k+out))); err != nil {
				return err
			}
			if len(g.nodes) > mostNodes {
				return fmt.Errorf("trees: the trees have more than %d nodes: want fewer Trees or Leaves", mostNodes)
			}
		}
		if g.Progress != nil {
			g.Progress(round+1, g.Trees)
		}
	}
	g.at = g.at[:best*k+1]
	g.keep(g.nodes[:g.at[best*k]])
	return nil
}

// constant returns the answer without trees: the mean, or the logits of the shares of the classes, of which each has
// half a row more.
func (g *grower) constant() []float64 {
	total, sum, logs := 0.0, 0.0, slices.Repeat([]float64{0.5}, g.shape.Classes)
	for i, w := range g.rows.Weights[:g.train] {
		if total += w; g.shape.Classes == 0 {
			sum += float64(w * g.rows.Values[i])
		} else {
			logs[g.rows.Class[i]] += w
		}
	}
	for c, x := range logs {
		logs[c] = math.Log(x / (total + float64(len(logs))/2))
	}
	switch g.shape.Classes {
	case 0:
		return []float64{sum / max(total, math.SmallestNonzeroFloat64)}
	case 2:
		return []float64{logs[1] - logs[0]}
	}
	return logs
}

// gradient returns the derivatives of the loss of a training row by an output.
func (g *grower) gradient(i int32, out int) (first, second float64) {
	p, w := g.targets[int(i)*g.outputs+out], g.rows.Weights[i]
	if g.shape.Classes == 0 {
		return w * (p - g.rows.Values[i]), w
	}
	is := 0.0
	if g.rows.Class[i] == int32(out) != (g.shape.Classes == 2) { // the one output of two classes is of class 1
		is = 1
	}
	return w * (p - is), w * float64(p*(1-p))
}

// loss is the sum of the losses of the rows to choose by.
func (g *grower) loss() (sum float64) {
	for i := g.train; i < g.n; i++ {
		p := g.targets[i*g.outputs : (i+1)*g.outputs]
		loss := 0.0
		switch {
		case g.shape.Classes == 0:
			loss = (p[0] - g.rows.Values[i]) * (p[0] - g.rows.Values[i])
		case g.shape.Classes == 2 && g.rows.Class[i] == 0:
			loss = -math.Log(max(1e-30, 1-p[0]))
		default:
			loss = -math.Log(max(1e-30, p[int(g.rows.Class[i])%g.outputs]))
		}
		sum += float64(g.rows.Weights[i] * loss)
	}
	return sum
}

// keep keeps the trees and the ids of counts that splits use. Columns are numbered in the order of these ids.
func (g *grower) keep(nodes []node) {
	number := map[int32]int32{}
	for _, n := range nodes {
		if n.child > 0 {
			number[n.column] = n.column
		}
	}
	for c, k := range g.table.columns[g.table.dense:] {
		at := int32(g.table.dense + c)
		if _, ok := number[at]; ok {
			number[at] = int32(g.table.dense + len(g.ids))
			g.ids = append(g.ids, k.id)
		}
	}
	g.nodes = slices.Clone(nodes)
	for i := range g.nodes {
		g.nodes[i].column = number[g.nodes[i].column]
	}
}

// link makes probabilities of the outputs of a row, of two classes that of class 1; numbers stay.
func (m *Model) link(y []float64) {
	switch m.shape.Classes {
	case 0:
	case 2:
		if e := exp(-math.Abs(y[0])); y[0] < 0 {
			y[0] = e / (1 + e)
		} else {
			y[0] = 1 / (1 + e)
		}
	default:
		most, sum := slices.Max(y), 0.0
		for i, x := range y {
			y[i] = exp(x - most)
			sum += y[i]
		}
		for i := range y {
			y[i] /= sum
		}
	}
}

// exp is e^x for x up to 0, to about two units in the last place. math.Exp depends on whether the processor fuses products
// and sums.
func exp(x float64) float64 {
	if !(x > -700) {
		return 0
	}
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	r := x - float64(k*6.93147180369123816490e-01) - float64(k*1.90821492927058770002e-10)
	y := 1.0
	for i := 13.0; i > 0; i-- {
		y = 1 + float64(y*r)/i
	}
	return y * math.Float64frombits(uint64(1023+int(k))<<52)
}
