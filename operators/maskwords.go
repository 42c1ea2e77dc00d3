package operators

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/internal/scatter"
)

// MaskWords replaces a value of an attribute with words by record.Channel.Unseen with
// probability Rate, so that a model learns the index of unseen words. Put it before the recipe
// of a training, not into the recipe, which also serves predictions:
//
//	recipe.Onto(flow.From(src).Via(operators.MaskWords{Rate: 0.05})).To(…)
//
// The choice depends only on Seed, the pos of the row, the node and the channel. It is the same
// at any number of workers and in each epoch. Both directions of an edge have the same value.
// Expect neither counts nor refuses masked words. Graphs without words pass. O(values).
type MaskWords struct {
	// Rate is the probability, 0 to 1. 0 hides no word.
	Rate float64
	// Rows is the probability that words of a row are hidden. 0 = 1. A small Rate would destroy
	// most patterns of rows with many words, such as molecules; a small Rows keeps the other rows
	// whole.
	Rows float64
	// Seed selects the hidden words.
	Seed uint64
}

var _ flow.Operator = MaskWords{}

// Open checks the settings.
func (w MaskWords) Open(in *arrow.Schema) (flow.Stage, error) {
	if !(w.Rate >= 0 && w.Rate <= 1) {
		return nil, fmt.Errorf("Rate is %v, want 0 to 1", w.Rate)
	}
	if !(w.Rows >= 0 && w.Rows <= 1) {
		return nil, fmt.Errorf("Rows is %v, want 0 to 1", w.Rows)
	}
	if !in.HasField(record.Offsets) {
		return nil, errors.New("there are no graphs: put MaskWords behind the source")
	}
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	fields := slices.Clone(in.Fields())
	var cols []maskedWords
	for _, c := range []maskedWords{{name: record.NodeCat, channels: bound.Layout.NodeCat}, {name: record.EdgeCat, channels: bound.Layout.EdgeCat}} {
		words := false
		for _, channel := range c.channels {
			words = words || channel.Words != nil
		}
		if !words || w.Rate == 0 {
			continue
		}
		at := in.FieldIndices(c.name)[0]
		old := fields[at].Metadata
		fields[at].Metadata = arrow.NewMetadata(append(old.Keys(), metaMasked), append(old.Values(), "true"))
		cols = append(cols, c)
	}
	if len(cols) == 0 {
		return passing{in}, nil
	}
	meta := in.Metadata()
	return stageOfRows(arrow.NewSchema(fields, &meta), func(mem memory.Allocator) rowBuilder {
		m := &wordMasker{MaskWords: w, viewer: viewer{bound: bound}, cols: slices.Clone(cols)}
		for i, c := range m.cols {
			m.cols[i].out = addColumn(&m.columns, c.name, record.NewLists[int32](mem))
		}
		return m
	}), nil
}

// maskedWords is a column of discrete attributes that MaskWords rewrites. At least one channel has words.
type maskedWords struct {
	name     string
	channels []record.Channel
	out      *record.Lists[int32]
}

// wordMasker is one worker of a running MaskWords.
type wordMasker struct {
	MaskWords
	columns
	viewer
	cols []maskedWords
}

func (m *wordMasker) Row(_ context.Context, row int) error {
	g := m.graph(row)
	seed := scatter.Bits(m.Seed ^ scatter.Bits(uint64(m.now.graphs.Row(row).Pos)))
	rate := m.Rate
	if m.Rows > 0 && share(scatter.Bits(seed+2)) >= m.Rows {
		rate = 0
	}
	for _, c := range m.cols {
		if c.name == record.NodeCat {
			m.hide(c, rate, g.NodeCat, func(v int) uint64 { return seed + uint64(v) })
			continue
		}
		tail, last := make([]int32, len(g.Neighbors)), int32(g.N())
		for u := range last {
			for i := g.Offsets[u]; i < g.Offsets[u+1]; i++ {
				tail[i] = u
			}
		}
		m.hide(c, rate, g.EdgeCat, func(i int) uint64 {
			u, v := tail[i], g.Neighbors[i]
			if !g.Directed {
				u, v = min(u, v), max(u, v)
			}
			return scatter.Bits(seed+1) + uint64(u)<<32 + uint64(v)
		})
	}
	return nil
}

// hide appends the values. It replaces a word by the unseen one with probability rate. of maps
// the index of a node or an edge to a number, whose hash decides.
func (m *wordMasker) hide(c maskedWords, rate float64, values []int32, of func(i int) uint64) {
	out, d := c.out.Grow(len(values)), len(c.channels)
	copy(out, values)
	for a, channel := range c.channels {
		unseen := channel.Unseen()
		if unseen < 0 {
			continue
		}
		for i := a; i < len(out); i += d {
			if share(scatter.Bits(scatter.Bits(of(i/d))+uint64(a))) < rate {
				out[i] = unseen
			}
		}
	}
}

// share converts the bits of a draw to a number in [0, 1).
func share(draw uint64) float64 { return float64(draw>>11) / (1 << 53) }
