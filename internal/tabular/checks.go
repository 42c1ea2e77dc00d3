package tabular

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// top is the range of the indices of a column. Indices of channel i are at least least and below tops[i].
type top struct {
	name  string
	least int32
	tops  []int32
}

// topOf returns the range of a column of indices by its metadata. ok is false for other columns.
func topOf(s *arrow.Schema, f arrow.Field) (top, bool, error) {
	var channels []record.Channel
	var classes []string
	if err := record.Meta(s, f.Name, record.MetaChannels, &channels); err != nil {
		return top{}, false, err
	}
	if err := record.Meta(s, f.Name, record.MetaClasses, &classes); err != nil {
		return top{}, false, err
	}
	t := top{name: f.Name, least: -1} // -1 is a dummy, no edge, or an unknown class
	if _, ofGraph := record.ColumnType(f.Name); ofGraph && len(classes) == 0 || f.Name == record.NodesSparse {
		t.least = 0
	}
	for _, c := range channels {
		if c.Card < 0 || c.Card > math.MaxInt32 {
			return t, false, fmt.Errorf("column %q: channel %s has %d values", f.Name, c.Name, c.Card)
		}
		if c.Card > 0 { // discrete
			t.tops = append(t.tops, int32(c.Card))
		}
	}
	if t.tops != nil && len(t.tops) < len(channels) {
		return t, false, fmt.Errorf("column %q mixes discrete channels with others", f.Name)
	}
	if len(classes) > 0 {
		t.tops = []int32{int32(len(classes))}
	}
	return t, t.tops != nil, nil
}

func (t *top) check(rec arrow.Record) error {
	v, err := leaves(rec, t.name)
	if err != nil {
		return err
	}
	n := len(t.tops)
	for i, x := range v {
		if most := t.tops[i%n]; x < t.least || x >= most {
			return fmt.Errorf("column %q: value %d is %d, want %d to %d", t.name, i, x, t.least, most-1)
		}
	}
	return nil
}

// leaves returns all values of a column of int32, or of lists of int32. The record is not a slice.
func leaves(rec arrow.Record, name string) ([]int32, error) {
	a := rec.Column(rec.Schema().FieldIndices(name)[0])
	for {
		switch l := a.(type) {
		case *array.Int32:
			return l.Int32Values(), nil
		case array.ListLike:
			a = l.ListValues()
		default:
			return nil, fmt.Errorf("column %q is %s, want indices, as its metadata says", name, rec.Schema().Field(rec.Schema().FieldIndices(name)[0]).Type)
		}
	}
}

// checkGraphs checks the rules of package graph and the ids and roots. GraphsOf compares the lengths of the
// columns.
func (p *Plan) checkGraphs(ctx context.Context, rec arrow.Record) error {
	graphs, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	var roots record.ListView[int32]
	hasRoots := p.Schema.HasField(record.Roots)
	if hasRoots {
		if roots, err = record.ListsOf[int32](rec, record.Roots); err != nil {
			return err
		}
	}
	var g graph.Graph
	for row := range graphs.Len() {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("graph %d: %w", graphs.ID(row), fmt.Errorf(format, args...))
		}
		graphs.At(row, &g)
		if err := g.CheckContext(ctx); err != nil {
			return fail("%w", err)
		}
		if err := graphs.Row(row).NodeID.Check(); err != nil {
			return fail("%w", err)
		}
		if hasRoots {
			for i, v := range roots.Row(row) {
				if v < -1 || int(v) >= g.N() {
					return fail("root %d is %d, want -1 to %d", i, v, g.N()-1)
				}
			}
		}
	}
	return nil
}
