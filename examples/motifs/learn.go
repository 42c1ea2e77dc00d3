package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// fields is the receptive fields of all nodes, in the order of the nodes.
type fields struct {
	collected sinks.Collect
	rows      []float32 // (nodes, k·k): their adjacency matrices
	members   []int32   // (nodes, k): node, or -1
}

// makeFields makes the field of every node.
func (c *config) makeFields(ctx context.Context) (*fields, error) {
	f := new(fields)
	p := flow.From(sources.Graphs{Items: []sources.Item{{Graph: c.g}}}).
		Via(operators.Select{}).       // all nodes
		Via(operators.Chunk{Size: 1}). // a row each
		Via(operators.Assemble{K: c.k}).
		Via(operators.Normalize{Edges: true, IgnoreAttributes: true}). // 1-WL
		Via(operators.Batch{Size: 1024}).
		With(flow.Options{Workers: c.workers}).
		To(&f.collected)
	_, err := cli.Run(ctx, p, "receptive fields", int64(c.g.N()), cli.Last)
	if err == nil {
		f.rows, _, err = sinks.Adjacency.Rows(f.collected.Records()...)
	}
	for _, rec := range f.collected.Records() {
		if err == nil {
			var m []int32
			m, _, err = record.FixedValues[int32](rec, record.Members)
			f.members = append(f.members, m...)
		}
	}
	if err != nil {
		f.collected.Release()
	}
	return f, err
}

// learn trains the machine on the stream of fields.
func (c *config) learn(ctx context.Context, f *fields, r *report) (*nn.RBM, error) {
	rows := c.g.N()
	r.Batch = max(1, min(10, rows/100))
	rbm := &nn.RBM{Hidden: c.hidden, Rate: c.rate, Seed: c.seed, Info: map[string]string{
		"graph": r.Graph, "k": fmt.Sprint(c.k), "normalize": "wl", "units": "adjacency", "epochs": fmt.Sprint(c.epochs),
	}}
	if err := rbm.Init(c.k * c.k); err != nil {
		return nil, err
	}
	if err := rbm.InitBias(c.tensor(f.rows)); err != nil {
		return nil, err
	}
	total := rows * c.epochs
	bar := cli.NewProgress("learning", int64(total))
	defer bar.Done()
	start := time.Now()
	err := flow.From(flow.Records{Records: f.collected.Records()}).
		Via(operators.Replay{Epochs: c.epochs, Seed: c.seed, Rows: 1024}).
		To(sinks.Pretrain{Net: rbm, Of: sinks.Adjacency, Batch: r.Batch, OnStep: func(step nn.Result) error {
			sum := step.Loss * float64(step.Rows)
			if rbm.Seen() <= rows {
				r.ErrorFirst += sum
			}
			if rbm.Seen() > total-rows {
				r.Error += sum
			}
			bar.Set(int64(rbm.Seen()))
			return nil
		}}).
		With(flow.Options{Workers: 1}).
		Run(ctx)
	r.ErrorFirst, r.Error = r.ErrorFirst/float64(rows), r.Error/float64(rows)
	r.Seconds = time.Since(start).Seconds()
	r.RowsPerS = float64(rbm.Seen()) / r.Seconds
	return rbm, err
}

// tensor is matrices of k·k numbers as a tensor.
func (c *config) tensor(x []float32) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(x)/(c.k*c.k), c.k*c.k), tensor.WithBacking(x))
}

// motif is a hidden unit with its pictures.
type motif struct {
	Unit     int       `json:"unit"`
	Strength float64   `json:"strength"` // length of its weights
	Alike    int       `json:"alike"`    // number of units with nearly the same weights, itself included
	Fields   []excited `json:"fields"`   // the fields that excite it most, all different

	weights []float64   // (k, k)
	samples [][]float32 // matrices that are sampled while it alone is on
}

// excited is a field and its effect on a unit.
type excited struct {
	Root  int64   `json:"root"`
	Nodes int     `json:"nodes"`       // number of nodes with such a field
	P     float64 `json:"probability"` // that the unit is on

	matrix []float32
	names  []string // of the members of the first such field
}

const (
	samplesShown = 3
	fieldsShown  = 3
	alike        = 0.75 // cosine of the weights of units that show the same motif
)

// motifs returns the strongest hidden units, strongest first. The strongest of several units with nearly
// the same weights represents all of them. If all fields are equal the biases describe them, and one
// unit is shown.
func (c *config) motifs(rbm *nn.RBM, f *fields) (chosen []*motif, distinct int, err error) {
	kinds, matrices := c.distinct(f)
	code, err := rbm.Encode(c.tensor(matrices), nil)
	if err != nil {
		return nil, 0, err
	}
	show := c.units
	if len(kinds) == 1 {
		show = 1
	}
	for _, m := range byStrength(rbm) {
		same := slices.IndexFunc(chosen, func(o *motif) bool {
			return floats.Dot(o.weights, m.weights)/math.Max(o.Strength*m.Strength, math.SmallestNonzeroFloat64) > alike
		})
		if same >= 0 {
			chosen[same].Alike++
		} else if len(chosen) < show {
			chosen = append(chosen, m)
		}
	}
	for _, m := range chosen {
		x := make([]float32, samplesShown*c.k*c.k)
		if err := rbm.Sample(c.tensor(x), m.Unit); err != nil {
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

// distinct returns the different matrices among fields, in the order of their first occurrences, and their
// numbers one after the other.
func (c *config) distinct(f *fields) (kinds []excited, matrices []float32) {
	at := map[string]int{}
	for i := range c.g.N() {
		row, members := f.rows[i*c.k*c.k:(i+1)*c.k*c.k], f.members[i*c.k:(i+1)*c.k]
		var key strings.Builder
		for _, v := range row {
			key.WriteByte('0' + byte(v))
		}
		j, ok := at[key.String()]
		if !ok {
			j = len(kinds)
			at[key.String()] = j
			one := excited{Root: c.id(members[0]), matrix: row}
			for _, v := range members {
				one.names = append(one.names, fmt.Sprint(c.id(max(v, 0)))) // of a dummy no name is shown
			}
			kinds, matrices = append(kinds, one), append(matrices, row...)
		}
		kinds[j].Nodes++
	}
	return kinds, matrices
}
