package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
)

// untimed are the parts of a report that do not tell the time.
func untimed(r map[string]any) map[string]any {
	for name := range r {
		if strings.HasSuffix(name, "_per_s") || strings.HasSuffix(name, "seconds") {
			delete(r, name)
		}
	}
	if cells, ok := r["cells"].([]any); ok {
		for _, one := range cells {
			untimed(one.(map[string]any))
		}
	}
	return r
}

// Killed at random moments and resumed, until it ends: the same weights and the
// same accuracies as in one go.
func TestOneKillAndResume(t *testing.T) {
	data := collectionOfFiles(t, pathsAndStars(30))
	// Validation splits and two batch sizes' worth of jobs; no epochs are fixed. There is
	// a checkpoint after each step.
	killAndResume(t, "-1ns", "-data", data, "-k", "3", "-folds", "2", "-batch", "8", "-select", "degree")
}

// The epochs are chosen by the graphs that each trial holds out, also of trials that
// had ended before. Its checkpoints are of 20 MB, so there are fewer.
func TestOneKillAndResumeBest(t *testing.T) {
	if race.Enabled {
		t.Skip("a minute; TestBest trains the same, and nothing new runs beside it")
	}
	files := pathsAndStars(20)
	rng := rand.New(rand.NewPCG(3, 4))
	var labels strings.Builder
	for range 5 * 40 {
		fmt.Fprintln(&labels, rng.IntN(4))
	}
	files["node_labels"] = labels.String()
	killAndResume(t, "200ms", "-data", collectionOfFiles(t, files), "-folds", "2", "-model-kind", "best")
}

func killAndResume(t *testing.T, every string, args ...string) {
	t.Helper()
	want := untimed(classify(t, args...))

	dir := filepath.Join(t.TempDir(), "run")
	out := filepath.Join(t.TempDir(), "out.json")
	args = append(args, "-checkpoint", dir, "-resume")
	rng := rand.New(rand.NewPCG(1, 2))
	kills, mid := 0, 0 // kills, those that left a training half done
	most, often := 8, every == "-1ns"
	if !often {
		most = 3
	}
	for {
		cmd := asProcess(append([]string{"-task", "graphs", "-json", out}, args...)...)
		cmd.Env = append(cmd.Env, checkpointsEvery+"="+every)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if kills < most {
			before := newest(dir)
			for deadline := time.Now().Add(20 * time.Second); newest(dir) == before && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond)
			cmd.Process.Kill()
		}
		err := cmd.Wait()
		if err == nil {
			break
		}
		if cmd.ProcessState.Exited() {
			t.Fatalf("after %d kills: %v: %s", kills, err, &stderr)
		}
		kills++
		if half, _ := filepath.Glob(filepath.Join(dir, "*.safetensors")); len(half) > 0 {
			mid++
		}
	}
	if kills == 0 || often && (kills < 3 || mid == 0) {
		t.Errorf("%d kills, %d in the middle of a training: too few to tell", kills, mid)
	}
	// Once more: nothing is left to do.
	if got := untimed(classify(t, args...)); !reflect.DeepEqual(got, want) {
		t.Errorf("after %d kills:\n%v\nwant\n%v", kills, got, want)
	}
	t.Logf("%d kills, %d in the middle of a training", kills, mid)
}

// newest tells the last change of a directory's files.
func newest(dir string) string {
	var last time.Time
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return fmt.Sprint(len(files), last.UnixNano())
}

func TestOneResumeErrors(t *testing.T) {
	clitest.Silence(t)
	data, other := collectionOfFiles(t, pathsAndStars(6)), collectionOfFiles(t, pathsAndStars(7))
	dir := t.TempDir()
	base := []string{"-data", data, "-k", "3", "-folds", "2", "-epochs", "2", "-checkpoint", dir}
	with := func(args ...string) error {
		return run(context.Background(), append(base[:len(base):len(base)], args...))
	}
	if err := with(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "holds a run; resume it by -resume, or name another directory"},
		{[]string{"-resume", "-seed", "2"}, "is of a run with -seed 1, this one has -seed 2"},
		{[]string{"-resume", "-epochs", "3"}, "is of a run with -epochs 2, this one has -epochs 3"},
		{[]string{"-resume", "-model-kind", "pslr"}, "is of a run with -model-kind cnn, this one has -model-kind pslr"},
		{[]string{"-resume", "-data", other}, "is of other graphs"},
		{[]string{"-resume", "-checkpoint", ""}, "-resume needs the directory of the run"},
	} {
		if err := with(test.args...); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, want %q", test.args, err, test.want)
		}
	}
	// Folds that other kernels have trained do not mix with those of these. Those of other trainings have
	// other names: see TestIdentity.
	path := filepath.Join(dir, "run.json")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ was, is, want string }{
		{nn.Kernels(), "a slide rule", "is of a run with kernels a slide rule"},
	} {
		others := strings.Replace(string(content), test.was, test.is, 1)
		if err := os.WriteFile(path, sign(others), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := with("-resume"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s for %s: %v", test.is, test.was, err)
		}
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	named := func(name string) string {
		t.Helper()
		all, err := filepath.Glob(filepath.Join(dir, "*"+name))
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %v, %v", name, all, err)
		}
		return all[0]
	}
	for _, name := range []string{"outer-0-0.json", "run.json"} {
		path := named(name)
		flipBits(t, path, func(what string) {
			if err := with("-resume"); err == nil || !strings.Contains(err.Error(), "-resume: "+path+" is damaged") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		})
	}
	for _, name := range []string{"last.safetensors", "outer-0-0.json", "run.json"} {
		path := named(name)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content[:len(content)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := with("-resume"); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "remove the file") || strings.Contains(err.Error(), "\n") {
			t.Errorf("half of %s: %v", name, err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
