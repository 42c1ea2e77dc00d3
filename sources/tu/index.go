package tu

import (
	"fmt"
	"io"
	"math"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// index maps nodes to graphs. Nodes are numbered from 0 in file order. Slots number the nodes graph by graph:
// graph g has the slots start[g] … start[g+1]-1, in file order. If the file lists nodes graph by graph, as is
// usual, slot v is node v, and slot is nil.
type index struct {
	graphOf []int32
	start   []int32 // length graphs+1
	slot    []int32
}

func (x *index) nodes() int { return len(x.graphOf) }

// local returns the number of node v within its graph.
func (x *index) local(v int32) int32 {
	first := x.start[x.graphOf[v]]
	if x.slot != nil {
		v = x.slot[v]
	}
	return v - first
}

// readIndex reads the graph indicator. The number of targets bounds the graph numbers.
func readIndex(f *reading.Folder, targets *targets) (*index, error) {
	l, err := f.Must(indicatorFile)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	graphs := targets.len()
	if err := l.Take(4 * int64(graphs+1)); err != nil {
		return nil, err
	}
	x := &index{start: make([]int32, graphs+1)}
	last, grouped := int32(0), true
	for {
		line, err := l.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		id, ok := reading.Integer(line)
		switch {
		case !ok:
			return nil, l.Errorf("%s, want the number of a graph", reading.Quote(line))
		case id < 1 || id > int64(graphs):
			return nil, l.Errorf("graph %d, want 1 to %d, the lines of %s", id, graphs, targets.file)
		case len(x.graphOf) == math.MaxInt32-1:
			return nil, l.Errorf("more than %d nodes", math.MaxInt32-1)
		}
		g := int32(id - 1)
		grouped = grouped && g >= last
		last = g
		if x.graphOf, err = reading.Push(l, x.graphOf, g); err != nil {
			return nil, err
		}
		x.start[id]++
	}
	if x.start[graphs] == 0 {
		return nil, &reading.FileError{File: targets.file, Line: 0, Err: fmt.Errorf("%d graphs, but the last has no node in %s", graphs, l.File)}
	}
	for g := range graphs {
		x.start[g+1] += x.start[g]
	}
	if !grouped {
		x.slot, err = places(l, x.start, x.nodes(), func(v int) int32 { return x.graphOf[v] })
	}
	return x, err
}
