package nn

import (
	"cmp"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Ranker learns to rank the candidates of a question from a stream of questions. The score of
// features x is s(x) = a·x + Σⱼ cⱼ max(0, wⱼ·x + bⱼ). The loss is the negative log of the
// softmax probability of the answer. Features are standardised by their mean and deviation over
// the first 200 000 rows and clipped at 5 deviations. Adam takes a step every Batch questions.
// Score uses the running mean of the weights over steps (Polyak and Juditsky 1992). One
// goroutine at a time may use a Ranker.
type Ranker struct {
	Hidden  int     // hidden units; 0 = 16
	Batch   int     // questions a step; 0 = 32
	Rate    float64 // learning rate of Adam; 0 = 0.003
	Average float64 // decay of the running mean of the weights, below 1; 0 = 0.998
	Seed    uint64  // of the initial weights

	features int
	all      layer.Params
	wide     *layer.Weight // (features, Hidden+1): w and, last, a
	bias     *layer.Weight // (Hidden): b
	out      *layer.Weight // (Hidden): c
	mean     []float32     // running mean of all weights
	adam     *adam
	steps    int
	pending  int // questions since the last step, whose gradients are summed
	moments  []float64
	seen     float64   // number of rows in moments
	shift    []float32 // features are standardised as (x-shift)·scale
	scale    []float32

	x, h, s []float32
}

// Question holds the candidates of one question. Each drawn row counts Weight times in the
// softmax.
type Question struct {
	X      []float32 // (candidates, features), row-major; row 0 is the answer
	Drawn  int       // of the last rows: a random sample of candidates
	Weight float64   // number of candidates that each drawn row represents, at least 1
}

const (
	rankerRows = 200_000 // number of rows that set the mean and the deviation of features
	rankerCut  = 5       // bound of the absolute value of a standardised feature
)

// Init fits the model to that many features and draws the weights.
func (r *Ranker) Init(features int) error {
	if r.features != 0 {
		if r.features != features {
			return fmt.Errorf("nn: Ranker: %d features, and the model has %d", features, r.features)
		}
		return nil
	}
	next := *r
	if err := next.build(features); err != nil {
		return err
	}
	noise := random.New(next.Seed, random.Init)
	noise.Normal(next.wide.W)
	noise.Normal(next.out.W)
	width := next.Hidden + 1
	for i := range next.wide.W {
		if next.wide.W[i] *= float32(math.Sqrt(2 / float64(features))); i%width == next.Hidden {
			next.wide.W[i] = 0
		}
	}
	for i := range next.out.W {
		next.out.W[i] *= float32(0.3 / math.Sqrt(float64(next.Hidden)))
	}
	copy(next.mean, next.all.W)
	*r = next
	return nil
}

// build resolves the settings and lays out the weights.
func (r *Ranker) build(features int) error {
	r.Hidden, r.Batch = cmp.Or(r.Hidden, 16), cmp.Or(r.Batch, 32)
	r.Rate, r.Average = cmp.Or(r.Rate, 0.003), cmp.Or(r.Average, 0.998)
	set := Adam{Rate: r.Rate}.rates()
	set.Epsilon = 1e-6
	err := set.check("Adam")
	switch {
	case features < 1 || features > 1<<16 || r.Hidden < 1 || r.Hidden > 1<<12 || r.Batch < 1:
		return fmt.Errorf("nn: Ranker: %d features, Hidden %d, Batch %d, want positive numbers, up to 65536 and 4096", features, r.Hidden, r.Batch)
	case !(r.Average >= 0 && r.Average < 1):
		return fmt.Errorf("nn: Ranker: Average is %v, want at least 0 and below 1", r.Average)
	case err != nil:
		return fmt.Errorf("nn: Ranker: %w", err)
	}
	r.features, r.all = features, layer.Params{}
	r.wide = r.all.Add("wide", features, r.Hidden+1)
	r.bias = r.all.Add("bias", r.Hidden)
	r.out = r.all.Add("out", r.Hidden)
	r.all.Alloc()
	r.mean = make([]float32, len(r.all.W))
	r.adam = startAdam(set, len(r.all.W))
	r.moments = make([]float64, 2*features)
	r.shift, r.scale = make([]float32, features), make([]float32, features)
	for i := range r.scale {
		r.scale[i] = 1
	}
	return nil
}

// Score sets the scores of the candidates x, (candidates, features) row-major.
func (r *Ranker) Score(x, scores []float32) error {
	if err := r.check(x); err != nil {
		return err
	}
	if len(scores)*r.features != len(x) {
		return fmt.Errorf("nn: Ranker: %d scores for %d values, want one for each row of %d", len(scores), len(x), r.features)
	}
	at := func(w *layer.Weight) []float32 { return r.mean[w.At : w.At+len(w.W)] }
	return r.forward(x, scores, at(r.wide), at(r.bias), at(r.out))
}

func (r *Ranker) check(x []float32) error {
	switch {
	case r.features == 0:
		return ErrNotReady
	case len(x) == 0 || len(x)%r.features != 0:
		return fmt.Errorf("nn: Ranker: %d values, want rows of %d features", len(x), r.features)
	}
	for i, v := range x {
		if !kernel.Finite(float64(v)) {
			return rowErrorf(i/r.features, "feature %d is %v", i%r.features, v)
		}
	}
	return nil
}

// forward sets scores, with the standardised rows in r.x and the hidden units in r.h. A score that overflows
// is a *RowError.
func (r *Ranker) forward(x, scores, wide, bias, out []float32) error {
	rows, f, width := len(scores), r.features, r.Hidden+1
	r.x, r.h = scratch.Resize(r.x, len(x)), scratch.Resize(r.h, rows*width)
	for i := 0; i < len(x); i += f {
		to := r.x[i : i+f]
		for j, v := range x[i : i+f] {
			to[j] = min(max((v-r.shift[j])*r.scale[j], -rankerCut), rankerCut)
		}
	}
	kernel.Gemm(rows, width, f, r.x, f, wide, width, r.h, width, false)
	kernel.Overflow(r.h[:rows*width], nil)
	for i := range scores {
		h := r.h[i*width : (i+1)*width]
		s := h[r.Hidden]
		for j, b := range bias {
			h[j] = max(h[j]+b, 0)
			s += out[j] * h[j]
		}
		scores[i] = s
	}
	if i := kernel.Overflow(scores, nil); i >= 0 {
		return rowErrorf(i, "the score overflows: the weights are too large")
	}
	return nil
}

// Learn adds the gradient of a question and returns its loss before any step.
func (r *Ranker) Learn(q Question) (loss float64, err error) {
	if err := r.check(q.X); err != nil {
		return 0, err
	}
	f, width := r.features, r.Hidden+1
	rows := len(q.X) / f
	if q.Drawn < 0 || q.Drawn >= rows || q.Drawn > 0 && !(q.Weight >= 1 && q.Weight <= math.MaxInt32) {
		return 0, fmt.Errorf("nn: Ranker: %d of %d rows are drawn, each for %v, want fewer rows and 1 or more", q.Drawn, rows, q.Weight)
	}
	r.standardise(q.X)
	r.s = scratch.Resize(r.s, rows)
	s := r.s
	if err := r.forward(q.X, s, r.wide.W, r.bias.W, r.out.W); err != nil {
		return 0, err
	}
	if q.Drawn > 0 {
		for i := rows - q.Drawn; i < rows; i++ {
			s[i] += float32(math.Log(q.Weight))
		}
	}
	most := s[0]
	for _, v := range s {
		most = max(most, v)
	}
	sum := 0.0
	for i, v := range s {
		e := math.Exp(float64(v - most))
		s[i] = float32(e)
		sum += e
	}
	loss = math.Log(sum) - math.Log(max(float64(s[0]), math.SmallestNonzeroFloat32))
	// From here s is the gradient of the scores, and h that of the hidden sums.
	for i := range s {
		if s[i] /= float32(sum); i == 0 {
			s[i]--
		}
		h := r.h[i*width : (i+1)*width]
		kernel.Axpy(s[i], h[:r.Hidden], r.out.G)
		for j, c := range r.out.W {
			if h[j] > 0 {
				h[j] = s[i] * c
				r.bias.G[j] += h[j]
			}
		}
		h[r.Hidden] = s[i]
	}
	kernel.GemmTN(rows, width, f, r.x, f, r.h, width, r.wide.G, width, true)
	if r.pending++; r.pending >= r.Batch {
		return loss, r.step()
	}
	return loss, nil
}

// step changes the weights by the mean gradient of the pending questions, and updates the running mean of the weights.
func (r *Ranker) step() error {
	scale := 1 / float32(r.pending)
	for i := range r.all.G {
		r.all.G[i] *= scale
	}
	ok := update(&r.all, r.adam, r.adam.set.decay(), r.steps+1)
	clear(r.all.G)
	if r.pending = 0; !ok {
		return fmt.Errorf("nn: Ranker: step %d: the gradient is not finite", r.steps+1)
	}
	r.steps++
	// Early steps have a shorter mean, so that it forgets the first weights.
	keep := float32(min(r.Average, float64(r.steps)/float64(r.steps+10)))
	for i, w := range r.all.W {
		r.mean[i] = keep*r.mean[i] + (1-keep)*w
	}
	return nil
}

// standardise adds rows to the mean and the deviation of the features.
func (r *Ranker) standardise(x []float32) {
	f := r.features
	if r.seen >= rankerRows {
		return
	}
	mean, squares := r.moments[:f], r.moments[f:]
	for i := 0; i < len(x); i += f {
		r.seen++
		for j, v := range x[i : i+f] {
			d := float64(v) - mean[j]
			mean[j] += d / r.seen
			squares[j] += d * (float64(v) - mean[j])
		}
	}
	r.fix()
}

func (r *Ranker) fix() {
	for j := range r.shift {
		r.shift[j] = float32(r.moments[j])
		r.scale[j] = float32(1 / max(math.Sqrt(r.moments[r.features+j]/max(r.seen, 1)), 1e-3))
	}
}

// Hash returns the SHA-256 of the averaged weights in hexadecimal.
func (r *Ranker) Hash() string {
	return modelfile.Hash([]modelfile.Tensor{modelfile.Vector("mean", r.mean)})
}
