package layer

import (
	"slices"

	"github.com/sanflow/sanflow/nn/internal/onnx"
)

// onnxWeight adds a weight to a graph.
func onnxWeight(g *onnx.Graph, w *Weight) string { return g.Floats(w.Name, w.Shape, w.W) }
func (l *Tower) Onnx(g *onnx.Graph, prefix string) string {
	return g.Reshape(l.conv2.onnx(g, l.Conv1.Onnx(g, prefix)), l.Size())
}

func (l *Merge) Onnx(g *onnx.Graph, a, b string) string {
	if l.sum {
		return g.Node("Add", []string{a, b})
	}
	return g.Node("Concat", []string{a, b}, onnx.Int("axis", -1))
}

func (l *Reader) Onnx(g *onnx.Graph) string {
	y := l.conv1.Onnx(g, "")
	if l.edges == nil {
		return y
	}
	return l.merge.Onnx(g, y, l.edges.Onnx(g, "edge_"))
}

func (l *FieldConv) Onnx(g *onnx.Graph, prefix string) string {
	// The data come as (w, k, ·) or (w, k, k, ·) of each graph.
	w, cells := l.W, []int{l.N}
	if l.Fields > 0 { // PSLR has put them together
		w, cells = l.Fields, []int{l.N / l.Fields}
	}
	if l.Side > 0 {
		cells = []int{l.Side, l.Side}
	}
	dims := func(channels int) []int {
		return append(append([]int{-1, w}, cells...), channels)
	}
	var parts []string
	if l.Table != nil {
		name, d, rows := prefix+"cats", len(l.Cats), l.N*l.Total
		g.Input(name, onnx.Int32Type, dims(d))
		var first []int32
		for cell := range l.N {
			at := cell * l.Total
			for _, n := range l.Cats {
				first = append(first, int32(at))
				at += n
			}
		}
		v := g.Reshape(name, l.W, l.N*d)
		at := g.Node("Add", []string{v, g.Int32s(prefix+"first", []int{l.N * d}, first)})
		none := g.Node("Less", []string{v, g.Int32s(prefix+"zero", []int{1}, []int32{0})})
		at = g.Node("Where", []string{none, g.Int32s(prefix+"none", []int{1}, []int32{int32(rows)}), at})
		table := append(slices.Clone(l.Table.W), make([]float32, l.Maps)...)
		found := g.Node("Gather", []string{g.Floats(l.Table.Name, []int{rows + 1, l.Maps}, table), at}, onnx.Int("axis", 0))
		parts = append(parts, g.Node("ReduceSum", []string{found, g.Int64s([]int64{2})}, onnx.Int("keepdims", 0)))
	}
	if l.Dense != nil {
		name, n := prefix+"attrs", l.N*l.Attrs
		g.Input(name, onnx.FloatType, dims(l.Attrs))
		x := g.Reshape(name, l.W, n)
		parts = append(parts, g.Node("MatMul", []string{x, g.Floats(l.Dense.Name, []int{n, l.Maps}, l.Dense.W)}))
	}
	y := parts[0]
	for _, p := range append(parts[1:], onnxWeight(g, l.Bias)) {
		y = g.Node("Add", []string{y, p})
	}
	return l.act.onnx(g, y)
}

func (l *conv1D) onnx(g *onnx.Graph, x string) string {
	k := l.size * l.in
	filters := make([]float32, len(l.weight.W)) // (maps, in, size)
	for j := range l.size {
		for c := range l.in {
			for o := range l.maps {
				filters[o*k+c*l.size+j] = l.weight.W[(j*l.in+c)*l.maps+o]
			}
		}
	}
	x = g.Node("Transpose", []string{x}, onnx.Ints("perm", 0, 2, 1))
	y := g.Node("Conv", []string{x, g.Floats(l.weight.Name, []int{l.maps, l.in, l.size}, filters), onnxWeight(g, l.bias)},
		onnx.Ints("kernel_shape", l.size))
	return l.act.onnx(g, g.Node("Transpose", []string{y}, onnx.Ints("perm", 0, 2, 1)))
}

func (l *Dense) Onnx(g *onnx.Graph, x string) string {
	y := g.Node("MatMul", []string{x, onnxWeight(g, l.weight)})
	return l.act.onnx(g, g.Node("Add", []string{y, onnxWeight(g, l.Bias)}))
}

func (a Activation) onnx(g *onnx.Graph, x string) string {
	switch a {
	case ReLU:
		return g.Node("Relu", []string{x})
	case Tanh:
		return g.Node("Tanh", []string{x})
	case Sigmoid:
		return g.Node("Sigmoid", []string{x})
	}
	return x
}
