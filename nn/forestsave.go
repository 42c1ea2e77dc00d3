package nn

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

const forestKind = "forest"

// savedForest is what a file says of a forest beside its tensors.
type savedForest struct {
	Trees int    `json:"trees"`
	Width int    `json:"width"`
	Leaf  int    `json:"leaf"`
	Seed  uint64 `json:"seed"`
}

// Save writes the columns and the trees:
//
//	columns.id (c)  columns.level (c)
//	trees.at (Trees+1)                the nodes of tree t: at[t] to at[t+1]
//	nodes.fork (n)                    column<<32 | the node after a yes; the column of a leaf is 2³²-1
//	nodes.shares (n, classes)         of the rows of a node
func (m *Forest) Save(w io.Writer) error {
	if !m.Trained() {
		return ErrUntrained
	}
	var id, level, at, forks []uint64
	for _, k := range m.columns {
		id, level = append(id, k.id), append(level, uint64(k.level))
	}
	for _, x := range m.at {
		at = append(at, uint64(x))
	}
	for _, x := range m.nodes {
		forks = append(forks, uint64(x.column)<<32|uint64(x.yes))
	}
	f := &modelfile.File{Kind: forestKind, Info: m.info, Tensors: []modelfile.Tensor{
		modelfile.Vector("trees.at", at), modelfile.Vector("nodes.fork", forks),
		{Name: "nodes.shares", Shape: []int{len(m.nodes), m.shape.Classes}, F32: m.shares},
	}}
	if len(m.columns) > 0 {
		f.Tensors = append(f.Tensors, modelfile.Vector("columns.id", id), modelfile.Vector("columns.level", level))
	}
	return modelfile.Save(w, f, map[string]any{
		modelfile.Shape: m.shape, modelfile.Settings: savedForest{m.Trees, forestWidth, leafRows, m.Seed},
	})
}

func (m *Forest) restore(f *modelfile.File) error {
	var saved savedForest
	if err := f.Open(forestKind, &saved); err != nil {
		return err
	}
	var shape Shape
	if err := f.Get(modelfile.Shape, &shape); err != nil {
		return err
	}
	next := Forest{Trees: saved.Trees, Seed: saved.Seed, Workers: m.Workers, info: f.Info}
	if err := next.Init(shape); err != nil {
		return err
	}
	if got := (savedForest{next.Trees, forestWidth, leafRows, next.Seed}); got != saved {
		return fmt.Errorf("settings: %+v, want %+v", saved, got)
	}
	t := map[string]modelfile.Tensor{}
	for _, one := range f.Tensors {
		t[one.Name] = one
	}
	if err := next.restoreColumns(t["columns.id"].U64, t["columns.level"].U64); err != nil {
		return err
	}
	if err := next.restoreTrees(t["trees.at"].U64, t["nodes.fork"].U64); err != nil {
		return err
	}
	shares := t["nodes.shares"]
	if !slices.Equal(shares.Shape, []int{len(next.nodes), shape.Classes}) {
		return fmt.Errorf("nodes.shares are %v, want %d nodes and %d classes", shares.Shape, len(next.nodes), shape.Classes)
	}
	for i, p := range shares.F32 {
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf("node %d has a share of %v", i/shape.Classes, p)
		}
	}
	next.shares = shares.F32
	*m = next
	return nil
}

func (m *Forest) restoreColumns(id, level []uint64) error {
	if len(id) != len(level) || len(id) > forestWidth {
		return fmt.Errorf("%d ids and %d levels of columns, want at most %d", len(id), len(level), forestWidth)
	}
	for i := range id {
		k := column{id[i], int(min(level[i], maxLevels+1))}
		if k.level < 1 || k.level > maxLevels || i > 0 && compareColumns(m.columns[i-1], k) >= 0 {
			return fmt.Errorf("column %d is level %d of %#x, want columns that ascend", i, level[i], id[i])
		}
		m.columns = append(m.columns, k)
	}
	return nil
}

// restoreTrees reads the nodes. Each path leads to later nodes of its tree, so that each ends.
func (m *Forest) restoreTrees(at, forks []uint64) error {
	if len(at) != m.Trees+1 || at[0] != 0 || at[m.Trees] != uint64(len(forks)) {
		return fmt.Errorf("%d ends of %d trees with %d nodes", len(at), m.Trees, len(forks))
	}
	for i, x := range forks {
		m.nodes = append(m.nodes, fork{uint32(x >> 32), uint32(x & math.MaxUint32)})
		if x := m.nodes[i]; x.column != leaf && int(x.column) >= len(m.columns) || x.column == leaf && x.yes != 0 {
			return fmt.Errorf("node %d asks column %d of %d", i, x.column, len(m.columns))
		}
	}
	m.at = []int{0}
	for t, end := range at[1:] {
		from := m.at[t]
		if end <= uint64(from) || end > uint64(len(forks)) {
			return fmt.Errorf("tree %d ends at node %d of %d, and begins at %d", t, end, len(forks), from)
		}
		n := int(end) - from
		for i, x := range m.nodes[from:end] {
			if x.column != leaf && (int(x.yes) <= i+1 || int(x.yes) >= n) {
				return fmt.Errorf("node %d of tree %d leads to node %d of %d", i, t, x.yes, n)
			}
		}
		m.at = append(m.at, int(end))
	}
	return nil
}
