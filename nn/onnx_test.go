package nn

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn/internal/layer"
)

// onnxTensor is a tensor on its way to a runtime.
type onnxTensor struct {
	Shape  []int
	Ints   []int32
	Floats []float32
}

// onnxRuntime returns a command that runs testdata/onnx.js or onnx.py, or skips
// the test. To have one:
//
//	npm install --prefix DIR onnxruntime-web
//	NODE_PATH=DIR/node_modules go test -run ONNX -v ./nn
func onnxRuntime(t *testing.T) []string {
	var reasons []string
	for _, command := range [][]string{
		{"node", "testdata/onnx.js"},
		{"python3", "testdata/onnx.py"},
		{"/usr/bin/python3", "testdata/onnx.py"},
	} {
		out, err := exec.Command(command[0], command[1], "probe").CombinedOutput()
		if err == nil {
			return command
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		reasons = append(reasons, command[0]+": "+err.Error()+" "+lines[len(lines)-1])
	}
	t.Skipf("no ONNX runtime: %s", strings.Join(reasons, "; "))
	return nil
}

// onnxInputs are the tensors of a batch.
func onnxInputs(b batch, s Shape) map[string]onnxTensor {
	in := map[string]onnxTensor{}
	add := func(prefix string, x layer.Inputs, cats, attrs int, dims ...int) {
		dims = append([]int{b.rows}, dims...)
		if cats > 0 {
			in[prefix+"cats"] = onnxTensor{Shape: append(slices.Clone(dims), cats), Ints: x.Cats}
		}
		if attrs > 0 {
			in[prefix+"attrs"] = onnxTensor{Shape: append(slices.Clone(dims), attrs), Floats: x.Attrs}
		}
	}
	add("", b.nodes, len(s.Cats), s.Attrs, s.W, s.K)
	add("edge_", b.edges, len(s.EdgeCats), s.EdgeAttrs, s.W, s.K, s.K)
	return in
}

// onnxCases are the models that can be exported.
func onnxCases() []modelCase {
	cases := []modelCase{
		{"CNN, the paper's", Shape{W: 18, K: 10, Cats: []int{7}, Classes: 2}, func() Model { return &CNN{} }},
		{"CNN, numbers", Shape{W: 4, K: 2, Cats: []int{3}, Attrs: 1}, func() Model { return &CNN{Activation: Sigmoid} }},
		{"PSLR, edges", Shape{W: 3, K: 2, Cats: []int{3, 2}, Attrs: 2, EdgeCats: []int{2}, EdgeAttrs: 1, Classes: 3}, func() Model { return &PSLR{} }},
	}
	for _, c := range modelCases {
		if c.s.Sparse == 0 {
			cases = append(cases, c)
		}
	}
	return cases
}

// A real runtime predicts what Predict does, for every model that can be
// exported, at two sizes of batch.
func TestONNX(t *testing.T) {
	command := onnxRuntime(t)
	type job struct {
		Model  []byte
		Inputs map[string]onnxTensor
		name   string
		shape  []int
		want   []float32
	}
	var jobs []job
	for _, test := range onnxCases() {
		m := ready(t, test.s, test.new())
		var model bytes.Buffer
		if err := m.(Exporter).ExportONNX(&model); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		for _, rows := range []int{1, 9} {
			b := randomBatch(test.s, rows, 3)
			columns := max(1, test.s.Classes)
			inputs := onnxInputs(b, test.s)
			if l, ok := m.(*Logistic); ok {
				at, x, n, err := l.Entries(b.counts)
				if err != nil {
					t.Fatal(err)
				}
				inputs = map[string]onnxTensor{"rows": {Shape: []int{rows, n}, Ints: at}, "levels": {Shape: []int{rows, n}, Floats: x}}
			}
			j := job{model.Bytes(), inputs, test.name, []int{rows, columns}, make([]float32, rows*columns)}
			if err := learnerOf(m).predict(j.want, b); err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, j)
		}
	}
	text, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(command[0], command[1])
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	var results []struct {
		Name   string
		Shape  []int
		Floats []float32
	}
	if err := json.Unmarshal(stdout.Bytes(), &results); err != nil || len(results) != len(jobs) {
		t.Fatalf("%d results of %d, %v: %s", len(results), len(jobs), err, &stderr)
	}
	worst := 0.0
	for i, j := range jobs {
		got := results[i]
		if !slices.Equal(got.Shape, j.shape) {
			t.Fatalf("%s: the output %s is %v, want %v", j.name, got.Name, got.Shape, j.shape)
		}
		for i, v := range got.Floats {
			d := math.Abs(float64(v - j.want[i]))
			if worst = max(worst, d); !(d <= 1e-5) {
				t.Fatalf("%s, %d rows: value %d is %v, want %v", j.name, j.shape[0], i, v, j.want[i])
			}
		}
	}
	t.Logf("%d models by %s: at most %.1e from Predict", len(jobs)/2, command, worst)
}

func TestONNXErrors(t *testing.T) {
	var out bytes.Buffer
	if err := new(CNN).ExportONNX(&out); !errors.Is(err, ErrNotReady) {
		t.Error(err)
	}
	for _, test := range modelCases {
		m, ok := ready(t, test.s, test.new()).(Exporter)
		if no := test.name == "Link" || test.name == "Pooled"; ok == no {
			t.Errorf("%s can be exported: %t", test.name, ok)
		}
		if test.s.Sparse == 0 || !ok {
			continue
		}
		const want = "sparse channel"
		if err := m.ExportONNX(&out); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%s: %v, want %q", test.name, err, want)
		}
	}
}

// The same model gives the same bytes.
func TestONNXBytes(t *testing.T) {
	for _, test := range onnxCases() {
		m := ready(t, test.s, test.new())
		var a, b bytes.Buffer
		if err := errors.Join(m.(Exporter).ExportONNX(&a), m.(Exporter).ExportONNX(&b)); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: not the same twice, or %v", test.name, err)
		}
	}
}
