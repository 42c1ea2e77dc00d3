package nn

import "io"

// ExportONNX writes the model as ONNX, like nn.ExportONNX. No operator of ONNX
// hashes ids, so the inputs are what ids and counts have become, which Entries
// returns, of any number B of rows and n of entries:
//
//	rows    (B, n) int32     rows of the table
//	levels  (B, n) float32   by how much each counts; 0 where there is none
//
// The table is the mean of the heads.
func (m *Logistic) ExportONNX(w io.Writer) error { return export(w, m) }

// Entries returns what the model makes of some counts, as an exported one reads
// them: rows of the table and levels, (B, n) row-major, where n is that of the
// longest row and shorter ones end in zeros. It is at least 1.
func (m *Logistic) Entries(c *Counts) (rows []int32, levels []float32, n int, err error) {
	if m.core == nil {
		return nil, nil, 0, ErrNotReady
	}
	if err := c.Check(); err != nil {
		return nil, nil, 0, err
	}
	l := &logisticLayer{table: &weight{shape: []int{m.Width}}, kernel: m.Kernel, models: 1}
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

func (l *logisticLayer) onnx(g *onnxGraph) string {
	g.input("rows", onnxInt32, []int{-1, -2})
	g.input("levels", onnxFloat, []int{-1, -2})
	width, units := l.table.shape[0], l.width()/l.models
	table := g.floats("table", []int{width, units}, l.mean(l.table.w, units))
	// (B, 1, n) levels times (B, n, units) weights.
	levels := g.node("Unsqueeze", []string{"levels", g.int64s([]int64{1})})
	found := g.node("Gather", []string{table, "rows"}, onnxInt("axis", 0))
	y := g.reshape(g.node("MatMul", []string{levels, found}), units)
	return g.node("Add", []string{y, g.floats("bias", []int{units}, l.mean(l.bias.w, units))})
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
