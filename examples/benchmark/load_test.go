package main

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A saved network is fed graphs straight away, and tells paths from stars that
// it has not seen.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "net.safetensors")
	classify(t, "-data", collectionOfFiles(t, pathsAndStars(20)), "-k", "3", "-folds", "2", "-epochs", "60", "-model", file)

	new := collectionOfFiles(t, pathsAndStars(35))
	r := classify(t, "-data", new, "-load", file)
	list := r["predictions"].([]any)
	if r["graphs"] != 70. || len(list) != 70 || r["known"] != 70. || r["accuracy"].(float64) < 95 {
		t.Errorf("%v graphs, %v known, %v %% right", r["graphs"], r["known"], r["accuracy"])
	}
	first := list[0].(map[string]any)
	if first["graph"] != 0. || first["class"] != "0" || first["target"] != "0" || first["probability"].(float64) < 0.5 {
		t.Errorf("the first prediction is %v", first)
	}

	bare := pathsAndStars(5)
	delete(bare, "node_attributes")
	named := pathsAndStars(5)
	named["graph_labels"] = strings.ReplaceAll(named["graph_labels"], "1", "2")
	broken := filepath.Join(dir, "broken")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, content[:len(content)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-data", collectionOfFiles(t, bare)}, "in node_attr, want"},
		{[]string{"-data", collectionOfFiles(t, named)}, `the graphs are of the classes ["0" "2"], want ["0" "1"]`},
		{[]string{"-data", new, "-k", "4"}, "-k is for training, and -load trains nothing"},
		{[]string{"-data", new, "-normalize", "degree"}, "-normalize is for training"},
		{[]string{"-data", new, "-resume", "-checkpoint", dir}, "-checkpoint is for training"},
		{[]string{"-data", new, "-load", broken}, "broken: nn: load: the file is truncated"},
		{[]string{"-data", new, "-load", filepath.Join(dir, "none")}, "none: no such file"},
	} {
		err := run(context.Background(), append([]string{"-load", file}, test.args...))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, want %q", test.args, err, test.want)
		}
	}
}

// So is a support vector machine, whose trials are kept and whose flags are those of
// words.
func TestMachine(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "svm.safetensors")
	args := []string{"-data", collectionOfFiles(t, pathsAndStars(20)), "-model-kind", "svm", "-folds", "4", "-checkpoint", dir, "-resume", "-model", file}
	r := untimed(classify(t, args...))
	if r["model_kind"] != "svm" || r["accuracy"].(float64) < 95 || len(r["fold_c"].([]any)) != 4 || r["epochs"] != 0. || r["train_examples_per_s"] != nil {
		t.Errorf("%v", r)
	}
	for _, workers := range []string{"1", "3"} { // from what is kept, and anew
		if again := untimed(classify(t, append(args, "-workers", workers)...)); !reflect.DeepEqual(again, r) {
			t.Errorf("again %v, want %v", again, r)
		}
		args[len(args)-4] = filepath.Join(dir, "new")
	}
	said := classify(t, "-data", collectionOfFiles(t, pathsAndStars(35)), "-load", file)
	if said["graphs"] != 70. || said["accuracy"].(float64) < 95 {
		t.Errorf("%v graphs, %v %% right", said["graphs"], said["accuracy"])
	}
	for _, test := range []struct{ flag, value, want string }{
		{"-epochs", "3", "-epochs is of a model that learns by steps"},
		{"-k", "3", "-k is of fields for a network"},
	} {
		if err := run(context.Background(), []string{"-model-kind", "svm", test.flag, test.value}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

// The best model is saved, read, and told what it has not seen, from structure
// alone.
func TestBest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "words.safetensors")
	r := classify(t, "-data", collectionOfFiles(t, pathsAndStars(20)), "-model-kind", "best", "-folds", "4", "-epochs", "10", "-model", file)
	if r["model_kind"] != "best" || r["w"] != 0. || r["k"] != 0. || r["accuracy"].(float64) < 95 {
		t.Errorf("%v", r)
	}
	r = classify(t, "-data", collectionOfFiles(t, pathsAndStars(35)), "-load", file)
	if r["graphs"] != 70. || r["accuracy"].(float64) < 95 {
		t.Errorf("%v graphs, %v %% right", r["graphs"], r["accuracy"])
	}
}
