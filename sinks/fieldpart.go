package sinks

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
)

// FieldPart is the part of a receptive field that an RBM or an autoencoder reads as a row of
// numbers. Discrete channels become one-hot; -1 has no unit on.
type FieldPart int

const (
	// Adjacency is 1 where an edge joins two nodes of the field, else 0:
	// k·k units. A dummy has no edges. If edges have continuous channels and
	// no discrete one, an edge whose channels are all 0 is not seen.
	Adjacency FieldPart = iota
	// Nodes is the channels of the nodes: k·a_v units.
	Nodes
	// Pairs is the channels of the edges between each two nodes: k·k·a_e
	// units.
	Pairs
)

// cells is the layout of the units of a field: n cells, each with one-hot channels of cards values and
// then attrs continuous channels.
type cells struct {
	w, n        int
	cards       []int
	attrs       int
	adjacency   bool // a cell has one unit: whether it has a value
	cats, reals string
}

// cellsOf returns the layout of the units for a schema.
func cellsOf(s *arrow.Schema, u FieldPart) (c cells, err error) {
	dims, missing := 4, "there are no edges: neither column edges_cat nor edges; set Normalize.Edges"
	c.cats, c.reals, c.adjacency = record.EdgesCat, record.Edges, u == Adjacency
	switch u {
	case Adjacency, Pairs:
	case Nodes:
		c.cats, c.reals, dims = record.NodesCat, record.Nodes, 3
		missing = "there are no node channels: neither column nodes_cat nor nodes"
	default:
		return c, fmt.Errorf("Of is %d, want Adjacency, Nodes or Pairs", u)
	}
	for _, name := range []string{c.cats, c.reals} {
		shape, err := dimsOf(s, name, dims)
		if err != nil {
			return c, err
		}
		if shape == nil {
			continue
		}
		missing, c.w, c.n = "", shape[0], shape[1]
		if dims == 4 {
			c.n *= shape[2]
		}
		if channels := shape[dims-1]; name == c.reals {
			c.attrs = channels
		} else if c.cards, err = cardsOf(s, name, channels); err != nil {
			return c, err
		}
	}
	if missing != "" {
		return c, errors.New(missing)
	}
	return c, nil
}

// width returns the number of units of a field.
func (c *cells) width() int {
	if c.adjacency {
		return c.n
	}
	each := c.attrs
	for _, card := range c.cards {
		each += card
	}
	return c.n * each
}

// fieldCells are the cells of all fields of a record.
type fieldCells struct {
	*cells
	members []int32   // column members, (B, w, k) for B rows
	cats    []int32   // column cats of the cells, (B, w, n, d) for d cards; nil without cards
	reals   []float32 // column reals of the cells, (B, w, n, attrs); nil without attrs
	fields  int       // number of fields, B·w
}

func (c *cells) of(rec arrow.Record) (f fieldCells, err error) {
	f = fieldCells{cells: c, fields: int(rec.NumRows()) * c.w}
	var width int
	if f.members, width, err = record.FixedValues[int32](rec, record.Members); err != nil {
		return f, err
	}
	if width == 0 || width%c.w != 0 {
		return f, fmt.Errorf("column %q has %d values a row, want a multiple of w = %d", record.Members, width, c.w)
	}
	if len(c.cards) > 0 {
		if f.cats, width, err = record.FixedValues[int32](rec, c.cats); err != nil {
			return f, err
		}
		if want := c.w * c.n * len(c.cards); width != want {
			return f, fmt.Errorf("column %q has %d values a row, want %d", c.cats, width, want)
		}
	}
	if c.attrs > 0 {
		if f.reals, width, err = record.FixedValues[float32](rec, c.reals); err != nil {
			return f, err
		}
		if want := c.w * c.n * c.attrs; width != want {
			return f, fmt.Errorf("column %q has %d values a row, want %d", c.reals, width, want)
		}
	}
	return f, nil
}

// zero reports whether field i is a zero field, whose root is a dummy.
func (f *fieldCells) zero(i int) bool { return f.members[i*(len(f.members)/f.fields)] < 0 }

// fill sets dst, of width values, to the units of field i.
func (f *fieldCells) fill(dst []float32, i int) error {
	clear(dst)
	d, n := len(f.cards), f.n
	cats, reals := f.cats[i*n*d:(i+1)*n*d], f.reals[i*n*f.attrs:(i+1)*n*f.attrs]
	if f.adjacency {
		for cell := range n {
			for _, v := range cats[cell*d : (cell+1)*d] {
				if v >= 0 {
					dst[cell] = 1
				}
			}
			for _, v := range reals[cell*f.attrs : (cell+1)*f.attrs] {
				if v != 0 {
					dst[cell] = 1
				}
			}
		}
		return nil
	}
	each := f.width() / n
	for cell := range n {
		to := dst[cell*each : (cell+1)*each]
		for j, card := range f.cards {
			if v := cats[cell*d+j]; v >= int32(card) || v < -1 {
				return fmt.Errorf("field %d, cell %d, discrete channel %d: value %d, want -1 to %d", i%f.w, cell, j, v, card-1)
			} else if v >= 0 {
				to[v] = 1
			}
			to = to[card:]
		}
		copy(to, reals[cell*f.attrs:(cell+1)*f.attrs])
	}
	return nil
}

// Rows returns the units of every field of the records, except zero fields, in order: (rows,
// width), row-major. The records are the output of operators.Normalize.
func (p FieldPart) Rows(recs ...arrow.Record) (rows []float32, width int, err error) {
	for _, rec := range recs {
		c, err := cellsOf(rec.Schema(), p)
		if err != nil {
			return nil, 0, err
		}
		f, err := c.of(rec)
		if err != nil {
			return nil, 0, err
		}
		width = c.width()
		for i := range f.fields {
			if f.zero(i) {
				continue
			}
			at := len(rows)
			rows = append(rows, make([]float32, width)...)
			if err := f.fill(rows[at:], i); err != nil {
				return nil, 0, rowFault(rec, i/c.w, err)
			}
		}
	}
	return rows, width, nil
}
