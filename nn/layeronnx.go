package nn

import "slices"

// onnxWeight adds a weight to a graph.
func onnxWeight(g *onnxGraph, w *weight) string { return g.floats(w.name, w.shape, w.w) }
func (l *tower) onnx(g *onnxGraph, prefix string) string {
	return g.reshape(l.conv2.onnx(g, l.conv1.onnx(g, prefix)), l.size())
}

func (l *merge) onnx(g *onnxGraph, a, b string) string {
	if l.sum {
		return g.node("Add", []string{a, b})
	}
	return g.node("Concat", []string{a, b}, onnxInt("axis", -1))
}

func (l *reader) onnx(g *onnxGraph) string {
	y := l.conv1.onnx(g, "")
	if l.edges == nil {
		return y
	}
	return l.merge.onnx(g, y, l.edges.onnx(g, "edge_"))
}

func (l *fieldConv) onnx(g *onnxGraph, prefix string) string {
	// The data come as (w, k, ·) or (w, k, k, ·) of each graph.
	w, cells := l.w, []int{l.n}
	if l.fields > 0 { // PSLR has put them together
		w, cells = l.fields, []int{l.n / l.fields}
	}
	if l.side > 0 {
		cells = []int{l.side, l.side}
	}
	dims := func(channels int) []int {
		return append(append([]int{-1, w}, cells...), channels)
	}
	var parts []string
	if l.table != nil {
		name, d, rows := prefix+"cats", len(l.cats), l.n*l.total
		g.input(name, onnxInt32, dims(d))
		var first []int32
		for cell := range l.n {
			at := cell * l.total
			for _, n := range l.cats {
				first = append(first, int32(at))
				at += n
			}
		}
		v := g.reshape(name, l.w, l.n*d)
		at := g.node("Add", []string{v, g.int32s(prefix+"first", []int{l.n * d}, first)})
		none := g.node("Less", []string{v, g.int32s(prefix+"zero", []int{1}, []int32{0})})
		at = g.node("Where", []string{none, g.int32s(prefix+"none", []int{1}, []int32{int32(rows)}), at})
		table := append(slices.Clone(l.table.w), make([]float32, l.maps)...)
		found := g.node("Gather", []string{g.floats(l.table.name, []int{rows + 1, l.maps}, table), at}, onnxInt("axis", 0))
		parts = append(parts, g.node("ReduceSum", []string{found, g.int64s([]int64{2})}, onnxInt("keepdims", 0)))
	}
	if l.dense != nil {
		name, n := prefix+"attrs", l.n*l.attrs
		g.input(name, onnxFloat, dims(l.attrs))
		x := g.reshape(name, l.w, n)
		parts = append(parts, g.node("MatMul", []string{x, g.floats(l.dense.name, []int{n, l.maps}, l.dense.w)}))
	}
	y := parts[0]
	for _, p := range append(parts[1:], onnxWeight(g, l.bias)) {
		y = g.node("Add", []string{y, p})
	}
	return l.act.onnx(g, y)
}

func (l *conv1D) onnx(g *onnxGraph, x string) string {
	k := l.size * l.in
	filters := make([]float32, len(l.weight.w)) // (maps, in, size)
	for j := range l.size {
		for c := range l.in {
			for o := range l.maps {
				filters[o*k+c*l.size+j] = l.weight.w[(j*l.in+c)*l.maps+o]
			}
		}
	}
	x = g.node("Transpose", []string{x}, onnxInts("perm", 0, 2, 1))
	y := g.node("Conv", []string{x, g.floats(l.weight.name, []int{l.maps, l.in, l.size}, filters), onnxWeight(g, l.bias)},
		onnxInts("kernel_shape", l.size))
	return l.act.onnx(g, g.node("Transpose", []string{y}, onnxInts("perm", 0, 2, 1)))
}

func (l *dense) onnx(g *onnxGraph, x string) string {
	y := g.node("MatMul", []string{x, onnxWeight(g, l.weight)})
	return l.act.onnx(g, g.node("Add", []string{y, onnxWeight(g, l.bias)}))
}

func (a activation) onnx(g *onnxGraph, x string) string {
	switch a {
	case relu:
		return g.node("Relu", []string{x})
	case tanh:
		return g.node("Tanh", []string{x})
	case sigmoid:
		return g.node("Sigmoid", []string{x})
	}
	return x
}
