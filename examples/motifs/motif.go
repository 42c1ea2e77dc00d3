package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/sanflow/sanflow/nn"
)

// motif is one hidden unit and what there is to see of it.
type motif struct {
	unit     int
	strength float64   // length of its weights
	alike    int       // units with nearly the same weights, itself included
	weights  []float64 // (k, k)
	on       []float32 // (k, k): probability of each edge while the unit alone is on
	samples  [][]float32
	fields   []excited // the fields that excite it most, all different
}

// excited is a field, and how it acts on a unit.
type excited struct {
	field  int     // one of those with this matrix: the first
	count  int     // how many have it
	p      float64 // probability that the unit is on
	matrix []float32
}

const (
	samplesShown = 3
	fieldsShown  = 3
	alike        = 0.75 // correlation from which on two units show the same
)

// motifs returns the strongest hidden units, strongest first. Of several whose
// weights nearly coincide the strongest stands for all. If all fields are
// equal the biases know all there is to know, and one unit is enough.
func (c *config) motifs(rbm *nn.RBM, f *fields) ([]*motif, error) {
	kinds := distinct(f)
	code, err := rbm.Encode(tensorOf(kinds.matrices, c.k*c.k), nil)
	if err != nil {
		return nil, err
	}
	show := c.units
	if len(kinds.list) == 1 {
		show = 1
	}
	var chosen []*motif
	for _, m := range byStrength(rbm) {
		same := slices.IndexFunc(chosen, func(o *motif) bool { return correlation(o.weights, m.weights) > alike })
		if same >= 0 {
			chosen[same].alike++
		} else if len(chosen) < show {
			chosen = append(chosen, m)
		}
	}
	for _, m := range chosen {
		alone := make([]float32, c.hidden)
		alone[m.unit] = 1
		p, err := rbm.Decode(tensorOf(alone, c.hidden), nil)
		if err != nil {
			return nil, err
		}
		m.on = p.Float32s()
		x := make([]float32, samplesShown*c.k*c.k)
		if err := rbm.Sample(tensorOf(x, c.k*c.k), m.unit); err != nil {
			return nil, err
		}
		m.samples = slices.Collect(slices.Chunk(x, c.k*c.k))
		for i, e := range kinds.list {
			e.p = float64(code.Float32s()[i*c.hidden+m.unit])
			m.fields = append(m.fields, e)
		}
		slices.SortStableFunc(m.fields, func(a, b excited) int { return cmp.Compare(b.p, a.p) })
		m.fields = m.fields[:min(len(m.fields), fieldsShown)]
	}
	return chosen, nil
}

// byStrength returns all hidden units, those with the longest weights first.
func byStrength(rbm *nn.RBM) []*motif {
	w, _, _ := rbm.Weights()
	visible, hidden := w.Shape()[0], w.Shape()[1]
	units := make([]*motif, hidden)
	for j := range units {
		m := &motif{unit: j, alike: 1, weights: make([]float64, visible)}
		for i := range m.weights {
			m.weights[i] = float64(w.Float32s()[i*hidden+j])
		}
		m.strength = floats.Norm(m.weights, 2)
		units[j] = m
	}
	sort.SliceStable(units, func(i, j int) bool { return units[i].strength > units[j].strength })
	return units
}

// correlation is the cosine of the angle between two sets of weights.
func correlation(a, b []float64) float64 {
	return floats.Dot(a, b) / math.Max(floats.Norm(a, 2)*floats.Norm(b, 2), math.SmallestNonzeroFloat64)
}

// kinds are the different matrices among fields, in the order of their first.
type kinds struct {
	list     []excited
	matrices []float32
}

func distinct(f *fields) *kinds {
	k := &kinds{}
	at := map[string]int{}
	var key strings.Builder
	for i := range f.len() {
		key.Reset()
		for _, v := range f.row(i) {
			key.WriteByte('0' + byte(v))
		}
		j, ok := at[key.String()]
		if !ok {
			j = len(k.list)
			at[key.String()] = j
			k.list = append(k.list, excited{field: i, matrix: f.row(i)})
			k.matrices = append(k.matrices, f.row(i)...)
		}
		k.list[j].count++
	}
	return k
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
