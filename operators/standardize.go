package operators

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// Standardize scales continuous channels to (x - Mean) / Std: after Normalize those of the
// column nodes, where dummies stay 0, and before Normalize those of node_attr. For an honest
// test, compute the moments from the training rows, by NodeMoments. A result beyond ±10⁶, of a
// finite x far from the training rows, becomes ±10⁶: a model overflows at 10²⁵.
type Standardize struct {
	// Mean and Std have a value per channel. A Std of 0 or less counts as 1.
	Mean, Std []float32
}

var _ flow.Operator = Standardize{}

// Open checks the settings.
func (s Standardize) Open(in *arrow.Schema) (flow.Stage, error) {
	if !in.HasField(record.Nodes) && in.HasField(record.Offsets) && in.HasField(record.NodeAttr) {
		bound, err := record.Bind(in)
		if err != nil {
			return nil, err
		}
		if err := s.check(len(bound.Layout.NodeAttr)); err != nil {
			return nil, err
		}
		return stageOfRows(in, &attrStandardizer{s, listColumn[float32]{Name: record.NodeAttr, Bound: bound}}), nil
	}
	var shape []int
	if err := record.Meta(in, record.Nodes, record.MetaShape, &shape); err != nil {
		return nil, err
	}
	if len(shape) != 3 || !in.HasField(record.Members) {
		return nil, fmt.Errorf("there are no columns %q and %q, nor graphs with %q: put Normalize before Standardize", record.Nodes, record.Members, record.NodeAttr)
	}
	if err := s.check(shape[2]); err != nil {
		return nil, err
	}
	return stageOfRows(in, &standardizer{Standardize: s, width: shape[0] * shape[1] * shape[2]}), nil
}

// check compares the moments with the number of channels.
func (s Standardize) check(channels int) error {
	if len(s.Mean) != channels || len(s.Std) != channels {
		return fmt.Errorf("there are %d means and %d deviations, want %d channels", len(s.Mean), len(s.Std), channels)
	}
	return nil
}

// scale is x of channel j, scaled.
func (s Standardize) scale(x float32, j int) float32 {
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

// attrStandardizer scales the attributes of graphs.
type attrStandardizer struct {
	Standardize
	listColumn[float32]
}

func (s *attrStandardizer) Fork() rowBuilder { return &attrStandardizer{s.Standardize, s.Again()} }

func (s *attrStandardizer) Row(_ context.Context, row int) error {
	var g graph.Graph
	s.Graphs.At(row, &g)
	out := s.Lists.Grow(len(g.NodeAttr))
	for i, x := range g.NodeAttr {
		out[i] = s.scale(x, i%len(s.Mean))
	}
	return nil
}

// NodeMoments returns the mean and the standard deviation of each continuous
// channel over the cells of the records that are not dummies. The records have
// one schema, that of Normalize. A channel without spread has deviation 1.
func NodeMoments(recs ...arrow.Record) (mean, std []float32, err error) {
	var n float64
	var sum, square []float64
	for pass := range 2 { // the second pass sums deviations, which keeps digits
		for _, rec := range recs {
			x, width, err := record.FixedValues[float32](rec, record.Nodes)
			if err != nil {
				return nil, nil, err
			}
			members, cells, err := record.FixedValues[int32](rec, record.Members)
			if err != nil {
				return nil, nil, err
			}
			c := width / max(cells, 1)
			if sum == nil {
				sum, square = make([]float64, c), make([]float64, c)
			}
			if len(sum) != c {
				return nil, nil, fmt.Errorf("operators: a record has %d channels, another %d", c, len(sum))
			}
			for cell, m := range members {
				if m < 0 {
					continue
				}
				for j, v := range x[cell*c : (cell+1)*c] {
					if pass == 0 {
						sum[j] += float64(v)
					} else {
						square[j] += (float64(v) - sum[j]) * (float64(v) - sum[j])
					}
				}
				if pass == 0 {
					n++
				}
			}
		}
		for j := range sum {
			if pass == 0 {
				sum[j] /= max(n, 1)
			}
		}
	}
	for j := range sum {
		mean = append(mean, float32(sum[j]))
		d := float32(math.Sqrt(square[j] / max(n, 1)))
		if d == 0 {
			d = 1
		}
		std = append(std, d)
	}
	return mean, std, nil
}

type standardizer struct {
	Standardize
	width   int
	in      []float32
	members []int32
	nodes   *record.Fixed[float32]
}

func (s *standardizer) Fork() rowBuilder {
	return &standardizer{Standardize: s.Standardize, width: s.width}
}

func (s *standardizer) Begin(mem memory.Allocator, rec arrow.Record) (err error) {
	if s.nodes == nil {
		s.nodes = record.NewFixed[float32](mem, s.width)
	}
	if s.in, _, err = record.FixedValues[float32](rec, record.Nodes); err != nil {
		return err
	}
	s.members, _, err = record.FixedValues[int32](rec, record.Members)
	return err
}

func (s *standardizer) Row(_ context.Context, row int) error {
	c := len(s.Mean)
	cells := s.width / c
	out := s.nodes.Grow(1)
	in := s.in[row*s.width : (row+1)*s.width]
	for cell, m := range s.members[row*cells : (row+1)*cells] {
		if m < 0 {
			continue
		}
		for j := range c {
			out[cell*c+j] = s.scale(in[cell*c+j], j)
		}
	}
	return nil
}

func (s *standardizer) Finish(rows int) map[string]arrow.Array {
	return map[string]arrow.Array{record.Nodes: s.nodes.Finish(rows)}
}

func (s *standardizer) Release() {
	if s.nodes != nil {
		s.nodes.Release()
	}
}
