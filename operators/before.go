package operators

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/internal/note"
)

// Before leaves out the edges of each graph that are not before a time: those at that time or later,
// and those of unknown time. Fields, words and answers behind it are those of a table of edges that
// ends at that time, if no two rows of the table have the same ends. The nodes stay. The statistics of the stage count
// the edges that are left out.
//
//	flow.From(sources.Tables{Edges: sources.EdgeTable{Table: t, Time: "when"}}).
//		Via(operators.Before{Time: 1_700_000_000}).
//		Via(operators.Select{}).
//		Via(operators.Chunk{}).
//		Via(operators.Normalize{K: 10})
//
// The time of an edge is the channel "time" of edge_attr, a float32 and its offset. An edge is left out too
// if it is earlier by less than the float32 shows. Of rows with the same ends sources.Tables keeps one, and
// that one decides. Package past has a time for each row of a table, for rows as nodes.
//
// O(n + m) for each row of a record, so it belongs before Chunk, and not behind sources.Rooted.
type Before struct {
	// Time is the time from which edges are left out, in the unit of the table.
	Time float64
}

var _ flow.Operator = Before{}

// Open checks that edges have a time.
func (b Before) Open(in *arrow.Schema) (flow.Stage, error) {
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	channels := bound.Layout.EdgeAttr
	at := slices.IndexFunc(channels, func(c record.Channel) bool { return c.Name == "time" })
	switch {
	case at < 0:
		return nil, fmt.Errorf("there is no channel \"time\" in column %q: name the column of times, sources.EdgeTable.Time", record.EdgeAttr)
	case b.Time != b.Time:
		return nil, errors.New("Time is NaN, want a time")
	}
	return stageOfRows(in, &beforeCutter{bound: bound, channel: at, limit: float32(b.Time - channels[at].Offset)}), nil
}

// beforeCutter is one worker of a running Before.
type beforeCutter struct {
	bound   *record.Binding
	channel int
	limit   float32

	graphs             record.Graphs
	offsets, neighbors *record.Lists[int32]
	cats               *record.Lists[int32] // or nil
	attrs              *record.Lists[float32]
	row                graph.Graph // scratch
	left               int         // edges since the last note
}

func (b *beforeCutter) Fork() rowBuilder {
	return &beforeCutter{bound: b.bound, channel: b.channel, limit: b.limit}
}

func (b *beforeCutter) Begin(mem memory.Allocator, rec arrow.Record) error {
	if b.offsets == nil {
		b.offsets, b.neighbors, b.attrs = record.NewLists[int32](mem), record.NewLists[int32](mem), record.NewLists[float32](mem)
		if len(b.bound.Layout.EdgeCat) > 0 {
			b.cats = record.NewLists[int32](mem)
		}
	}
	return b.bound.ViewInto(&b.graphs, rec)
}

func (b *beforeCutter) Row(ctx context.Context, row int) error {
	var g graph.Graph
	b.graphs.At(row, &g)
	h := &b.row
	h.Offsets, h.Neighbors, h.EdgeCat, h.EdgeAttr = append(h.Offsets[:0], 0), h.Neighbors[:0], h.EdgeCat[:0], h.EdgeAttr[:0]
	for v := range g.N() {
		if v%(1<<16) == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for e := int(g.Offsets[v]); e < int(g.Offsets[v+1]); e++ {
			attr := g.EdgeAttr[e*g.EdgeAttrs:][:g.EdgeAttrs]
			if !(attr[b.channel] < b.limit) {
				continue
			}
			h.Neighbors, h.EdgeAttr = append(h.Neighbors, g.Neighbors[e]), append(h.EdgeAttr, attr...)
			h.EdgeCat = append(h.EdgeCat, g.EdgeCat[e*g.EdgeCats:][:g.EdgeCats]...)
		}
		h.Offsets = append(h.Offsets, int32(len(h.Neighbors)))
	}
	b.left += g.M() - (&graph.Graph{Neighbors: h.Neighbors, Directed: g.Directed}).M()
	b.offsets.Append(h.Offsets)
	b.neighbors.Append(h.Neighbors)
	b.attrs.Append(h.EdgeAttr)
	if b.cats != nil {
		b.cats.Append(h.EdgeCat)
	}
	return nil
}

// notes implements noter.
func (b *beforeCutter) notes(add func(event string, n int64)) {
	add(note.LeftOut, int64(b.left))
	b.left = 0
}

func (b *beforeCutter) Finish(int) map[string]arrow.Array {
	made := map[string]arrow.Array{record.Offsets: b.offsets.Finish(), record.Neighbors: b.neighbors.Finish(), record.EdgeAttr: b.attrs.Finish()}
	if b.cats != nil {
		made[record.EdgeCat] = b.cats.Finish()
	}
	return made
}

func (b *beforeCutter) Release() {
	if b.offsets == nil {
		return
	}
	b.offsets.Release()
	b.neighbors.Release()
	b.attrs.Release()
	if b.cats != nil {
		b.cats.Release()
	}
}
