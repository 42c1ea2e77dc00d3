package nn

import (
	"fmt"
	"io"

	"github.com/sanflow/sanflow/nn/internal/kernel"
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
	if !kernel.Finite(kernel.Squares(c.work.w)) {
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

// onnx exports the lookup of discrete values as Gather and ReduceSum, over the
// table with a row of zeros behind it, which is where -1 leads. prefix tells the
// inputs of edges from those of nodes.
// onnx exports a convolution; ONNX has channels before steps.
