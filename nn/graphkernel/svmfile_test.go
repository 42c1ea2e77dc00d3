package graphkernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/sanflow/sanflow/nn"
)

// A file of a machine that is kept with the code holds the machine that it held, and is
// written again to the same bytes. SANFLOW_UPDATE=1 writes files that are missing.
func TestGoldenSVM(t *testing.T) {
	c, class := randomCounts(rand.New(rand.NewPCG(7, 5)), 24, 3)
	for name, kernel := range map[string]nn.Similarity{"svm": nn.Cosine, "svm-min": nn.UnitMin} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "golden", name+".safetensors")
			if _, err := os.Stat(file); err != nil && os.Getenv("SANFLOW_UPDATE") != "" {
				m := &SVM{C: 3, Kernel: kernel}
				m.Metadata()["a"] = "note"
				err := errors.Join(m.FitCounts(t.Context(), c, class), m.Init(nn.Shape{Counts: []string{"words"}, Classes: 3}))
				if err := errors.Join(err, nn.SaveFile(file, m)); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(file + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var want struct{ Said []float32 }
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := nn.LoadPredictor(bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			var again bytes.Buffer
			if err := loaded.Save(&again); err != nil || !bytes.Equal(again.Bytes(), content) {
				t.Errorf("saved again it is another file; %v", err)
			}
			p, err := loaded.Predict(nn.Batch{Counts: c}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range p.Float32s() {
				if math.Abs(float64(x-want.Said[i])) > 1e-5 {
					t.Fatalf("it says %v, want %v", p.Float32s(), want.Said)
				}
			}
		})
	}
}
