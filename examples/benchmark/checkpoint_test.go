package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/clitest"
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

// Killed at random moments and resumed, until it ends: the same weights and the same accuracies as in
// one go. The trials that have ended are kept.
func TestOneKillAndResume(t *testing.T) {
	args := []string{"-data", collectionOfFiles(t, pathsAndStars(60)), "-k", "3", "-folds", "3", "-select", "degree"}
	want := untimed(classify(t, args...))
	dir := filepath.Join(t.TempDir(), "run")
	args = append(args, "-checkpoint", dir, "-resume")
	trials := func() int {
		files, _ := filepath.Glob(filepath.Join(dir, "trial-*"))
		return len(files)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for ; ; kills++ {
		cmd := asProcess(append([]string{"-task", "graphs"}, args...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if before := trials(); kills < 3 {
			for deadline := time.Now().Add(20 * time.Second); trials() == before && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
			cmd.Process.Kill()
		}
		err := cmd.Wait()
		if err == nil {
			break
		}
		if cmd.ProcessState.Exited() {
			t.Fatalf("after %d kills: %v: %s", kills, err, &stderr)
		}
	}
	if kills == 0 {
		t.Error("nothing was killed: too little to tell")
	}
	// Once more: nothing is left to do but the model.
	if got := untimed(classify(t, args...)); !reflect.DeepEqual(got, want) {
		t.Errorf("after %d kills:\n%v\nwant\n%v", kills, got, want)
	}
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
	for _, name := range []string{"outer-0-0.json", "run.json"} {
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
