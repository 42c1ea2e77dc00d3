package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	sanflow "github.com/sanflow/sanflow/examples/sanflow/command"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sources/generate"
)

// trainResult runs sanflow train and returns its JSON object.
func trainResult(t *testing.T, args ...string) map[string]any {
	t.Helper()
	return clitest.JSON[map[string]any](t, func(ctx context.Context, args []string) error {
		return sanflow.Run(ctx, append([]string{"train"}, args...))
	}, append([]string{"-budget", "0", "-out", filepath.Join(t.TempDir(), "m")}, args...)...)
}

// withoutTimes returns what was tried, without the time.
func withoutTimes(systems any) any {
	for _, s := range asList(systems) {
		delete(s.(map[string]any), "seconds")
	}
	return systems
}

// sanflow train and benchmark try the same systems for graphs, nodes and links, and have the same figures.
func TestTrainAndBenchmarkAgree(t *testing.T) {
	race.Skip(t)
	dir := villages(t, 40, 40, false)
	for _, more := range [][]string{nil, {"-portable", "-seed", "2", "-score", "auc", "-systems", "linear,words,words-smoothed"}} {
		here := nodesResult(t, append([]string{"-data", dir}, more...)...)
		there := trainResult(t, append([]string{"-task", "nodes", "-data", dir}, more...)...)
		if a, b := withoutTimes(here["systems"]), withoutTimes(there["systems"]); !reflect.DeepEqual(a, b) {
			t.Errorf("nodes, %v: benchmark tried %v, train %v", more, a, b)
		}
		for _, name := range []string{"accuracy", "model", "majority", "value", "validation_value"} {
			if !reflect.DeepEqual(here[name], there[name]) {
				t.Errorf("nodes, %v: %s is %v by benchmark, %v by train", more, name, here[name], there[name])
			}
		}
	}
	g, err := generate.Grid(10, 10)
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, g)
	here := linksResult(t, "-graph", file, "-repeats", "1", "-systems", "linear,words")
	there := trainResult(t, "-task", "links", "-data", file, "-systems", "linear,words")
	if here["auc"] != there["auc"] || here["ap"] != there["ap"] || here["models"].([]any)[0] != there["model"] {
		t.Errorf("links: %v, AUC %v, AP %v by benchmark, %v, %v, %v by train", here["models"], here["auc"], here["ap"], there["model"], there["auc"], there["ap"])
	}
	table, parts := moleculeTable(t)
	var named strings.Builder // with the parts as a column
	rows, lines := strings.Split(read(t, table), "\n"), strings.Split(read(t, parts), "\n")
	for i, row := range rows[:len(rows)-1] {
		fmt.Fprintf(&named, "%s,%s\n", row, append([]string{"part"}, lines...)[i])
	}
	cell := benchmark(t, "-data", table, "-smiles", "SMILES", "-class", "acid", "-parts", parts, "-systems", "train").Cells[0]
	there = trainResult(t, "-data", clitest.File(t, "parts.csv", named.String()), "-smiles", "SMILES", "-class", "acid", "-part", "part", "-score", "auc", "-id", "id")
	if there["value"] != *cell.Mean || there["validation_value"] != *cell.MeanValid {
		t.Errorf("graphs: AUC %v and %v by benchmark, %v and %v by train", *cell.Mean, *cell.MeanValid, there["value"], there["validation_value"])
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
