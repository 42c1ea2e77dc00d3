package nn

import (
	"fmt"
	"io"

	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/onnx"
)

// Exporter is a CNN, PSLR, GRU or Logistic.
type Exporter interface {
	// ExportONNX writes the trained model as ONNX, operator set 13. Inputs are tensors of a Batch
	// of any number B of rows:
	//
	//	cats        (B, w, k, d_v) int32     edge_cats   (B, w, k, k, d_e) int32
	//	attrs       (B, w, k, c_v) float32   edge_attrs  (B, w, k, k, c_e) float32
	//
	// The output is as from Predict: probabilities (B, classes) or value (B, 1). Info becomes
	// metadata. A sparse channel is an error. Some runtimes ignore discrete values out of range.
	ExportONNX(w io.Writer) error
}

func (c *CNN) ExportONNX(w io.Writer) error { return export(w, c) }

func (m *PSLR) ExportONNX(w io.Writer) error { return export(w, m) }

func (m *GRU) ExportONNX(w io.Writer) error { return export(w, m) }

func export(w io.Writer, m architecture) error {
	set := m.settings()
	c := *set.learner
	if !c.ready() {
		return ErrNotReady
	}
	if !c.Trained() {
		return ErrUntrained
	}
	layers := c.work.body.(onnxBody)
	if c.shape.Sparse > 0 {
		return fmt.Errorf("nn: onnx: a network that reads a sparse channel cannot be exported")
	}
	if !kernel.Finite(kernel.Squares(c.work.W)) {
		return fmt.Errorf("nn: onnx: a weight is not finite or too large")
	}
	g := new(onnx.Graph)
	y := layers.onnx(g)
	if c.work.out != nil {
		y = c.work.out.Onnx(g, y)
	}
	finish(g, c.loss, y, c.shape, c.unit)
	_, err := w.Write(g.Model(set.name, *set.info))
	return err
}

// onnxBody is a body that can be exported.
type onnxBody interface {
	// onnx adds the layers to a graph, and returns the name of the features.
	onnx(g *onnx.Graph) string
}

// finish turns the outputs into what Predict returns.
func finish(g *onnx.Graph, loss Loss, y string, s Shape, u unit) {
	switch loss {
	case CrossEntropy:
		g.NodeTo("probabilities", "Softmax", []string{y}, onnx.Int("axis", -1))
	case BinaryCrossEntropy:
		p := g.Node("Sigmoid", []string{y})
		q := g.Node("Sub", []string{g.Floats("one", []int{1}, []float32{1}), p})
		g.NodeTo("probabilities", "Concat", []string{q, p}, onnx.Int("axis", -1))
	default:
		y = g.Node("Mul", []string{y, g.Floats("deviation", []int{1}, []float32{u.size()})})
		g.NodeTo("value", "Add", []string{y, g.Floats("mean", []int{1}, []float32{u.Mean})})
		g.Output("value", []int{-1, 1})
		return
	}
	g.Output("probabilities", []int{-1, s.Classes})
}

func (l *cnnLayers) onnx(g *onnx.Graph) string {
	y := l.nodes.Onnx(g, "")
	if l.edges != nil {
		y = l.merge.Onnx(g, y, l.edges.Onnx(g, "edge_"))
	}
	return l.hidden.Onnx(g, y)
}

func (l *pslrLayers) onnx(g *onnx.Graph) string {
	return g.Reshape(l.fields.Onnx(g), l.width())
}

// onnx exports a GRU in the form of linear_before_reset, which is that of
// layer.GRULayer; ONNX has the gates in the order z, r, c, and steps before rows.
func (l *gruLayers) onnx(g *onnx.Graph) string {
	u := l.gru.Units
	order := []int{1, 0, 2}
	gates := func(w *layer.Weight, in int) []float32 { // (in, 3·units) to (3, units, in)
		var x []float32
		for _, gate := range order {
			for j := range u {
				for i := range in {
					x = append(x, w.W[i*3*u+gate*u+j])
				}
			}
		}
		return x
	}
	bias := append(gates(l.gru.Bias, 1), make([]float32, 2*u)...)
	bias = append(bias, l.gru.Inside.W...)
	states, last := g.Name("GRU"), g.Name("GRU")
	g.Add("GRU", []string{
		g.Node("Transpose", []string{l.fields.Onnx(g)}, onnx.Ints("perm", 1, 0, 2)),
		g.Floats("gru.W", []int{1, 3 * u, l.gru.In}, gates(l.gru.Input, l.gru.In)),
		g.Floats("gru.R", []int{1, 3 * u, u}, gates(l.gru.State, u)),
		g.Floats("gru.B", []int{1, 6 * u}, bias),
	}, []string{states, last}, onnx.Int("hidden_size", u), onnx.Int("linear_before_reset", 1))
	if !l.mean {
		return g.Reshape(last, u)
	}
	return g.Reshape(g.Node("ReduceMean", []string{states}, onnx.Ints("axes", 0), onnx.Int("keepdims", 0)), u)
}

// onnx exports the lookup of discrete values as Gather and ReduceSum, over the
// table with a row of zeros behind it, which is where -1 leads. prefix tells the
// inputs of edges from those of nodes.
// onnx exports a convolution; ONNX has channels before steps.

// ExportONNX writes the model, with the mean of the heads. ONNX cannot hash ids, so its inputs
// are the results of Entries, of int32 and float32.
func (m *Logistic) ExportONNX(w io.Writer) error { return export(w, m) }

// Entries returns the inputs of an exported model: table rows and levels, (B, n) row-major,
// padded with zeros to the longest row; n is at least 1.
func (m *Logistic) Entries(c *Counts) (rows []int32, levels []float32, n int, err error) {
	if !m.ready() {
		return nil, nil, 0, ErrNotReady
	}
	if err := c.Check(); err != nil {
		return nil, nil, 0, err
	}
	l := &logisticLayer{table: &layer.Weight{Shape: []int{m.Width}}, kernel: m.Kernel, models: 1}
	if err := l.hash(batch{rows: c.Len(), counts: c}); err != nil {
		return nil, nil, 0, err
	}
	n, from := 1, 0
	for _, end := range l.ends {
		n, from = max(n, end-from), end
	}
	rows, levels = make([]int32, len(l.ends)*n), make([]float32, len(l.ends)*n)
	from = 0
	for i, end := range l.ends {
		copy(rows[i*n:], l.at[from:end])
		copy(levels[i*n:], l.x[from:end])
		from = end
	}
	return rows, levels, n, nil
}

func (l *logisticLayer) onnx(g *onnx.Graph) string {
	g.Input("rows", onnx.Int32Type, []int{-1, -2})
	g.Input("levels", onnx.FloatType, []int{-1, -2})
	width, units := l.table.Shape[0], l.width()/l.models
	table := g.Floats("table", []int{width, units}, l.mean(l.table.W, units))
	// (B, 1, n) levels times (B, n, units) weights.
	levels := g.Node("Unsqueeze", []string{"levels", g.Int64s([]int64{1})})
	found := g.Node("Gather", []string{table, "rows"}, onnx.Int("axis", 0))
	y := g.Reshape(g.Node("MatMul", []string{levels, found}), units)
	return g.Node("Add", []string{y, g.Floats("bias", []int{units}, l.mean(l.bias.W, units))})
}

// mean returns the mean over the heads of weights that stand side by side.
func (l *logisticLayer) mean(w []float32, units int) []float32 {
	y := make([]float32, 0, len(w)/l.models)
	for ; len(w) > 0; w = w[l.models*units:] {
		for c := range units {
			sum := float32(0)
			for h := range l.models {
				sum += w[h*units+c]
			}
			y = append(y, sum/float32(l.models))
		}
	}
	return y
}
