package main

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/sanflow/sanflow/nn"
)

// motif is one hidden unit and what there is to see of it.
type motif struct {
	Unit     int       `json:"unit"`
	Strength float64   `json:"strength"` // length of its weights
	Alike    int       `json:"alike"`    // units with nearly the same weights, itself included
	Fields   []excited `json:"fields"`   // the fields that excite it most, all different

	weights []float64   // (k, k)
	samples [][]float32 // matrices that are drawn while it alone is on
}

// excited is a field, and how it acts on a unit.
type excited struct {
	Root  int64   `json:"root"`
	Nodes int     `json:"nodes"`       // how many have such a field
	P     float64 `json:"probability"` // that the unit is on

	matrix  []float32
	members []int32 // of the first such field
}

const (
	samplesShown = 3
	fieldsShown  = 3
	alike        = 0.75 // correlation from which on two units show the same
)

// motifs returns the strongest hidden units, strongest first. Of several whose
// weights nearly coincide the strongest stands for all. If all fields are
// equal the biases know all there is to know, and one unit is enough.
func (c *config) motifs(rbm *nn.RBM, f *fields) (chosen []*motif, distinct int, err error) {
	kinds, matrices := c.distinct(f)
	code, err := rbm.Encode(tensorOf(matrices, c.k*c.k), nil)
	if err != nil {
		return nil, 0, err
	}
	show := c.units
	if len(kinds) == 1 {
		show = 1
	}
	for _, m := range byStrength(rbm) {
		same := slices.IndexFunc(chosen, func(o *motif) bool { return correlation(o.weights, m.weights) > alike })
		if same >= 0 {
			chosen[same].Alike++
		} else if len(chosen) < show {
			chosen = append(chosen, m)
		}
	}
	for _, m := range chosen {
		x := make([]float32, samplesShown*c.k*c.k)
		if err := rbm.Sample(tensorOf(x, c.k*c.k), m.Unit); err != nil {
			return nil, 0, err
		}
		m.samples = slices.Collect(slices.Chunk(x, c.k*c.k))
		for i, e := range kinds {
			e.P = float64(code.Float32s()[i*c.hidden+m.Unit])
			m.Fields = append(m.Fields, e)
		}
		slices.SortStableFunc(m.Fields, func(a, b excited) int { return cmp.Compare(b.P, a.P) })
		m.Fields = m.Fields[:min(len(m.Fields), fieldsShown)]
	}
	return chosen, len(kinds), nil
}

// byStrength returns all hidden units, those with the longest weights first.
func byStrength(rbm *nn.RBM) []*motif {
	w, _, _ := rbm.Weights()
	visible, hidden := w.Shape()[0], w.Shape()[1]
	units := make([]*motif, hidden)
	for j := range units {
		m := &motif{Unit: j, Alike: 1, weights: make([]float64, visible)}
		for i := range m.weights {
			m.weights[i] = float64(w.Float32s()[i*hidden+j])
		}
		m.Strength = floats.Norm(m.weights, 2)
		units[j] = m
	}
	slices.SortStableFunc(units, func(a, b *motif) int { return cmp.Compare(b.Strength, a.Strength) })
	return units
}

// correlation is the cosine of the angle between two sets of weights.
func correlation(a, b []float64) float64 {
	return floats.Dot(a, b) / math.Max(floats.Norm(a, 2)*floats.Norm(b, 2), math.SmallestNonzeroFloat64)
}

// distinct returns the different matrices among fields, in the order of their first, and their
// numbers one after the other.
func (c *config) distinct(f *fields) (kinds []excited, matrices []float32) {
	at := map[string]int{}
	var key strings.Builder
	for i := range f.len() {
		key.Reset()
		for _, v := range f.row(i) {
			key.WriteByte('0' + byte(v))
		}
		j, ok := at[key.String()]
		if !ok {
			j = len(kinds)
			at[key.String()] = j
			kinds = append(kinds, excited{Root: c.id(f.member(i)[0]), matrix: f.row(i), members: f.member(i)})
			matrices = append(matrices, f.row(i)...)
		}
		kinds[j].Nodes++
	}
	return kinds, matrices
}
