package nn

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// golden is what a model in testdata/golden is known by. The files are those of
// earlier versions, which later ones must read: SANFLOW_UPDATE=1 writes those that
// are missing, and leaves the others alone.
type golden struct {
	Hash, Resumed string    // of the weights in the model file, and in the checkpoint
	Said          []float32 // of a batch that is always the same
}

// young are the cases of which no earlier version has a file.
var young = map[string]bool{"CNN, sparse": true, "PSLR": true, "PSLR, regression": true, "Logistic, regression": true}

// A file of an earlier version holds the model that it held, is written again to
// the same bytes, and a training goes on from its checkpoint.
func TestGolden(t *testing.T) {
	for _, test := range modelCases {
		if young[test.name] {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			m := ready(t, test.s, test.new())
			batch := tensorsOf(test.s, randomBatch(test.s, 3, 5))
			learn := func() {
				for i := range 3 {
					if _, err := m.Step(tensorsOf(test.s, randomBatch(test.s, 8, uint64(i)))); err != nil {
						t.Fatal(err)
					}
				}
			}
			g, file := goldenOf(t, test.name, func(file string) (g golden) {
				learn()
				p, err := m.Predict(batch, nil)
				var checkpoint bytes.Buffer
				if err := errors.Join(err, SaveFile(file, m), m.Checkpoint(&checkpoint, "a note", nil)); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file+".checkpoint", checkpoint.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return golden{learnerOf(m).Hash(), learnerOf(m).Hash(), p.Float32s()}
			})
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := loadModel(bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			var again bytes.Buffer
			if err := loaded.Save(&again); err != nil || !bytes.Equal(again.Bytes(), content) || learnerOf(loaded).Hash() != g.Hash {
				t.Errorf("saved again it is another file; %v", err)
			}
			p, err := loaded.Predict(batch, nil)
			if err != nil {
				t.Fatal(err)
			}
			near(t, p.Float32s(), g.Said)

			checkpoint, err := os.ReadFile(file + ".checkpoint")
			if err != nil {
				t.Fatal(err)
			}
			next := ready(t, test.s, test.new())
			note, best, err := next.Resume(bytes.NewReader(checkpoint))
			if err != nil && !errors.Is(err, ErrKernels) || note != "a note" || best != nil || learnerOf(next).Hash() != g.Resumed || next.Seen() != 24 {
				t.Errorf("resumed with %q after %d rows: %v", note, next.Seen(), err)
			}
			if _, err := next.Step(batch); err != nil {
				t.Error(err)
			}
		})
	}
}

// The same for encoders.
func TestGoldenEncoders(t *testing.T) {
	for name, c := range map[string][2]Encoder{
		"rbm":      {&RBM{Hidden: 4, Seed: 1}, &RBM{}},
		"gaussian": {&RBM{Units: Gaussian, Hidden: 3, Seed: 1}, &RBM{}},
	} {
		t.Run(name, func(t *testing.T) {
			x := randomRows(5, 6, 1)
			g, file := goldenOf(t, name, func(file string) golden {
				if err := c[0].Init(6); err != nil {
					t.Fatal(err)
				}
				if _, err := c[0].Step(x); err != nil {
					t.Fatal(err)
				}
				code, err := c[0].Encode(x, nil)
				if err := errors.Join(err, SaveFile(file, c[0])); err != nil {
					t.Fatal(err)
				}
				return golden{Said: code.Float32s()}
			})
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var code *tensor.Dense
			var again bytes.Buffer
			loaded, err := LoadEncoder(bytes.NewReader(content))
			if err == nil {
				code, err = loaded.Encode(x, nil)
			}
			if err := errors.Join(err, loaded.Save(&again)); err != nil || !bytes.Equal(again.Bytes(), content) {
				t.Fatalf("saved again it is another file; %v", err)
			}
			near(t, code.Float32s(), g.Said)
		})
	}
}

// TestGoldenBytes trains each model and encoder and compares the hash of the weights with the
// one of the kernels that run. SANFLOW_UPDATE=1 adds the hashes of kernels that have none;
// hashes that are there stay.
func TestGoldenBytes(t *testing.T) {
	t.Log("kernels:", Kernels()) // which .ci/run reads
	got := map[string]string{}
	for _, test := range modelCases {
		if young[test.name] {
			continue
		}
		m := ready(t, test.s, test.new())
		for i := range 3 {
			if _, err := m.Step(tensorsOf(test.s, randomBatch(test.s, 40, uint64(i)))); err != nil {
				t.Fatal(err)
			}
		}
		got[test.name] = learnerOf(m).Hash()
	}
	for name, c := range map[string]Encoder{
		"RBM": &RBM{Hidden: 21, Seed: 1},
	} {
		if err := c.Init(37); err != nil {
			t.Fatal(err)
		}
		for i := range uint64(3) {
			if _, err := c.Step(randomRows(20, 37, i)); err != nil {
				t.Fatal(err)
			}
		}
		got[name] = c.(interface{ Hash() string }).Hash()
	}
	const file = "testdata/golden/bytes.json"
	all := map[string]map[string]string{} // by the kernels, then by the model
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := all[Kernels()]
	if want == nil && os.Getenv("SANFLOW_UPDATE") != "" {
		all[Kernels()], want = got, got
		text, err := json.MarshalIndent(all, "", "\t")
		if err := errors.Join(err, os.WriteFile(file, append(text, '\n'), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if len(want) != len(got) {
		t.Errorf("%s has hashes of %q: %d models, want %d", file, Kernels(), len(want), len(got))
	}
	for name, hash := range got {
		if want[name] != hash {
			t.Errorf("%s, %s: weights %s, want %s", Kernels(), name, hash, want[name])
		}
	}
}

func near(t *testing.T, got, want []float32) {
	t.Helper()
	for i, x := range want {
		if len(got) != len(want) || math.Abs(float64(got[i]-x)) > 1e-5 {
			t.Fatalf("it says %v, want %v", got, want)
		}
	}
}

// goldenOf returns what a file is known by, and its path.
func goldenOf(t *testing.T, name string, write func(file string) golden) (g golden, file string) {
	t.Helper()
	file = filepath.Join("testdata", "golden", strings.NewReplacer(" ", "", ",", "-").Replace(strings.ToLower(name))+".safetensors")
	if _, err := os.Stat(file); err != nil && os.Getenv("SANFLOW_UPDATE") != "" {
		text, err := json.Marshal(write(file))
		if err := errors.Join(err, os.WriteFile(file+".json", append(text, '\n'), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file + ".json")
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g, file
}
