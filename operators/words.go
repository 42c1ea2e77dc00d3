package operators

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/internal/note"
)

// metaMasked is the metadata key of a column whose unseen words come from MaskWords ("true").
// Expect does not count them.
const metaMasked = "masked"

// mapWords returns the stage of an Expect whose layouts agree.
func (e Expect) mapWords(in *arrow.Schema, got record.Layout) (flow.Stage, error) {
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	fields := slices.Clone(in.Fields())
	var cols []mappedWords
	for _, c := range []struct {
		name      string
		got, want []record.Channel
	}{{record.NodeCat, got.NodeCat, e.Layout.NodeCat}, {record.EdgeCat, got.EdgeCat, e.Layout.EdgeCat}} {
		col := mappedWords{name: c.name, want: c.want}
		for i, want := range c.want {
			col.add(c.got[i], want)
		}
		if !col.words {
			continue
		}
		at := in.FieldIndices(c.name)[0]
		if text, _ := fields[at].Metadata.GetValue(metaMasked); text == "true" {
			col.masked = true
		}
		fields[at] = record.ChannelsField[int32](c.name, c.want)
		cols = append(cols, col)
	}
	if len(cols) == 0 {
		return passing{in}, nil
	}
	meta := in.Metadata()
	return stageOfRows(arrow.NewSchema(fields, &meta), func(mem memory.Allocator) rowBuilder {
		m := &wordMapper{viewer: viewer{bound: bound}, cols: slices.Clone(cols)}
		for i, c := range m.cols {
			if c.moved {
				m.cols[i].out = addColumn(&m.columns, c.name, record.NewLists[int32](mem))
			}
		}
		return m
	}), nil
}

// mappedWords is a column of indices, at least one channel of which has words.
type mappedWords struct {
	name   string
	want   []record.Channel
	table  [][]int32 // by channel: the index in the layout of each incoming index; nil if they are equal
	unseen []int32   // by channel: the index of unseen words; -1 without words
	words  bool      // some channel has words
	moved  bool      // some table is not nil, so values change
	masked bool

	out *record.Lists[int32]
}

// add appends a channel. If the words of got and want differ, it makes a table.
func (c *mappedWords) add(got, want record.Channel) {
	var table []int32
	if want.Words != nil {
		c.words = true
		if !got.Equal(want) {
			c.moved = true
			table = make([]int32, got.Card)
			for i, w := range got.Words {
				table[i] = want.Index(w)
			}
			table[got.Unseen()] = want.Unseen()
		}
	}
	c.table, c.unseen = append(c.table, table), append(c.unseen, want.Unseen())
}

// wordMapper is one worker of a running Expect with words.
type wordMapper struct {
	columns
	viewer
	cols  []mappedWords
	count int64
	noted bool
}

func (m *wordMapper) Row(_ context.Context, row int) error {
	g := m.graph(row)
	count := int64(0)
	for i := range m.cols {
		c := &m.cols[i]
		n, err := c.unseenOf(c.values(&g))
		if err != nil {
			return err
		}
		count += n
	}
	m.count += count
	for i := range m.cols {
		if c := &m.cols[i]; c.moved {
			c.move(c.values(&g), c.out)
		}
	}
	return nil
}

// values returns the discrete attributes of the nodes or the edges of g, whichever the column has.
func (c *mappedWords) values(g *graph.Graph) []int32 {
	if c.name == record.NodeCat {
		return g.NodeCat
	}
	return g.EdgeCat
}

// unseenOf returns the number of unseen words, 0 for a masked column. In a channel with a table an index
// outside the table is an error.
func (c *mappedWords) unseenOf(values []int32) (n int64, err error) {
	d := len(c.want)
	for a := range d {
		if c.unseen[a] < 0 {
			continue
		}
		table, unseen := c.table[a], c.unseen[a]
		for i := a; i < len(values); i += d {
			x := values[i]
			if table != nil {
				if uint(x) >= uint(len(table)) {
					return 0, fmt.Errorf("value %d of channel %q is %d, want 0 to %d", i/d, c.want[a].Name, x, len(table)-1)
				}
				x = table[x]
			}
			if x == unseen && !c.masked {
				n++
			}
		}
	}
	return n, nil
}

// move appends the values, converted to the indices of the layout.
func (c *mappedWords) move(values []int32, to *record.Lists[int32]) {
	out, d := to.Grow(len(values)), len(c.want)
	copy(out, values)
	for a, table := range c.table {
		if table == nil {
			continue
		}
		for i := a; i < len(out); i += d {
			out[i] = table[out[i]]
		}
	}
}

// notes implements noter.
func (m *wordMapper) notes(add func(event string, n int64)) {
	if m.count != 0 || !m.noted {
		add(note.Unseen, m.count)
	}
	m.count, m.noted = 0, true
}
