package main

import (
	"fmt"
	"math/bits"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// Values of the parts of a label.
const (
	own     = 4    // hops from the root of the field, 0 to 2, and more
	other   = 9    // hops from the other end, 0 to 7, and more or none
	buckets = 7    // ⌊log₂ of the degree⌋, 0 to 5, and more; a node without an edge is with 0
	reach   = 2048 // nodes that a search visits, up to a whole ring
)

// pairLabels labels the members of two fields that belong to the ends of a pair
// by where they lie between them: so a common neighbour is (1, 1), whichever
// place in the field it has. Zhang and Chen (NeurIPS 2018) label by both
// distances likewise. It replaces nodes_cat by three discrete channels
//
//	0                                            the group, see nn.Pooled
//	(hops from own end, hops from the other)     own·other values
//	the same with the degree                     own·other·buckets values
//
// and adds target: 1 where the pair is an edge of Full. It stands behind
// Normalize with KeepGraph, and drops the graph.
type pairLabels struct {
	Full *graph.Graph
}

func (p pairLabels) String() string { return "pairLabels" }

// Open checks that a row is two fields.
func (p pairLabels) Open(in *arrow.Schema) (flow.Stage, error) {
	var shape []int
	if err := record.Meta(in, record.Members, record.MetaShape, &shape); err != nil {
		return nil, err
	}
	if len(shape) != 2 || shape[0] != 2 {
		return nil, fmt.Errorf("column %q has the shape %v, want two fields", record.Members, shape)
	}
	k := shape[1]
	rest := record.Without(in, record.NodesCat, record.Offsets, record.Neighbors, record.NodeAttr, record.NodeSparse)
	target, err := linkField()
	if err != nil {
		return nil, err
	}
	out, err := record.Extend(rest, record.TensorField[int32](record.NodesCat, []int{2, k, 3}, []record.Channel{
		{Name: "group", Card: 1}, {Name: "between", Card: own * other}, {Name: "between, degree", Card: own * other * buckets},
	}), target)
	return &labeler{pairLabels: p, schema: out, k: k}, err
}

var linkClasses = []string{"no link", "link"}

// linkField is the column of what is asked.
func linkField() (arrow.Field, error) {
	target, _, err := record.Field(record.Layout{Classes: linkClasses}.Schema(), record.Target)
	return target, err
}

// labeler is one worker.
type labeler struct {
	pairLabels
	schema *arrow.Schema
	k      int
	near   [2][]uint8 // hops from each end, 1 more; 0 = not reached

}

func (l *labeler) Schema() *arrow.Schema { return l.schema }

func (l *labeler) Fork() flow.Stage {
	return &labeler{pairLabels: l.pairLabels, schema: l.schema, k: l.k}
}

func (l *labeler) Close() error { return nil }

func (l *labeler) Process(rec arrow.Record, out *flow.Out) error {
	gs, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	members, _, err := record.FixedValues[int32](rec, record.Members)
	if err != nil {
		return err
	}
	rows := int(rec.NumRows())
	cats, target := record.NewFixed[int32](out.Mem(), 2*l.k*3), record.NewColumn[int32](out.Mem())
	dst := cats.Extend(rows)
	for row := range rows {
		var g graph.Graph
		gs.At(row, &g)
		m := members[row*2*l.k : (row+1)*2*l.k]
		l.label(&g, m, dst[row*2*l.k*3:])
		link := int32(0)
		if l.Full.Entry(m[0], m[l.k]) >= 0 {
			link = 1
		}
		target.Append(link)
	}
	made, err := record.Project(l.schema, rec, map[string]arrow.Array{
		record.NodesCat: cats.Finish(rows), record.Target: target.Finish(),
	})
	if err != nil {
		return err
	}
	return out.Emit(made)
}

// label writes the labels of two fields (2, k) of g to cats (2, k, 3).
func (l *labeler) label(g *graph.Graph, members, cats []int32) {
	for end := range l.near {
		if len(l.near[end]) < g.N() {
			l.near[end] = make([]uint8, g.N())
		}
		visited := l.search(g, members[end*l.k], l.near[end])
		defer func() {
			for _, v := range visited {
				l.near[end][v] = 0
			}
		}()
	}
	for i, v := range members {
		cell := cats[3*i : 3*i+3]
		if v < 0 {
			cell[0], cell[1], cell[2] = -1, -1, -1
			continue
		}
		end := i / l.k
		between := hops(l.near[end][v], own)*other + hops(l.near[1-end][v], other)
		degree := int32(min(buckets-1, max(0, bits.Len(uint(g.Degree(v)))-1)))
		cell[0], cell[1], cell[2] = 0, between, between*buckets+degree
	}
}

// hops is a distance as one of n values; the last stands for all beyond.
func hops(near uint8, n int32) int32 {
	if near == 0 {
		return n - 1
	}
	return min(int32(near)-1, n-1)
}

// search walks from a node breadth-first, ring by ring, until the rings no
// longer matter or the next would take more than reach nodes in all. It returns
// what it has visited. A ring is walked whole or not at all, so the numbers of
// the nodes do not matter.
func (l *labeler) search(g *graph.Graph, from int32, near []uint8) []int32 {
	visited := []int32{from}
	near[from] = 1
	for begin, hop := 0, uint8(2); hop < other && begin < len(visited); hop++ {
		end := len(visited)
		for _, u := range visited[begin:end] {
			for _, v := range g.Adj(u) {
				if near[v] == 0 {
					near[v] = hop
					visited = append(visited, v)
				}
			}
		}
		if len(visited) > reach {
			for _, v := range visited[end:] {
				near[v] = 0
			}
			return visited[:end]
		}
		begin = end
	}
	return visited
}
