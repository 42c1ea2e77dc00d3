package operators

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Standardize scales continuous channels to (x - Mean) / Std: after Normalize those of the column
// nodes, where dummies stay 0, and before Normalize those of node_attr. For an honest test, learn
// the setting from the training rows, by [StandardizeOf]. Finite results beyond ±10⁶ become ±10⁶,
// since a model overflows at 10²⁵.
//
// A missing number, NaN, becomes 0, the mean. In the column edges missing numbers become 0 and
// others do not change. For each channel in Missing and EdgeMissing an indicator channel is added
// behind all others: 1 where the number was missing.
type Standardize struct {
	// Mean and Std have a value per channel. A Std of 0 or less counts as 1. They are empty if
	// there are no channels of nodes.
	Mean, Std []float32
	// Missing are channels of nodes, and EdgeMissing channels of edges, ascending. The default is none.
	Missing, EdgeMissing []int
}

var _ flow.Operator = Standardize{}

// Open checks the settings.
func (s Standardize) Open(in *arrow.Schema) (flow.Stage, error) {
	if !in.HasField(record.Nodes) && in.HasField(record.Offsets) && in.HasField(record.NodeAttr) {
		return s.ofGraphs(in)
	}
	if !in.HasField(record.Members) || !in.HasField(record.Nodes) && !in.HasField(record.Edges) {
		return nil, fmt.Errorf("there are no columns %q and %q, nor graphs with %q: put Normalize before Standardize", record.Nodes, record.Members, record.NodeAttr)
	}
	var nodes, edges scaledTensor
	schema := in
	for _, c := range []struct {
		name    string
		members int // nodes of a field that a cell describes
		missing []int
		to      *scaledTensor
	}{{record.Nodes, 1, s.Missing, &nodes}, {record.Edges, 2, s.EdgeMissing, &edges}} {
		var shape []int
		var channels []record.Channel
		if err := cmp.Or(record.Meta(in, c.name, record.MetaShape, &shape), record.Meta(in, c.name, record.MetaChannels, &channels)); err != nil {
			return nil, err
		}
		if in.HasField(c.name) && len(shape) != 2+c.members {
			return nil, fmt.Errorf("column %q has the shape %v in its metadata, want %d numbers", c.name, shape, 2+c.members)
		}
		width := 0
		if len(shape) > 0 {
			width = shape[len(shape)-1]
		}
		of := s
		if c.name == record.Edges {
			of.Mean, of.Std = make([]float32, width), make([]float32, width)
		}
		if err := of.check(c.name, width, c.missing); err != nil {
			return nil, err
		}
		if width == 0 {
			continue
		}
		c.to.name, c.to.cells, c.to.in, c.to.missing = c.name, 1, width, c.missing
		for _, d := range shape[:len(shape)-1] {
			c.to.cells *= d
		}
		if len(c.missing) > 0 {
			shape = append(shape[:len(shape)-1:len(shape)-1], width+len(c.missing))
			var err error
			if schema, err = record.Replace(schema, []string{c.name}, record.TensorField[float32](c.name, shape, withMissing(channels, c.missing))); err != nil {
				return nil, err
			}
		}
	}
	return stageOfRows(schema, func(mem memory.Allocator) rowBuilder {
		st := &standardizer{Standardize: s, nodes: nodes, edges: edges}
		for _, t := range []*scaledTensor{&st.nodes, &st.edges} {
			if t.name != "" {
				t.out = addColumn(&st.columns, t.name, record.NewFixed[float32](mem, t.cells*(t.in+len(t.missing))))
			}
		}
		return st
	}), nil
}

// ofGraphs opens the operator for the continuous attributes of the nodes of graphs.
func (s Standardize) ofGraphs(in *arrow.Schema) (flow.Stage, error) {
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	channels, schema := bound.Layout.NodeAttr, in
	if err := s.check(record.NodeAttr, len(channels), s.Missing); err != nil {
		return nil, err
	}
	if len(s.Missing) > 0 {
		if schema, err = record.Replace(in, []string{record.NodeAttr}, record.ChannelsField[float32](record.NodeAttr, withMissing(channels, s.Missing))); err != nil {
			return nil, err
		}
	}
	return stageOfRows(schema, func(mem memory.Allocator) rowBuilder {
		return &attrStandardizer{s, newListColumn[float32](mem, record.NodeAttr, bound)}
	}), nil
}

// withMissing returns channels followed by an indicator channel for each channel with an index in missing.
func withMissing(channels []record.Channel, missing []int) []record.Channel {
	all := slices.Clone(channels)
	for _, j := range missing {
		name := fmt.Sprintf("number %d", j)
		if j < len(channels) {
			name = channels[j].Name
		}
		all = append(all, record.Channel{Name: name + " is missing"})
	}
	return all
}

// check compares the settings with the number of channels.
func (s Standardize) check(column string, channels int, missing []int) error {
	if len(s.Mean) != channels || len(s.Std) != channels {
		return fmt.Errorf("there are %d means and %d deviations, want %d channels", len(s.Mean), len(s.Std), channels)
	}
	for i, j := range missing {
		if j < 0 || j >= channels || i > 0 && missing[i-1] >= j {
			return fmt.Errorf("the channels %v of %s may be missing, want some of 0 to %d, ascending", missing, column, channels-1)
		}
	}
	return nil
}

// scale returns (x - mean) / deviation of channel j, at most 10⁶ in size unless x is infinite. NaN
// becomes 0, and a deviation of 0 counts as 1.
func (s Standardize) scale(x float32, j int) float32 {
	if x != x {
		return 0
	}
	y := x - s.Mean[j]
	if s.Std[j] > 0 {
		y /= s.Std[j]
	}
	if math.IsInf(float64(x), 0) {
		return y
	}
	const bound = 1e6
	return max(-bound, min(bound, y))
}

// attrStandardizer is one worker of a Standardize before Normalize. It scales the continuous
// attributes of nodes.
type attrStandardizer struct {
	Standardize
	listColumn[float32]
}

func (s *attrStandardizer) Row(_ context.Context, row int) error {
	g := s.graph(row)
	c, wide := len(s.Mean), len(s.Mean)+len(s.Missing)
	out := s.Lists.Grow(g.N() * wide)
	for v := range g.N() {
		s.cell(g.NodeAttr[v*c:(v+1)*c], out[v*wide:(v+1)*wide])
	}
	return nil
}

// cell scales the channels of one node, from in to out.
func (s Standardize) cell(in, out []float32) {
	for j, x := range in {
		out[j] = s.scale(x, j)
	}
	mark(in, out[len(in):], s.Missing)
}

// mark sets out to 1 for each of the missing channels whose value is NaN, else to 0.
func mark(in, out []float32, missing []int) {
	for i, j := range missing {
		if out[i] = 0; in[j] != in[j] {
			out[i] = 1
		}
	}
}

// StandardizeOf learns the setting from records, which have one schema, that of Normalize: the mean and
// the standard deviation of each continuous channel over the cells that are neither dummies nor
// missing, and the channels of nodes and edges of which a number is missing. A channel without spread has
// deviation 1.
func StandardizeOf(recs ...arrow.Record) (s Standardize, err error) {
	var n, sum, square []float64
	for pass := range 2 { // the first pass sums values, the second squared deviations, which loses fewer digits than a sum of squares
		for _, rec := range recs {
			if !rec.Schema().HasField(record.Nodes) {
				continue
			}
			x, width, err := record.FixedValues[float32](rec, record.Nodes)
			if err != nil {
				return s, err
			}
			members, cells, err := record.FixedValues[int32](rec, record.Members)
			if err != nil {
				return s, err
			}
			c := width / max(cells, 1)
			if sum == nil {
				n, sum, square = make([]float64, c), make([]float64, c), make([]float64, c)
			}
			if len(sum) != c {
				return s, fmt.Errorf("operators: a record has %d channels, another %d", c, len(sum))
			}
			for cell, m := range members {
				if m < 0 {
					continue
				}
				for j, v := range x[cell*c : (cell+1)*c] {
					switch {
					case v != v:
					case pass == 0:
						sum[j] += float64(v)
						n[j]++
					default:
						square[j] += (float64(v) - sum[j]) * (float64(v) - sum[j])
					}
				}
			}
		}
		for j := range sum {
			if pass == 0 {
				sum[j] /= max(n[j], 1)
			}
		}
	}
	for j := range sum {
		s.Mean = append(s.Mean, float32(sum[j]))
		d := float32(math.Sqrt(square[j] / max(n[j], 1)))
		if d == 0 {
			d = 1
		}
		s.Std = append(s.Std, d)
	}
	if s.Missing, err = missingIn(recs, record.Nodes); err == nil {
		s.EdgeMissing, err = missingIn(recs, record.Edges)
	}
	return s, err
}

// missingIn returns the channels of a column of tensors that have a NaN.
func missingIn(recs []arrow.Record, name string) (channels []int, err error) {
	found := map[int]bool{}
	for _, rec := range recs {
		if !rec.Schema().HasField(name) {
			continue
		}
		var shape []int
		if err := record.Meta(rec.Schema(), name, record.MetaShape, &shape); err != nil {
			return nil, err
		}
		x, _, err := record.FixedValues[float32](rec, name)
		if err != nil {
			return nil, err
		}
		for i, v := range x {
			if v != v {
				found[i%shape[len(shape)-1]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// standardizer is one worker of a running Standardize, after Normalize.
type standardizer struct {
	Standardize
	columns
	members      []int32
	nodes, edges scaledTensor
}

// scaledTensor is a tensor column that Standardize rewrites.
type scaledTensor struct {
	name      string // name of the column; empty if records lack it
	cells, in int    // cells of a row, and channels of a cell
	missing   []int
	values    []float32
	out       *record.Fixed[float32]
}

func (t *scaledTensor) begin(rec arrow.Record) (err error) {
	if t.name == "" {
		return nil
	}
	t.values, _, err = record.FixedValues[float32](rec, t.name)
	return err
}

// row calls do with the channels of each cell of a row, in for input and out for output.
func (t *scaledTensor) row(row int, do func(cell int, in, out []float32)) {
	if t.name == "" {
		return
	}
	out, wide := t.out.Grow(1), t.in+len(t.missing)
	for cell := range t.cells {
		at := row*t.cells + cell
		do(at, t.values[at*t.in:(at+1)*t.in], out[cell*wide:(cell+1)*wide])
	}
}

func (s *standardizer) Begin(rec arrow.Record) (err error) {
	s.members, _, err = record.FixedValues[int32](rec, record.Members)
	return cmp.Or(err, s.nodes.begin(rec), s.edges.begin(rec))
}

func (s *standardizer) Row(_ context.Context, row int) error {
	s.nodes.row(row, func(cell int, in, out []float32) {
		if s.members[cell] >= 0 {
			s.cell(in, out)
		}
	})
	s.edges.row(row, func(_ int, in, out []float32) {
		for j, x := range in {
			if x == x {
				out[j] = x
			}
		}
		mark(in, out[len(in):], s.EdgeMissing)
	})
	return nil
}
