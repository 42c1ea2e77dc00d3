package nn

import (
	"fmt"
	"math"

	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

// A row of the table of a Logistic that no id has used is 0. A file has the other rows alone, and their
// numbers in a second tensor. It has the whole table if that is shorter, or if a short file would take
// much memory.
const (
	tableName = "table"
	rowsName  = "table.rows"

	// A table has at most unpacked weights, and ratio more for each weight in its file. This bounds the
	// memory that a short file can demand.
	unpacked = 1 << 22
	ratio    = 16
)

// packed returns the tensors of a model as a file has them.
func packed(list []modelfile.Tensor) []modelfile.Tensor {
	if len(list) == 0 || list[0].Name != tableName {
		return list
	}
	t := list[0]
	units := t.Shape[1]
	var rows []uint64
	var kept []float32
	for r := range t.Shape[0] {
		row := t.F32[r*units : (r+1)*units]
		for _, x := range row {
			if math.Float32bits(x) != 0 {
				rows, kept = append(rows, uint64(r)), append(kept, row...)
				break
			}
		}
	}
	if len(rows) == 0 || len(kept)+2*len(rows) >= len(t.F32) || len(t.F32) > unpacked+ratio*len(kept) {
		return list
	}
	t.Shape, t.F32 = []int{len(rows), units}, kept
	return append([]modelfile.Tensor{t, modelfile.Vector(rowsName, rows)}, list[1:]...)
}

// unpack returns the tensors of a file in the form of want, the tensors of the model, which have no values
// yet.
func unpack(list, want []modelfile.Tensor) ([]modelfile.Tensor, error) {
	if len(list) < 2 || len(want) == 0 || want[0].Name != tableName || list[1].Name != rowsName {
		return list, nil
	}
	t, rows := list[0], list[1].U64
	width, units := want[0].Shape[0], want[0].Shape[1]
	if err := t.Fits(modelfile.Tensor{Name: tableName, Shape: []int{len(rows), units}, F32: []float32{}}); err != nil {
		return nil, err
	}
	if width*units > unpacked+ratio*len(t.F32) {
		return nil, fmt.Errorf("a table of %d × %d weights has %d rows in the file, want more", width, units, len(rows))
	}
	all := make([]float32, width*units)
	for i, r := range rows {
		if r >= uint64(width) || i > 0 && r <= rows[i-1] {
			return nil, fmt.Errorf("row %d of the table is %d, want ascending numbers below %d", i, r, width)
		}
		copy(all[int(r)*units:], t.F32[i*units:(i+1)*units])
	}
	t.Shape, t.F32 = want[0].Shape, all
	return append([]modelfile.Tensor{t}, list[2:]...), nil
}
