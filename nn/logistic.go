package nn

import (
	"math"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Logistic is logistic regression on counts of substructures; for numbers, linear regression.
// Its memory does not grow: one hash maps an id to a row of the table, another to the sign of
// its count (Weinberger et al., "Feature hashing for large scale multitask learning", 2009), so
// that collisions cancel on average. The problem is convex: weights begin at 0. A graph costs
// O(ids·classes); a step adds O(Width·classes), except with AdaGrad. A weight takes
// 8 bytes with AdaGrad, 12 or 16 with others.
type Logistic struct {
	Width int // rows of the table; 0 = 65536; Width·Heads·classes is at most 2²⁸

	// Heads is the ensemble size; 0 = 1. A hash of its counts holds each row out of one of
	// several heads, and Step reports the prediction of that head, so sinks.Fit needs no
	// validation rows. Equal rows are held out together: where few rows differ, as with
	// cycles, that prediction is worse than those for new rows, and Fit wants Valid.
	// Predict returns the mean of the outputs of all heads.
	Heads int

	// Kernel is Linear, Cosine or Min; "" = Cosine. Min replaces a count by the levels 1, 2,
	// 4, 8 … that it reaches, each with its own weight, and scales the row to unit length:
	// histogram intersection on a logarithmic scale.
	Kernel Similarity

	Optimizer Optimizer // nil = RMSprop{Rate: 0.01}, for Min AdaGrad{Rate: 0.05, Epsilon: 1e-3}
	Workers   int       // as in CNN

	narrow bool // fits may reduce Width, as Best documents

	Learner // set by Init, and by a file
}

var _ Model = (*Logistic)(nil)

func (m *Logistic) settings() settings {
	var standard Optimizer = RMSprop{Rate: 0.01}
	if m.Kernel == Min {
		standard = AdaGrad{Rate: 0.05, Epsilon: 1e-3}
	}
	return settings{
		kind: "logistic", name: "Logistic", learner: &m.Learner, counts: true,
		sizes:     []size{{"Width", &m.Width, 1 << 16}, {"Heads", &m.Heads, 1}},
		words:     []word{{"Kernel", (*string)(&m.Kernel), []string{string(Cosine), string(Linear), string(Min)}}},
		optimizer: &m.Optimizer, workers: &m.Workers,
		standard: standard,
	}
}

// Init works as CNN.Init. The data must have counts.
func (m *Logistic) Init(s Shape) error { return initialise(m, s) }

func (m *Logistic) String() string { return m.settings().String() }

func (m *Logistic) lay(p *layer.Params, s Shape) body {
	units := m.Heads * lossOf(s).units(s)
	p.Sparse = true
	l := &logisticLayer{
		table: p.Add("table", m.Width, units), bias: p.Add("bias", units), kernel: m.Kernel, models: m.Heads,
	}
	l.grads.table = l.table
	return l
}

// logisticLayer is the body of a Logistic. Its features are the outputs of the heads.
type logisticLayer struct {
	table, bias *layer.Weight
	kernel      Similarity
	models      int // number of heads

	// Table rows and factors of the ids of the batch. Those of row i end at ends[i].
	at   []int32
	x    []float32
	ends []int
	out  []int // the head that holds row i out

	grads  scattered
	places []int32 // rows of grads for the entries of at
	y      []float32
}

func (l *logisticLayer) init(random.Source) {}

func (l *logisticLayer) width() int { return len(l.bias.W) }

func (l *logisticLayer) heads() int { return l.models }

func (l *logisticLayer) heldOut(i int) int { return l.out[i] }

func (l *logisticLayer) scatter() (*scattered, *layer.Weight) { return &l.grads, l.bias }

// heldOutBy returns the head that holds a row out.
func heldOutBy(ids []uint64, values []float64, heads int) int {
	h := uint64(0)
	for j, id := range ids {
		h = mix(h ^ mix(id) ^ math.Float64bits(values[j]))
	}
	return int(h >> 32 % uint64(heads))
}

// hash sets the table rows and factors of a batch.
func (l *logisticLayer) hash(b batch) error {
	l.at, l.x, l.ends, l.out = l.at[:0], l.x[:0], l.ends[:0], l.out[:0]
	for i := range b.rows {
		ids, values := b.counts.Row(i)
		var err error
		if l.kernel == Min {
			err = l.addLevels(i, ids, values)
		} else {
			err = l.addCounts(i, ids, values)
		}
		if err != nil {
			return err
		}
		l.ends, l.out = append(l.ends, len(l.at)), append(l.out, heldOutBy(ids, values, l.models))
	}
	return nil
}

// addCounts adds the counts of row i, scaled to unit length for Cosine.
func (l *logisticLayer) addCounts(i int, ids []uint64, values []float64) error {
	scale := 1.0
	if l.kernel == Cosine {
		n := kernel.Length(values)
		if !kernel.Finite(n) {
			return rowErrorf(i, "counts too large to learn from: the length of the row is %v", n)
		}
		if n > 0 {
			scale = 1 / n
		}
	}
	for j, id := range ids {
		x := float32(values[j] * scale)
		if !kernel.Finite(float64(x)) {
			return rowErrorf(i, "the count of %#x is %v, which is too large to learn from", id, values[j])
		}
		at, x := slot(id, uint64(l.table.Shape[0]), x)
		l.at, l.x = append(l.at, at), append(l.x, x)
	}
	return nil
}

// maxLevels bounds the levels of a count.
const maxLevels = 64

// addLevels adds the levels of the counts of row i, scaled to unit length.
func (l *logisticLayer) addLevels(i int, ids []uint64, values []float64) error {
	all := 0
	for j, v := range values {
		if v < 0 {
			return rowErrorf(i, "the count of %#x is %v, want 0 or more", ids[j], v)
		}
		all += levels(v)
	}
	x := float32(1 / math.Sqrt(float64(max(1, all))))
	from, width := len(l.at), uint64(l.table.Shape[0])
	l.at, l.x = slices.Grow(l.at, all)[:from+all], slices.Grow(l.x, all)[:from+all]
	at, xs := l.at[from:], l.x[from:]
	n := 0
	for j, id := range ids {
		for range levels(values[j]) {
			at[n], xs[n] = slot(id, width, x)
			id += 0xd1342543de82ef95 // odd, so that the levels of an id differ
			n++
		}
	}
	return nil
}

// levels returns how many of the levels 1, 2, 4, 8 … a count of at least 0 reaches.
func levels(count float64) int {
	const one = 1023 // the stored exponent of 1
	return min(max(0, int(math.Float64bits(count)>>52)-one+1), maxLevels)
}

// slot returns the table row of an id, and x with the sign of the id. Ids are hashes, but ids of other
// programs can be numbers from 0, so they are hashed again (the finalizer of SplitMix64, Steele, Lea and
// Flood 2014).
func slot(id, width uint64, x float32) (row int32, signed float32) {
	id = mix(id)
	row = int32(id >> 1 & (width - 1))
	if width&(width-1) != 0 {
		row = int32((id >> 1) % width)
	}
	return row, math.Float32frombits(math.Float32bits(x) ^ uint32(id&1)<<31)
}

func mix(id uint64) uint64 {
	id += 0x9e3779b97f4a7c15
	id = (id ^ id>>30) * 0xbf58476d1ce4e5b9
	id = (id ^ id>>27) * 0x94d049bb133111eb
	return id ^ id>>31
}

func (l *logisticLayer) forward(b batch) ([]float32, error) {
	if err := l.hash(b); err != nil {
		return nil, err
	}
	n := l.width()
	l.y = scratch.Resize(l.y, b.rows*n)
	from := 0
	for i, end := range l.ends {
		y := l.y[i*n : (i+1)*n]
		copy(y, l.bias.W)
		kernel.AddRows(y, l.table.W, l.at[from:end], l.x[from:end])
		from = end
	}
	return l.y[:b.rows*n], nil
}

func (l *logisticLayer) backward(dx []float32, b batch) {
	layer.ClearGrad(l.bias)
	l.grads.start()
	l.places = scratch.Resize(l.places, len(l.at))
	l.grads.positions(l.at, l.places)
	n := l.width()
	from := 0
	for i, end := range l.ends {
		d := dx[i*n : (i+1)*n]
		kernel.Axpy(1, d, l.bias.G)
		kernel.AddToRows(l.grads.grad, l.places[from:end], l.x[from:end], d)
		from = end
	}
}

// mostWeights bounds the number of weights in the table of Best.
const mostWeights = 1 << 26

// Best returns the most accurate model for most data: a Logistic with kernel Min, ten Heads and
// Width 131072. Counts of count.Standard make it classify graphs, of count.Around nodes, of
// count.Pair pairs of nodes.
//
//	recipe := operators.Recipe{operators.Count{Of: count.Standard()}}
//	fit, err := sinks.Fit{Net: nn.Best(), Patience: 10}.Run(ctx, recipe.Onto(flow.From(src)))
//
// Fields may be changed before Init, which halves Width for more than 51 classes until the
// table has at most 2²⁶ weights of 8 bytes: 21 MB for two classes, 0.5 GB at most. A file has
// only the used rows. A row with n different counts costs O(Heads·n·classes) a step.
func Best() *Logistic {
	return &Logistic{
		Kernel: Min, Width: 1 << 17, Heads: 10, narrow: true,
		Optimizer: AdaGrad{Rate: 0.05, Epsilon: 1e-3}, // the default with Min, set so that String shows it before Init
	}
}

// fits halves the table of Best until it has at most mostWeights weights.
func (m *Logistic) fits(s Shape) error {
	for m.narrow && m.Width > 1 && m.Width*m.Heads*s.Classes > mostWeights {
		m.Width /= 2
	}
	return nil
}
