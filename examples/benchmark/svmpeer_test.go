package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/operators/count"
)

// On the Weisfeiler-Lehman matrices of real collections a machine has the support
// vectors and the decisions of scikit-learn, and with SANFLOW_LONG=1 the time of
// ten folds of NCI1 is told beside its time. It needs a python3 with scikit-learn
// (Debian: python3-sklearn).
func TestSVMPeer(t *testing.T) {
	data := os.Getenv("SANFLOW_DATA")
	if data == "" {
		t.Skip("SANFLOW_DATA is not set")
	}
	if exec.Command("/usr/bin/python3", "-c", "import sklearn").Run() != nil {
		t.Skip("there is no scikit-learn")
	}
	names := []string{"MUTAG", "PTC"}
	if os.Getenv("SANFLOW_LONG") != "" {
		names = append(names, "NCI1")
	}
	ctx, dir := context.Background(), t.TempDir()
	grams, class := map[string]*graphkernel.Gram{}, map[string][]int32{}
	for _, name := range names {
		d, err := loadCollection(ctx, filepath.Join(data, "tu", name+".zip"), 1)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Release()
		counts, err := (&kernels{graphs: d.Records()}).count(ctx, count.WL{Height: 2})
		if err != nil {
			t.Fatal(err)
		}
		by := nn.Linear
		if name == "NCI1" {
			by = nn.Cosine
		}
		if grams[name], err = graphkernel.GramOf(ctx, counts, by, 1); err != nil {
			t.Fatal(err)
		}
		class[name] = d.Class
		for end, v := range map[string]any{".gram": grams[name].K, ".class": d.Class} {
			f, err := os.Create(filepath.Join(dir, name+end))
			if err != nil {
				t.Fatal(err)
			}
			if err := binary.Write(f, binary.NativeEndian, v); err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
	}
	said, err := exec.Command("/usr/bin/python3", "testdata/svc.py", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	var peers []struct {
		Name    string
		Seconds float64
		Right   int
		Fits    []struct {
			C         float64
			Support   []int32
			Decisions []float64
		}
	}
	if err := json.Unmarshal(said, &peers); err != nil {
		t.Fatal(err)
	}
	for _, p := range peers {
		g, y := grams[p.Name], class[p.Name]
		rows := make([]int32, g.N)
		for i := range rows {
			rows[i] = int32(i)
		}
		for _, f := range p.Fits {
			m := &graphkernel.SVM{C: f.C}
			if err := m.Fit(ctx, g, rows, y); err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i, want := range f.Decisions {
				worst = max(worst, math.Abs(m.Decide(g.Row(i), nil)[0]-want))
			}
			if same := slices.Equal(m.Support(), f.Support); !same || worst > 1e-3 {
				t.Errorf("%s, C = %v: the same support vectors: %t; decisions up to %v away", p.Name, f.C, same, worst)
			}
			t.Logf("%s, C = %v: %d support vectors, decisions up to %.1g away", p.Name, f.C, len(f.Support), worst)
		}
		took, right := tenFolds(t, g, y)
		t.Logf("%s, ten folds: %.3f s and %d right, scikit-learn %.3f s and %d", p.Name, took.Seconds(), right, p.Seconds, p.Right)
	}
}

// tenFolds learns what svc.py learns, and returns the processor time.
func tenFolds(t *testing.T, g *graphkernel.Gram, y []int32) (took time.Duration, right int) {
	start := cli.CPU()
	for fold := range 10 {
		var train, class []int32
		for i, c := range y {
			if i%10 != fold {
				train, class = append(train, int32(i)), append(class, c)
			}
		}
		m := &graphkernel.SVM{}
		if err := m.Fit(context.Background(), g, train, class); err != nil {
			t.Fatal(err)
		}
		for i := fold; i < g.N; i += 10 {
			if m.Class(g.Row(i)) == y[i] {
				right++
			}
		}
	}
	return cli.CPU() - start, right
}
