package nn_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn"
)

// countsOf are rows of counts of which each has some of 8 words.
func countsOf(rows int) *nn.Counts {
	c := &nn.Counts{}
	for i := range uint64(rows) {
		c.Append([]uint64{i % 8, 8 + i%3}, []float64{1, float64(1 + i%2)})
	}
	return c
}

// Models of several targets answer side by side, in memory, as a clone and out of a file, which keeps the metadata of each.
func TestTargets(t *testing.T) {
	all := new(nn.Targets)
	batch := nn.Batch{Counts: countsOf(20)}
	var want [][]float32
	for i, classes := range []int{2, 3, 0} {
		m := &nn.Logistic{Width: 64}
		if err := m.Init(nn.Shape{Counts: []string{"words"}, Classes: classes}); err != nil {
			t.Fatal(err)
		}
		b := batch
		if classes == 0 {
			values := make([]float32, 20)
			for j := range values {
				values[j] = float32(j % 5)
			}
			b.Values = floats(values, 20)
		} else {
			class := make([]int32, 20)
			for j := range class {
				class[j] = int32((j + i) % classes)
			}
			b.Targets = ints(class, 20)
		}
		for range 5 {
			if _, err := m.Step(b); err != nil {
				t.Fatal(err)
			}
		}
		m.Metadata()["note"] = strings.Repeat("x", i)
		all.Nets = append(all.Nets, m)
		said, err := m.Predict(batch, nil)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, said.Float32s())
	}
	shape := nn.Shape{Counts: []string{"words"}, Targets: []int{2, 3, 0}}
	if got := all.Shape(); !reflect.DeepEqual(got, shape) || got.Width() != 6 {
		t.Fatalf("shape %+v of width %d, want %+v of 6", got, got.Width(), shape)
	}
	all.Metadata()["recipe"] = "none"
	var file bytes.Buffer
	if err := all.Save(&file); err != nil {
		t.Fatal(err)
	}
	loaded, err := nn.LoadPredictor(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]nn.Predictor{"model": all, "clone": all.Clone(), "file": loaded} {
		if err := p.Init(shape); err != nil || !p.Trained() {
			t.Fatal(name, err)
		}
		said, err := p.Predict(batch, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		for row := range 20 {
			side := slices.Concat(want[0][2*row:2*row+2], want[1][3*row:3*row+3], want[2][row:row+1])
			if got := said.Float32s()[6*row : 6*row+6]; !slices.Equal(got, side) {
				t.Fatalf("%s, row %d: %v, want %v", name, row, got, side)
			}
		}
		for i, classes := range [][]int{{2, 3}, {2, 3, 2}, {3, 2, 0}} {
			other := shape
			if other.Targets = classes; p.Init(other) == nil {
				t.Errorf("%s: targets %d of %v classes", name, i, classes)
			}
		}
	}
	for i, m := range loaded.(*nn.Targets).Nets {
		if got := nn.MetadataOf(m)["note"]; got != strings.Repeat("x", i) {
			t.Errorf("target %d has the note %q", i, got)
		}
	}
	var again bytes.Buffer
	if err := loaded.Save(&again); err != nil || !bytes.Equal(again.Bytes(), file.Bytes()) {
		t.Errorf("another file of what was loaded: %v", err)
	}
	var both bytes.Buffer
	if err := (&nn.Ensemble{Nets: []nn.Predictor{all}}).Save(&both); err != nil {
		t.Fatal(err)
	}
	if _, err := nn.LoadPredictor(&both); err == nil || !strings.Contains(err.Error(), "model 0") {
		t.Errorf("an ensemble of models of several targets: %v", err)
	}
	if err := new(nn.Targets).Save(&both); err == nil {
		t.Error("a model of no targets was saved")
	}
}
