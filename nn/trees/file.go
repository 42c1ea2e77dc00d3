package trees

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

const kind = "trees"

func init() { modelfile.Register(kind, (*Model).restore) }

// Save writes the trees, one after the other. They have n nodes, l of which are leaves:
//
//	base (outputs)  float64: the prediction without trees
//	ids (i)         of the counts that splits use, ascending
//	split (n)       (column+1)<<1 | missing, 0 for a leaf. Columns are those of the shape, then ids. With missing = 1,
//	                missing values go left. After a split are the nodes of its left side, then those of the right side.
//	x (n)           float64: the largest value that goes left, or the output of a leaf
//	cover (l)       training rows of the leaves
func (m *Model) Save(w io.Writer) error {
	if !m.Trained() {
		return nn.ErrUntrained
	}
	var split, cover []uint64
	var x []float64
	for _, n := range m.nodes {
		s := uint64(0)
		if n.right == 0 {
			cover = append(cover, uint64(n.cover))
		} else if s = uint64(n.column+1) << 1; n.missing {
			s |= 1
		}
		split, x = append(split, s), append(x, n.x)
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
	r := restorer{&next, t["split"].U64, t["x"].F64, t["cover"].U64}
	if len(r.x) != len(r.split) || len(r.x) > mostNodes {
		return fmt.Errorf("there are %d splits with %d values", len(r.split), len(r.x))
	}
	for next.at = []int{0}; len(r.split) > 0; next.at = append(next.at, len(next.nodes)) {
		if _, err := r.add(len(next.nodes), 0); err != nil {
			return fmt.Errorf("node %d: %w", len(next.nodes)-1, err)
		}
	}
	settings, err := next.resolved()
	if err != nil {
		return err
	}
	if n := len(next.at) - 1; len(r.cover) > 0 || n%len(next.base) > 0 || n > settings.Trees*len(next.base) {
		return fmt.Errorf("there are %d trees, of at most %d for each of %d outputs, and %d rows have no leaf", n, settings.Trees, len(next.base), len(r.cover))
	}
	*m = next
	return nil
}

// restorer holds the nodes that are not in the model yet.
type restorer struct {
	*Model
	split []uint64
	x     []float64
	cover []uint64
}

// add adds a node and its descendants to the tree that begins at root. It returns the training rows of the
// node.
func (r *restorer) add(root, depth int) (cover float64, err error) {
	if len(r.split) == 0 {
		return 0, errors.New("a child is missing")
	}
	s, i := r.split[0], len(r.nodes)
	n := node{x: r.x[0], column: int32(s>>1) - 1, missing: s&1 > 0}
	r.nodes, r.split, r.x = append(r.nodes, n), r.split[1:], r.x[1:]
	switch {
	case s == 0 && (len(r.cover) == 0 || r.cover[0] < 1 || r.cover[0] > mostRows || math.Abs(n.x) > math.MaxFloat32):
		return 0, fmt.Errorf("the leaf has no training rows, or the output %v", n.x)
	case s == 0:
		n.column, n.cover, r.cover = 0, float64(r.cover[0]), r.cover[1:]
	case s>>1 == 0 || s>>1 > uint64(len(r.shape.Columns)+len(r.ids)) || depth == mostDepth:
		return 0, fmt.Errorf("the split, at depth %d, is %#x", depth, s)
	default:
		if n.cover, err = r.add(root, depth+1); err != nil {
			return 0, err
		}
		n.right = int32(len(r.nodes) - root)
		if cover, err = r.add(root, depth+1); err != nil {
			return 0, err
		}
		n.cover += cover
	}
	r.nodes[i] = n
	return n.cover, nil
}
