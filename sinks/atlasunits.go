package sinks

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/nn"
)

const (
	alikeUnits = 0.75 // cosine of the weights of two units from which on they are alike
	encoded    = 4096 // fields at a time
)

// UnitAtlas describes the hidden units of a machine that has learned the adjacency matrices
// of receptive fields. x has the matrices, (fields, k·k), and members the nodes of the fields
// in g, (fields, k), where -1 is none. The first node is the root. Neither is changed.
//
// Strength is the length of the weights of a unit, Graphs the number of fields that turn the unit on with a
// probability above one half, and Occurrences the sum of the probabilities. The one Effect is by how many nats
// the logarithm of the unnormalised probability of a field falls without the unit, over all fields. A unit
// represents all units whose weights have a cosine above 0.75 with its own. The examples have different
// matrices.
func UnitAtlas(net *nn.RBM, g *graph.Graph, x *tensor.Dense, members []int32, o AtlasOptions) (*Atlas, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if x.Dims() != 2 || x.Shape()[0] == 0 || len(members)%x.Shape()[0] != 0 {
		return nil, errors.New("sinks: atlas: there are no fields, or not the same number of matrices and lists of members")
	}
	fields, width := x.Shape()[0], x.Shape()[1]
	k := len(members) / fields
	if k*k != width {
		return nil, fmt.Errorf("sinks: atlas: a matrix has %d values, want %d of %d nodes", width, k*k, k)
	}
	for _, v := range members {
		if v < -1 || int(v) >= g.N() {
			return nil, fmt.Errorf("sinks: atlas: node %d is not among the %d nodes", v, g.N())
		}
	}
	w, _, _ := net.Weights()
	if w == nil {
		return nil, errors.New("sinks: atlas: " + nn.ErrUntrained.Error())
	}
	hidden := w.Shape()[1]
	units := make([]*unit, hidden)
	for j := range units {
		u := &unit{number: j, weights: make([]float64, width)}
		for i := range u.weights {
			u.weights[i] = float64(w.Float32s()[i*hidden+j])
		}
		u.length = floats.Norm(u.weights, 2)
		units[j] = u
	}
	slices.SortStableFunc(units, func(a, b *unit) int { return cmp.Compare(b.length, a.length) })
	a := &Atlas{Kind: "units", Graphs: fields, All: hidden, Compared: hidden}
	var groups [][]*unit
	for _, u := range units {
		i := slices.IndexFunc(groups, func(g []*unit) bool {
			return floats.Dot(g[0].weights, u.weights) > alikeUnits*g[0].length*u.length
		})
		if i >= 0 {
			groups[i] = append(groups[i], u)
		} else if len(groups) < o.Motifs {
			groups = append(groups, []*unit{u})
		}
	}
	a.Motifs = make([]Motif, len(groups))
	effects := make([][2]moments, len(groups))
	most := make([][]firing, len(groups))
	rows := x.Float32s()
	for from := 0; from < fields; from += encoded {
		part := rows[from*width : min(from+encoded, fields)*width]
		code, err := net.Encode(tensor.New(tensor.WithShape(len(part)/width, width), tensor.WithBacking(part)), nil)
		if err != nil {
			return nil, fmt.Errorf("sinks: atlas: %w", err)
		}
		for i, p := 0, code.Float32s(); i < len(part)/width; i++ {
			for j, group := range groups {
				on := func(u *unit) float64 { return float64(p[i*hidden+u.number]) }
				// The logarithm is the sum over the units of log(1 + exp of the input), and
				// 1 - p is the reciprocal of what is within.
				nats := func(u *unit) float64 { return -math.Log(max(1-on(u), 1e-7)) }
				together := 0.
				for _, u := range group {
					together += nats(u)
				}
				effects[j][0].add(nats(group[0]))
				effects[j][1].add(together)
				m := &a.Motifs[j]
				if m.Occurrences += on(group[0]); on(group[0]) > 0.5 {
					m.Graphs++
				}
				most[j] = keep(most[j], firing{from + i, on(group[0])}, o.Examples, rows, width)
			}
		}
	}
	for j, group := range groups {
		m := &a.Motifs[j]
		m.Text, m.Alike, m.Strength = fmt.Sprintf("unit %d", group[0].number), len(group), group[0].length
		m.Picture = &Picture{Rows: k, Cols: k, Values: group[0].weights}
		m.Effects = []Effect{effectOf(effects[j][0], effects[j][1])}
		for _, f := range most[j] {
			nodes := slices.DeleteFunc(slices.Clone(members[f.field*k:(f.field+1)*k]), func(v int32) bool { return v < 0 })
			if len(nodes) == 0 {
				continue
			}
			e := showField(g, nil, nodes)
			e.Weight = f.p
			m.Examples = append(m.Examples, e)
		}
	}
	return a, nil
}

// unit is a hidden unit.
type unit struct {
	number  int
	weights []float64
	length  float64
}

// firing is a field, and the probability that it turns a unit on.
type firing struct {
	field int
	p     float64
}

// keep adds a field to those that excite a unit most, unless one with the same matrix is
// there.
func keep(list []firing, f firing, most int, rows []float32, width int) []firing {
	if len(list) == most && f.p <= list[most-1].p {
		return list
	}
	row := rows[f.field*width : (f.field+1)*width]
	for _, have := range list {
		if slices.Equal(row, rows[have.field*width:(have.field+1)*width]) {
			return list
		}
	}
	return keepLargest(list, f, most, func(f firing) float64 { return f.p })
}
