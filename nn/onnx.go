package nn

import (
	"fmt"
	"io"
	"slices"
)

// ExportONNX writes the network as an ONNX model of operator set 13, which other
// runtimes predict with. Its inputs are the tensors of a Batch, of any number B
// of rows, those that the shape has:
//
//	cats        (B, w, k, d_v) int32     edge_cats   (B, w, k, k, d_e) int32
//	attrs       (B, w, k, c_v) float32   edge_attrs  (B, w, k, k, c_e) float32
//
// Its output is what Predict returns: probabilities (B, classes), or value (B,
// 1) where numbers are learned. Info goes along as metadata. CNN, PSLR and GRU
// can be exported, and Logistic, whose inputs its own ExportONNX tells; a sparse
// channel, whose lists have no fixed length, cannot. A discrete value that its
// channel does not have is not noticed by every runtime.
func ExportONNX(w io.Writer, m Exporter) error { return m.ExportONNX(w) }

// Exporter is a model that can be exported: CNN, PSLR, GRU and Logistic, and a model of
// your own that has this method.
type Exporter interface {
	// ExportONNX writes the model as package function ExportONNX says.
	ExportONNX(w io.Writer) error
}

// ExportONNX is nn.ExportONNX.
func (c *CNN) ExportONNX(w io.Writer) error { return export(w, c) }

// ExportONNX is nn.ExportONNX.
func (m *PSLR) ExportONNX(w io.Writer) error { return export(w, m) }

// ExportONNX is nn.ExportONNX.
func (m *GRU) ExportONNX(w io.Writer) error { return export(w, m) }

func export(w io.Writer, m architecture) error {
	set := m.settings()
	c := *set.core
	if c == nil {
		return ErrNotReady
	}
	if !c.Trained() {
		return ErrUntrained
	}
	layers := c.work.body.(onnxBody)
	if c.shape.Sparse > 0 {
		return fmt.Errorf("nn: onnx: a network that reads a sparse channel cannot be exported")
	}
	if !finite(squares(c.work.w)) {
		return fmt.Errorf("nn: onnx: a weight is not finite or too large")
	}
	g := new(onnxGraph)
	y := layers.onnx(g)
	if c.work.out != nil {
		y = c.work.out.onnx(g, y)
	}
	g.finish(c.loss, y, c.shape)
	_, err := w.Write(g.model(set.name, *set.info))
	return err
}

// onnxBody is a body that can be exported.
type onnxBody interface {
	// onnx adds the layers to a graph, and returns the name of the features.
	onnx(g *onnxGraph) string
}

// finish turns the outputs into what Predict returns.
func (g *onnxGraph) finish(loss Loss, y string, s Shape) {
	switch loss {
	case CrossEntropy:
		g.nodeTo("probabilities", "Softmax", []string{y}, onnxInt("axis", -1))
	case BinaryCrossEntropy:
		p := g.node("Sigmoid", []string{y})
		q := g.node("Sub", []string{g.floats("one", []int{1}, []float32{1}), p})
		g.nodeTo("probabilities", "Concat", []string{q, p}, onnxInt("axis", -1))
	default:
		g.nodeTo("value", "Identity", []string{y})
		g.output("value", []int{-1, 1})
		return
	}
	g.output("probabilities", []int{-1, s.Classes})
}

func (l *cnnLayers) onnx(g *onnxGraph) string {
	y := l.nodes.onnx(g, "")
	if l.edges != nil {
		y = l.merge.onnx(g, y, l.edges.onnx(g, "edge_"))
	}
	return l.hidden.onnx(g, y)
}

func (l *tower) onnx(g *onnxGraph, prefix string) string {
	return g.reshape(l.conv2.onnx(g, l.conv1.onnx(g, prefix)), l.size())
}

func (l *merge) onnx(g *onnxGraph, a, b string) string {
	if l.sum {
		return g.node("Add", []string{a, b})
	}
	return g.node("Concat", []string{a, b}, onnxInt("axis", -1))
}

func (l *pslrLayers) onnx(g *onnxGraph) string {
	y := l.nodes.onnx(g, "")
	if l.edges != nil {
		y = g.node("Add", []string{y, l.edges.onnx(g, "edge_")})
	}
	return g.reshape(y, l.width())
}

// onnx exports a GRU in the form of linear_before_reset, which is that of
// gruLayer; ONNX has the gates in the order z, r, c, and steps before rows.
func (l *gruLayers) onnx(g *onnxGraph) string {
	u := l.gru.units
	order := []int{1, 0, 2}
	gates := func(w *weight, in int) []float32 { // (in, 3·units) to (3, units, in)
		var x []float32
		for _, gate := range order {
			for j := range u {
				for i := range in {
					x = append(x, w.w[i*3*u+gate*u+j])
				}
			}
		}
		return x
	}
	bias := append(gates(l.gru.bias, 1), make([]float32, 2*u)...)
	bias = append(bias, l.gru.inside.w...)
	states, last := g.name("GRU"), g.name("GRU")
	g.add("GRU", []string{
		g.node("Transpose", []string{l.fields.onnx(g)}, onnxInts("perm", 1, 0, 2)),
		g.floats("gru.W", []int{1, 3 * u, l.gru.in}, gates(l.gru.input, l.gru.in)),
		g.floats("gru.R", []int{1, 3 * u, u}, gates(l.gru.state, u)),
		g.floats("gru.B", []int{1, 6 * u}, bias),
	}, []string{states, last}, onnxInt("hidden_size", u), onnxInt("linear_before_reset", 1))
	if !l.mean {
		return g.reshape(last, u)
	}
	return g.reshape(g.node("ReduceMean", []string{states}, onnxInts("axes", 0), onnxInt("keepdims", 0)), u)
}

func (l *reader) onnx(g *onnxGraph) string {
	y := l.conv1.onnx(g, "")
	if l.edges == nil {
		return y
	}
	return l.merge.onnx(g, y, l.edges.onnx(g, "edge_"))
}

// onnx exports the lookup of discrete values as Gather and ReduceSum, over the
// table with a row of zeros behind it, which is where -1 leads. prefix tells the
// inputs of edges from those of nodes.
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
	for _, p := range append(parts[1:], g.weight(l.bias)) {
		y = g.node("Add", []string{y, p})
	}
	return l.act.onnx(g, y)
}

// onnx exports a convolution; ONNX has channels before steps.
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
	y := g.node("Conv", []string{x, g.floats(l.weight.name, []int{l.maps, l.in, l.size}, filters), g.weight(l.bias)},
		onnxInts("kernel_shape", l.size))
	return l.act.onnx(g, g.node("Transpose", []string{y}, onnxInts("perm", 0, 2, 1)))
}

func (l *dense) onnx(g *onnxGraph, x string) string {
	y := g.node("MatMul", []string{x, g.weight(l.weight)})
	return l.act.onnx(g, g.node("Add", []string{y, g.weight(l.bias)}))
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
