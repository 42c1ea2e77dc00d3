package nn

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

// A file of a Logistic is as large as the vocabulary asks, and the model is the same.
func TestTableFile(t *testing.T) {
	s := Shape{Counts: []string{"words"}, Classes: 3}
	m := Best()
	if err := m.Init(s); err != nil {
		t.Fatal(err)
	}
	batch := tensorsOf(s, randomBatch(s, 20, 1))
	if _, err := m.Step(batch); err != nil {
		t.Fatal(err)
	}
	want, err := m.Predict(batch, nil)
	if err != nil {
		t.Fatal(err)
	}
	var file, again bytes.Buffer
	if err := m.Save(&file); err != nil {
		t.Fatal(err)
	}
	whole := 4 * len(m.work.W)
	ids := map[uint64]bool{}
	for _, id := range batch.Counts.IDs {
		ids[id] = true
	}
	levels := 0
	for _, x := range batch.Counts.Values {
		levels = max(levels, int(x))
	}
	if most := 4096 + len(ids)*(levels+1)*(4*30+8); file.Len() > most || file.Len() > whole/100 {
		t.Errorf("%d bytes for %d words, want at most %d; the table has %d", file.Len(), len(ids), most, whole)
	}
	loaded, err := loadModel(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := loaded.Predict(batch, nil)
	if err != nil || !slices.Equal(got.Float32s(), want.Float32s()) || learnerOf(loaded).Hash() != m.Hash() {
		t.Errorf("loaded it says %v, want %v (%v)", got, want, err)
	}
	if err := loaded.(Saver).Save(&again); err != nil || !bytes.Equal(again.Bytes(), file.Bytes()) {
		t.Errorf("saved again it is another file (%v)", err)
	}
}

// Tables come back from files as they were, whatever rows are in use, and what is no
// table of a model is refused, before there is memory for it.
func TestUnpack(t *testing.T) {
	table := func(width, units int, rows ...int) modelfile.Tensor {
		t := modelfile.Tensor{Name: tableName, Shape: []int{width, units}, F32: make([]float32, width*units)}
		for i, r := range rows {
			t.F32[r*units+i%units] = float32(i + 1)
		}
		return t
	}
	bias := modelfile.Vector("bias", []float32{1, 2})
	for _, rows := range [][]int{nil, {0}, {99}, {0, 50, 99}, {1, 2, 3, 4, 5, 6, 7}} {
		want := []modelfile.Tensor{table(100, 2, rows...), bias}
		list := packed(want)
		if short := len(list) == 3; short != (len(rows) > 0) {
			t.Errorf("rows %v: %d tensors", rows, len(list))
		}
		got, err := unpack(list, []modelfile.Tensor{{Name: tableName, Shape: []int{100, 2}}, bias})
		if err != nil || len(got) != 2 || !slices.Equal(got[0].F32, want[0].F32) || !slices.Equal(got[0].Shape, want[0].Shape) || got[1].Name != "bias" {
			t.Errorf("rows %v: %v, %+v", rows, err, got)
		}
	}
	var full []int
	for r := range 90 {
		full = append(full, r)
	}
	if list := packed([]modelfile.Tensor{table(100, 2, full...), bias}); len(list) != 2 {
		t.Error("a table that is nearly full is not kept whole")
	}
	large := modelfile.Tensor{Name: tableName, Shape: []int{1 << 23, 1}, F32: make([]float32, 1<<23)}
	large.F32[5] = 1
	if list := packed([]modelfile.Tensor{large, bias}); len(list) != 2 {
		t.Error("a table that a short file may not stand for is not kept whole")
	}
	of := func(shape []int, x []float32, rows ...uint64) []modelfile.Tensor {
		return []modelfile.Tensor{{Name: tableName, Shape: shape, F32: x}, modelfile.Vector(rowsName, rows), bias}
	}
	want := []modelfile.Tensor{{Name: tableName, Shape: []int{100, 2}}, bias}
	for message, list := range map[string][]modelfile.Tensor{
		"row 0 of the table is 100": of([]int{1, 2}, []float32{1, 2}, 100),
		"row 1 of the table is 3":   of([]int{2, 2}, []float32{1, 2, 3, 4}, 3, 3),
		"want \"table\" [1 2]":      of([]int{2, 2}, []float32{1, 2, 3, 4}, 3),
		"a tensor is \"table\" [2]": of([]int{2}, []float32{1, 2}, 3),
	} {
		if _, err := unpack(list, want); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%v, want %s", err, message)
		}
	}
	if _, err := unpack(of([]int{1, 2}, []float32{1, 2}, 5), []modelfile.Tensor{{Name: tableName, Shape: []int{1 << 27, 2}}, bias}); err == nil || !strings.Contains(err.Error(), "want more") {
		t.Errorf("a large table of one row: %v", err)
	}
}
