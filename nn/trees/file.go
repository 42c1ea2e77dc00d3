package trees

import (
	"fmt"
	"io"
	"math"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

const kind = "trees"

func init() { modelfile.Register(kind, (*Model).restore) }

// Save writes the trees, one after the other, with n nodes of which l are leaves:
//
//	base (outputs)  float64: the answer without trees
//	ids (i)         of the counts that splits ask for, ascending
//	split (n)       column<<32 | child<<1 | missing, 0 of a leaf: columns are those of the shape, then ids; the children are
//	                two nodes that follow each other, numbered from the root; missing = 1: missing values go left
//	x (n)           float64: the largest value that goes left, or the output of a leaf
//	cover (l)       training rows of the leaves
func (m *Model) Save(w io.Writer) error {
	if !m.Trained() {
		return nn.ErrUntrained
	}
	var split, cover []uint64
	var x []float64
	for _, n := range m.nodes {
		s := uint64(n.column)<<32 | uint64(n.child)<<1
		if n.missing {
			s |= 1
		}
		if split, x = append(split, s), append(x, n.x); n.child == 0 {
			cover = append(cover, uint64(n.cover))
		}
	}
	f := &modelfile.File{Kind: kind, Info: m.info, Tensors: []modelfile.Tensor{modelfile.Vector("base", m.base)}}
	if len(m.nodes) > 0 {
		f.Tensors = append(f.Tensors, modelfile.Vector("split", split), modelfile.Vector("x", x), modelfile.Vector("cover", cover))
	}
	if len(m.ids) > 0 {
		f.Tensors = append(f.Tensors, modelfile.Vector("ids", m.ids))
	}
	return modelfile.Save(w, f, map[string]any{modelfile.Shape: m.shape, modelfile.Settings: m})
}

func (m *Model) restore(f *modelfile.File) error {
	next := Model{info: f.Info}
	if err := f.Open(kind, &next); err != nil {
		return err
	}
	var shape nn.Shape
	if err := f.Get(modelfile.Shape, &shape); err != nil {
		return err
	}
	if err := next.Init(shape); err != nil {
		return err
	}
	if err := next.shape.Check(shape); err != nil {
		return fmt.Errorf("shape: %w", err)
	}
	t := map[string]modelfile.Tensor{}
	for _, one := range f.Tensors {
		t[one.Name] = one
	}
	if next.base, next.ids = t["base"].F64, t["ids"].U64; len(next.base) != outputs(shape) {
		return fmt.Errorf("base has %d outputs, want %d", len(next.base), outputs(shape))
	}
	for _, x := range next.base {
		if math.Abs(x) > math.MaxFloat32 {
			return fmt.Errorf("base has the output %v", x)
		}
	}
	for i, id := range next.ids {
		if i > 0 && id <= next.ids[i-1] {
			return fmt.Errorf("id %d is not above the one before", i)
		}
	}
	if err := next.restoreNodes(t["split"].U64, t["x"].F64, t["cover"].U64); err != nil {
		return err
	}
	settings, err := next.resolved()
	if err != nil {
		return err
	}
	if n := len(next.at) - 1; n%len(next.base) > 0 || n > settings.Trees*len(next.base) {
		return fmt.Errorf("there are %d trees, of at most %d for each of %d outputs", n, settings.Trees, len(next.base))
	}
	*m = next
	return nil
}

// restoreNodes sets the trees. Each node but a root is the child of one before, so that every path ends.
func (m *Model) restoreNodes(split []uint64, x []float64, cover []uint64) error {
	if len(x) != len(split) || len(x) > mostNodes {
		return fmt.Errorf("there are %d splits with %d values", len(split), len(x))
	}
	m.at, m.nodes = []int{0}, make([]node, len(split))
	depth := make([]int, len(split)) // of nodes that have a parent
	columns, root, rest := len(m.shape.Columns)+len(m.ids), 0, 1
	for i, s := range split {
		n := node{x: x[i], column: int32(s >> 32), child: int32(s << 32 >> 33), missing: s&1 > 0}
		child := root + int(n.child)
		switch {
		case i > root && depth[i] == 0 || depth[i] > mostDepth:
			return fmt.Errorf("node %d has no parent, or is too deep", i)
		case s == 0 && (len(cover) == 0 || cover[0] < 1 || cover[0] > mostRows || math.Abs(n.x) > math.MaxFloat32):
			return fmt.Errorf("leaf %d has no training rows, or the output %v", i, n.x)
		case s == 0:
			n.cover, cover, rest = float64(cover[0]), cover[1:], rest-1
		case int64(s>>32) >= int64(columns) || child <= i || child+1 >= len(split) || depth[child] > 0 || depth[child+1] > 0:
			return fmt.Errorf("node %d asks column %d of %d, and its children are node %d and the next", i, s>>32, columns, child)
		default:
			depth[child], depth[child+1], rest = depth[i]+1, depth[i]+1, rest+1
		}
		if m.nodes[i] = n; rest == 0 {
			m.at, root, rest = append(m.at, i+1), i+1, 1
		}
	}
	if root != len(split) || len(cover) > 0 {
		return fmt.Errorf("the last tree ends at node %d of %d, and %d rows have no leaf", root, len(split), len(cover))
	}
	for t := range len(m.at) - 1 {
		tree := m.nodes[m.at[t]:m.at[t+1]]
		for i := len(tree) - 1; i >= 0; i-- {
			if n := &tree[i]; n.child > 0 {
				n.cover = tree[n.child].cover + tree[n.child+1].cover
			}
		}
	}
	return nil
}
