package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sources"
)

// answer is what plain loops make of a plan.
type answer struct {
	rows    []modelRow
	ordered bool // the order of the rows is known
	refused int
}

// modelRow is a row as it goes through the loops: a graph with its roots, then
// fields.
type modelRow struct {
	id     int
	item   *sources.Item
	g      *graph.Graph
	global bool // Normalize ran
	roots  []int32
	fields []modelField
	class  int32 // of the root, behind PerRoot
}

// modelField is one receptive field; no members are a zero field.
type modelField struct {
	members []int32 // k, -1 = dummy
	hops    []uint8
	attrs   []float32
}

// solve is the plain answer.
func (p plan) solve() (a answer, err error) {
	a.ordered = true
	for i := range p.items {
		g := *p.items[i].Graph
		a.rows = append(a.rows, modelRow{id: i, item: &p.items[i], g: &g})
	}
	k := 0
	direction := field.Both
	for _, op := range p.ops {
		switch op := op.(type) {
		case refuse:
			before := len(a.rows)
			a.rows = slices.DeleteFunc(a.rows, func(r modelRow) bool { return r.id%op.Every == 1 })
			a.refused += before - len(a.rows)
		case operators.Channel:
			err = each(a.rows, func(r *modelRow) error { return r.channel(op) })
		case operators.Select:
			err = each(a.rows, func(r *modelRow) error { return r.choose(op) })
		case operators.Chunk:
			a.rows = chunk(a.rows, op.Size)
		case operators.Assemble:
			k, direction = op.K, op.Direction
		case operators.Normalize:
			if op.K > 0 {
				k, direction = op.K, op.Direction
			}
			err = each(a.rows, func(r *modelRow) error { return r.normalize(op, k, direction) })
		case operators.Standardize:
			err = each(a.rows, func(r *modelRow) error { r.standardize(op); return nil })
		case operators.PerRoot:
			a.rows = perRoot(a.rows, op.Labelled, len(p.layout.NodeClasses) > 0)
		case operators.Shuffle:
			a.ordered = a.ordered && len(a.rows) < 2
		case operators.Replay:
			once := a.rows
			for range op.Epochs - 1 {
				a.rows = append(a.rows, once...)
			}
			a.ordered = a.ordered && len(once) < 2
		case operators.Batch:
		default:
			err = fmt.Errorf("no model of %T", op)
		}
		if err != nil {
			return a, err
		}
	}
	return a, nil
}

func each(rows []modelRow, f func(*modelRow) error) error {
	for i := range rows {
		if err := f(&rows[i]); err != nil {
			return fmt.Errorf("graph %d: %w", rows[i].id, err)
		}
	}
	return nil
}

func labelsOf(g *graph.Graph, by labeling.Labeling) ([]float64, error) {
	labels := make([]float64, g.N())
	return labels, labeling.Compute(by, labeling.Input{Graph: g}, labels)
}

func (r *modelRow) channel(c operators.Channel) error {
	labels, err := labelsOf(r.g, c.By)
	if err != nil {
		return err
	}
	var attr []float32
	for v, x := range labels {
		attr = append(attr, r.g.NodeAttr[v*r.g.NodeAttrs:(v+1)*r.g.NodeAttrs]...)
		attr = append(attr, float32(x))
	}
	r.g.NodeAttr, r.g.NodeAttrs = attr, r.g.NodeAttrs+1
	return nil
}

func (r *modelRow) choose(s operators.Select) error {
	order := make([]int32, r.g.N())
	for v := range order {
		order[v] = int32(v)
	}
	if s.By == nil && s.W > 0 {
		s.By = labeling.Betweenness
	}
	if s.By != nil {
		labels, err := labelsOf(r.g, s.By)
		if err != nil {
			return err
		}
		if order, _, err = labeling.Rank(context.Background(), r.g, labels); err != nil {
			return err
		}
	}
	if s.DepthFirst {
		order = labeling.DepthFirst(r.g, order)
	}
	if s.Strict {
		order = order[:min(len(order), s.W)]
	}
	for i, v := range order {
		if i%max(1, s.Stride) == 0 && (s.W == 0 || len(r.roots) < s.W) {
			r.roots = append(r.roots, v)
		}
	}
	for len(r.roots) < s.W {
		r.roots = append(r.roots, -1)
	}
	return nil
}

func chunk(rows []modelRow, size int) (out []modelRow) {
	for _, r := range rows {
		roots := slices.Clone(r.roots)
		for len(roots) > 0 && roots[len(roots)-1] < 0 {
			roots = roots[:len(roots)-1]
		}
		for len(roots)%size != 0 {
			roots = append(roots, -1)
		}
		for part := range slices.Chunk(roots, size) {
			r.roots = part
			out = append(out, r)
		}
	}
	return out
}

func (r *modelRow) normalize(op operators.Normalize, k int, d field.Direction) error {
	if op.By == nil {
		op.By = labeling.WL
	}
	var global []float64
	if op.Global {
		var err error
		if global, err = labelsOf(r.g, op.By); err != nil {
			return err
		}
	}
	r.global = true
	ix := field.NewIndex(r.g, d)
	for _, root := range r.roots {
		f := modelField{members: slices.Repeat([]int32{-1}, k), hops: make([]uint8, k)}
		if root >= 0 {
			var walk field.Assembler
			hood, dist := walk.Assemble(ix, root, k)
			copy(f.hops, dist)
			norm := field.Normalizer{K: k, By: op.By, IgnoreAttributes: op.IgnoreAttributes, Uniform: op.Uniform}
			if err := norm.Normalize(ix, hood, dist, global, f.members); err != nil {
				return err
			}
		}
		for _, v := range f.members {
			for c := range r.g.NodeAttrs {
				x := float32(0)
				if v >= 0 {
					x = r.g.NodeAttr[int(v)*r.g.NodeAttrs+c]
				}
				f.attrs = append(f.attrs, x)
			}
		}
		r.fields = append(r.fields, f)
	}
	return nil
}

func (r *modelRow) standardize(s operators.Standardize) {
	for _, f := range r.fields {
		for i, v := range f.members {
			for c := range s.Mean {
				std := s.Std[c]
				if std <= 0 {
					std = 1
				}
				if x := &f.attrs[i*len(s.Mean)+c]; v >= 0 {
					*x = (*x - s.Mean[c]) / std
				}
			}
		}
	}
}

func perRoot(rows []modelRow, labelled, classes bool) (out []modelRow) {
	for _, r := range rows {
		for i, f := range r.fields {
			one := r
			one.roots, one.fields, one.class = r.roots[i:i+1], []modelField{f}, -1
			if f.members[0] < 0 {
				continue
			}
			if classes {
				one.class = r.item.NodeClass[r.roots[i]]
				if labelled && one.class < 0 {
					continue
				}
			}
			out = append(out, one)
		}
	}
	return out
}

// texts are the rows as describe writes those of records.
func (p plan) texts(rows []modelRow) (lines []string) {
	norm, ok := find[operators.Normalize](p.ops)
	_, perRoot := find[operators.PerRoot](p.ops)
	_, chosen := find[operators.Select](p.ops)
	for _, r := range rows {
		line := fmt.Sprintf("graph %d pos %d", r.id, r.id)
		switch {
		case perRoot && len(p.layout.NodeClasses) > 0:
			line += fmt.Sprintf(" target %d", r.class)
		case len(p.layout.Classes) > 0:
			line += fmt.Sprintf(" target %d", r.item.Class)
		case p.layout.Real:
			line += fmt.Sprintf(" target %v", r.item.Value)
		}
		if chosen {
			line += fmt.Sprintf(" roots %v", r.roots)
		}
		if ok {
			line += r.fieldText(norm, len(p.layout.EdgeCat) == 0)
			for _, root := range r.roots {
				if p.layout.NodeIDs != graph.NoIDs {
					line += fmt.Sprintf(" id %q", r.item.NodeID.At(root))
				}
			}
		} else {
			line += fmt.Sprintf(" n %d neighbours %v", r.g.N(), r.g.Neighbors)
			for v := range int32(r.item.NodeID.Len()) {
				line += fmt.Sprintf(" id %q", r.item.NodeID.At(v))
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func find[T any](ops []operator) (op T, ok bool) {
	for _, o := range ops {
		if op, ok := o.(T); ok {
			return op, true
		}
	}
	return op, false
}

func (r *modelRow) fieldText(norm operators.Normalize, bare bool) string {
	var members, cats []int32
	var attrs, edges []float32
	var edgeCats []int32
	var mask []uint8
	for _, f := range r.fields {
		members = append(members, f.members...)
		attrs = append(attrs, f.attrs...)
		for i, v := range f.members {
			if norm.Mask {
				mask = append(mask, 0)
				if v >= 0 {
					mask[len(mask)-1] = 1
				}
			}
			if norm.Distances > 0 {
				d := int32(-1)
				if v >= 0 {
					d = min(int32(f.hops[i]), int32(norm.Distances)-1)
				}
				cats = append(cats, d)
			}
			for c := range r.g.NodeCats {
				x := int32(-1)
				if v >= 0 {
					x = r.g.NodeCat[int(v)*r.g.NodeCats+c]
				}
				cats = append(cats, x)
			}
			for _, u := range f.members {
				e := -1
				if v >= 0 && u >= 0 {
					e = r.g.Entry(v, u)
				}
				for c := range r.g.EdgeCats {
					x := int32(-1)
					if e >= 0 {
						x = r.g.EdgeCat[e*r.g.EdgeCats+c]
					}
					edgeCats = append(edgeCats, x)
				}
				for c := range r.g.EdgeAttrs {
					x := float32(0)
					if e >= 0 {
						x = r.g.EdgeAttr[e*r.g.EdgeAttrs+c]
					}
					edges = append(edges, x)
				}
				if r.g.EdgeAttrs == 0 && bare {
					x := float32(0)
					if e >= 0 {
						x = 1
					}
					edges = append(edges, x)
				}
			}
		}
	}
	if !norm.Edges {
		edgeCats, edges = nil, nil
	}
	return fmt.Sprintf(" members %v cats %v attrs %v mask %v edge cats %v edges %v", members, cats, attrs, mask, edgeCats, edges)
}

// describe writes the rows of records as texts writes those of the model.
func describe(recs []arrow.Record) (lines []string, err error) {
	for _, rec := range recs {
		has := rec.Schema().HasField
		var d described
		d.ints(&err, rec, record.Members, record.NodesCat, record.EdgesCat)
		d.floats(&err, rec, record.Nodes, record.Edges)
		var mask []uint8
		if has(record.Mask) {
			mask, _, err = record.FixedValues[uint8](rec, record.Mask)
		}
		ids, _ := record.Values[int64](rec, record.GraphID)
		pos, _ := record.Values[int64](rec, record.Pos)
		classes, _ := record.Values[int32](rec, record.Target)
		values, _ := record.Values[float32](rec, record.Target)
		if err != nil {
			return nil, err
		}
		for row, id := range ids {
			line := fmt.Sprintf("graph %d pos %d", id, pos[row])
			switch {
			case classes != nil:
				line += fmt.Sprintf(" target %d", classes[row])
			case values != nil:
				line += fmt.Sprintf(" target %v", values[row])
			}
			if has(record.Roots) {
				roots, err := record.ListsOf[int32](rec, record.Roots)
				if err != nil {
					return nil, err
				}
				line += fmt.Sprintf(" roots %v", roots.Row(row))
			}
			if has(record.Members) {
				line += fmt.Sprintf(" members %v cats %v attrs %v mask %v edge cats %v edges %v",
					part(d.i[0], row, len(ids)), part(d.i[1], row, len(ids)), part(d.f[0], row, len(ids)), part(mask, row, len(ids)),
					part(d.i[2], row, len(ids)), part(d.f[1], row, len(ids)))
				if has(record.RootIDs) {
					roots, err1 := record.ListsOf[int32](rec, record.Roots)
					names, err2 := record.IDsOfColumn(rec, record.RootIDs)
					if err1 != nil || err2 != nil {
						return nil, errors.Join(err1, err2)
					}
					for i, root := range roots.Row(row) {
						id := names.Row(row).At(int32(i))
						if root < 0 && (id == graph.IDOf(0) || id == graph.IDOfString("")) {
							id = graph.ID{}
						}
						line += fmt.Sprintf(" id %q", id)
					}
				}
			} else {
				gs, err := record.GraphsOf(rec)
				if err != nil {
					return nil, err
				}
				var g graph.Graph
				gs.At(row, &g)
				line += fmt.Sprintf(" n %d neighbours %v", g.N(), g.Neighbors)
				named := gs.Row(row).NodeID
				for v := range int32(named.Len()) {
					line += fmt.Sprintf(" id %q", named.At(v))
				}
			}
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// described is the tensors of a record, nil where a column is missing.
type described struct {
	i [][]int32
	f [][]float32
}

func (d *described) ints(err *error, rec arrow.Record, names ...string) {
	for _, name := range names {
		d.i = append(d.i, tensor[int32](err, rec, name))
	}
}

func (d *described) floats(err *error, rec arrow.Record, names ...string) {
	for _, name := range names {
		d.f = append(d.f, tensor[float32](err, rec, name))
	}
}

func tensor[T record.Value](failed *error, rec arrow.Record, name string) []T {
	if !rec.Schema().HasField(name) {
		return nil
	}
	v, _, err := record.FixedValues[T](rec, name)
	if err != nil && *failed == nil {
		*failed = err
	}
	return v
}

// part returns row i of n.
func part[T any](v []T, i, n int) []T { return v[len(v)/n*i : len(v)/n*(i+1)] }
