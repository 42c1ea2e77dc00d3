package trees

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/internal/random"
	"github.com/sanflow/sanflow/nn/internal/tensors"
)

// Rows are batches with targets, and an error that ends them. Each iteration yields the same rows.
type Rows = iter.Seq2[nn.Batch, error]

// Of returns the rows of batches.
func Of(batches ...nn.Batch) Rows {
	return func(yield func(nn.Batch, error) bool) {
		for _, b := range batches {
			if !yield(b, nil) {
				return
			}
		}
	}
}

// each calls f for each row with a known target, and returns the number of other rows.
func (g *grower) each(rows Rows, f func(b nn.Batch, row int, target float64)) (unknown int, err error) {
	d := len(g.shape.Columns)
	for b, err := range rows {
		if err != nil {
			return unknown, err
		}
		n, err := g.open(b)
		if err != nil {
			return unknown, err
		}
		if b.Counts == nil {
			b.Counts = &nn.Counts{Offsets: make([]int, n+1)}
		}
		targets, err := g.targetsOf(b, n)
		if err != nil {
			return unknown, err
		}
		for i, y := range targets {
			if y != y {
				unknown++
				continue
			}
			for c, x := range b.Columns[i*d : (i+1)*d] {
				if math.IsInf(x, 0) {
					return unknown, &nn.RowError{Row: i, Err: fmt.Errorf("column %q is %v", g.shape.Columns[c], x)}
				}
			}
			f(b, i, y)
		}
	}
	return unknown, nil
}

// targetsOf returns the classes or numbers of a batch, NaN for unknown ones.
func (g *grower) targetsOf(b nn.Batch, rows int) (y []float64, err error) {
	if g.shape.Classes == 0 {
		if err := tensors.Check("Values", b.Values, tensor.Float32, rows); err != nil {
			return nil, err
		}
		for i, x := range b.Values.Float32s() {
			if y = append(y, float64(x)); math.IsInf(y[i], 0) {
				return nil, &nn.RowError{Row: i, Err: fmt.Errorf("the value is %v", x)}
			}
		}
		return y, nil
	}
	if err := tensors.Check("Targets", b.Targets, tensor.Int32, rows); err != nil {
		return nil, err
	}
	for i, class := range b.Targets.Int32s() {
		if y = append(y, float64(class)); class < 0 {
			y[i] = math.NaN()
		} else if int(class) >= g.shape.Classes {
			return nil, &nn.RowError{Row: i, Err: fmt.Errorf("class %d, want below %d", class, g.shape.Classes)}
		}
	}
	return y, nil
}

// Fit learns from the rows of train, after Init, in place of what was learned before. If valid is not nil,
// boosting ends after 30 rounds without a lower loss of its rows, and the rounds behind the lowest loss are
// dropped. Rows of a class below 0, or of the number NaN, have no known target. Fit leaves them out of both,
// and returns their number. An error leaves the model unchanged.
func (m *Model) Fit(ctx context.Context, train, valid Rows) (unknown int, err error) {
	if !m.ready() {
		return 0, nn.ErrNotReady
	}
	set, err := m.resolved()
	if err != nil {
		return 0, err
	}
	g := &grower{Model: set, outputs: outputs(m.shape)}
	if err = g.read(train, valid); err == nil {
		err = g.run(ctx)
	}
	if err != nil {
		return 0, err
	}
	m.base, m.at, m.nodes, m.ids = g.base, g.at, g.nodes, g.ids
	return g.unknown, nil
}

// patience is the number of rounds without a lower loss that ends a fit.
const patience = 30

// run grows the trees, at most Trees rounds. With validation rows it stops after patience rounds
// without a lower loss, and keeps the trees up to the lowest.
func (g *grower) run(ctx context.Context) error {
	k := g.outputs
	if g.n = len(g.targets); g.n > mostRows {
		return fmt.Errorf("trees: %d rows, want at most %d", g.n, mostRows)
	}
	g.base, g.at, g.nodes = g.constant(), []int{0}, nil
	g.scores, g.predicted = slices.Repeat(g.base, g.n), make([]float64, g.n*k)
	g.sums, g.order, g.scratch = make([]sums, g.n), make([]int32, g.n), make([]int32, g.n)
	if g.Bag {
		g.met, g.Rate = make([]float64, g.n*k), 1
	}
	least, best := math.Inf(1), 0
	for round := 0; ; round++ {
		if !g.Bag || round == 0 {
			g.answers()
		}
		if g.Bag || g.n == g.train {
			best = round
		} else if loss := g.loss(); loss < least {
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
	g.nodes = g.nodes[:g.at[best*k]]
	if g.Bag {
		g.mean()
	}
	g.keep()
	return nil
}

// answers sets predicted to the scores after link, for all rows.
func (g *grower) answers() {
	copy(g.predicted, g.scores)
	for i := range g.n {
		g.link(g.predicted[i*g.outputs : (i+1)*g.outputs])
	}
}

// constant returns the prediction without trees: the mean, or the logits of the shares of the classes, with
// half a row added to each class.
func (g *grower) constant() []float64 {
	sum, logs := 0.0, slices.Repeat([]float64{0.5}, g.shape.Classes)
	for _, y := range g.targets[:g.train] {
		if sum += y; len(logs) > 0 {
			logs[int(y)]++
		}
	}
	for c, x := range logs {
		logs[c] = math.Log(x / (float64(g.train) + float64(len(logs))/2))
	}
	switch len(logs) {
	case 0:
		return []float64{sum / float64(g.train)}
	case 2:
		return []float64{logs[1] - logs[0]}
	}
	return logs
}

// gradient returns the derivatives of the loss of a training row by an output. The loss of bagged trees is
// the squared error of the indicator of a class.
func (g *grower) gradient(i int32, out int) (first, second float64) {
	p, y := g.predicted[int(i)*g.outputs+out], g.targets[i]
	second = p * (1 - p)
	if g.Bag || g.shape.Classes == 0 {
		second = 1
	}
	switch {
	case g.shape.Classes == 0:
		return p - y, second
	case int(y) == out+g.shape.Classes-g.outputs: // the single output of two classes is that of class 1
		return p - 1, second
	}
	return p, second
}

// loss returns the sum of the losses of the validation rows: cross entropy, or squared error of numbers.
func (g *grower) loss() (sum float64) {
	for i := g.train; i < g.n; i++ {
		row, y, p := g.predicted[i*g.outputs:(i+1)*g.outputs], g.targets[i], 0.0
		switch {
		case g.shape.Classes == 0:
			sum += float64((row[0] - y) * (row[0] - y))
			continue
		case g.outputs > 1:
			p = row[int(y)]
		case y == 1:
			p = row[0]
		default:
			p = 1 - row[0]
		}
		sum -= math.Log(max(p, leastProbability))
	}
	return sum
}

// leastProbability replaces lower probabilities, so that the loss of a row is finite.
const leastProbability = 1e-15

// mean converts the sums of bagged trees to means times a scale from 0 to 2¹⁶. The scale minimises the loss
// of the training rows, each predicted by the trees that did not draw it. The loss is convex in the scale.
func (g *grower) mean() {
	z := slices.Clone(g.scores)
	for i := range z {
		z[i] = (z[i] - g.base[i%g.outputs]) / max(1, g.met[i])
	}
	low, high := 0.0, float64(1<<16)
	for range 40 {
		scale, slope := (low+high)/2, 0.0
		for i, x := range z {
			g.scores[i] = g.base[i%g.outputs] + float64(scale*x)
		}
		g.answers()
		for i, x := range z[:g.train*g.outputs] {
			first, _ := g.gradient(int32(i/g.outputs), i%g.outputs)
			slope += float64(first * x)
		}
		if slope < 0 {
			low = scale
		} else {
			high = scale
		}
	}
	for i := range g.nodes {
		if n := &g.nodes[i]; n.right == 0 {
			n.x *= low / float64(g.Trees)
		}
	}
}

// keep sets ids to the ids of counts that splits use, and renumbers the columns of the nodes
// accordingly.
func (g *grower) keep() {
	number := map[int32]int32{}
	for _, n := range g.nodes {
		if n.right > 0 {
			number[n.column] = n.column
		}
	}
	d := len(g.shape.Columns)
	g.ids = nil
	for c, k := range g.all.columns {
		if _, ok := number[int32(c)]; ok && c >= d {
			number[int32(c)] = int32(d + len(g.ids))
			g.ids = append(g.ids, k.id)
		}
	}
	g.nodes = slices.Clone(g.nodes)
	for i := range g.nodes {
		g.nodes[i].column = number[g.nodes[i].column]
	}
}

// link converts the outputs of a row to probabilities, for two classes to that of class 1. Numbers stay.
func (m *Model) link(y []float64) {
	switch m.shape.Classes {
	case 0:
	case 2:
		if e := math.Exp(-math.Abs(y[0])); y[0] < 0 {
			y[0] = e / (1 + e)
		} else {
			y[0] = 1 / (1 + e)
		}
	default:
		most, sum := slices.Max(y), 0.0
		for i, x := range y {
			y[i] = math.Exp(x - most)
			sum += y[i]
		}
		for i := range y {
			y[i] /= sum
		}
	}
}

// put writes the prediction of a row, after link. For two classes y is the probability of the second one.
func put(p []float32, y []float64) {
	p[0] = float32(1 - y[0])
	for c, x := range y {
		p[len(p)-len(y)+c] = float32(x)
	}
}
