package command

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/race"
)

// The table of features has a line for each line of predict, with its ids, and named columns, each once.
func TestExportFeatures(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(2, 2))
	people, friends := []string{"name,age,job,role"}, []string{"from,to"}
	for i := range 80 {
		age := fmt.Sprint(20 + rng.IntN(30) + 20*(i%2))
		if i%9 == 4 {
			age = ""
		}
		people = append(people, fmt.Sprintf("p%d,%s,%s,%s", i, age, []string{"cook", "smith"}[rng.IntN(2)], []string{"no", "yes"}[i%2]))
		for range 3 {
			friends = append(friends, fmt.Sprintf("p%d,p%d", i, (i+2+2*rng.IntN(12))%80))
		}
	}
	nodes := []string{"-edges", write(t, dir, "friends.csv", friends), "-nodes", write(t, dir, "people.csv", people)}
	columns := []string{"-source", "from", "-target", "to", "-id", "name"}
	table := write(t, dir, "payments.csv", thefts(400))
	for name, of := range map[string]struct {
		train, data []string
		columns     []string // some of the table
		ids         int
	}{
		"nodes":  {append(append([]string{"-task", "nodes", "-class", "role", "-systems", "words"}, nodes...), columns...), nodes, []string{"age", "degree, hop 1: mean"}, 1},
		"fields": {append(append([]string{"-task", "nodes", "-class", "role", "-systems", "cnn"}, nodes...), columns...), nodes, nil, 1},
		"links":  {append(append([]string{"-task", "links", "-systems", "linear"}, nodes[:2]...), columns[:4]...), nodes[:2], nil, 2},
		"rows":   {append([]string{"-task", "rows", "-rows", table, "-systems", "trees"}, theftFlags...), []string{"-rows", table}, []string{"amount"}, 1},
		"graphs": {[]string{"-systems", "linear"}, nil, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			model := filepath.Join(t.TempDir(), "m.model")
			if err := train(t.Context(), append(of.train, "-out", model)); err != nil {
				t.Fatal(err)
			}
			read := func(run func() error, path string) [][]string {
				t.Helper()
				if err := run(); err != nil {
					t.Fatal(err)
				}
				f, err := os.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				lines, err := csv.NewReader(f).ReadAll()
				if err != nil {
					t.Fatal(err)
				}
				return lines
			}
			out := filepath.Join(dir, name+".csv")
			features := append([]string{"-features", "-model", model, "-words", "30"}, of.data...)
			if name == "fields" {
				if err := export(t.Context(), append(features, "-out", out)); err == nil || !strings.Contains(err.Error(), `column "nodes`) {
					t.Error(err)
				}
				if err := export(t.Context(), append(features, "-out", filepath.Join(dir, "fields.parquet"))); err != nil {
					t.Error(err)
				}
				return
			}
			got := read(func() error { return export(t.Context(), append(features, "-out", out)) }, out)
			said := filepath.Join(dir, name+"-said.csv")
			want := read(func() error { return predict(t.Context(), append([]string{"-model", model, "-out", said}, of.data...)) }, said)
			if len(got) != len(want) || len(got) < 50 {
				t.Fatalf("%d lines, of predict %d", len(got), len(want))
			}
			for i, line := range got {
				if !slices.Equal(line[:of.ids], want[i][:of.ids]) {
					t.Fatalf("line %d is of %q, of predict %q", i, line[:of.ids], want[i][:of.ids])
				}
			}
			if head := slices.Sorted(slices.Values(got[0])); len(slices.Compact(head)) != len(got[0]) || len(got[0]) < of.ids+5 {
				t.Errorf("the columns are %q", got[0])
			}
			for _, c := range of.columns {
				if !slices.Contains(got[0], c) {
					t.Errorf("there is no column %q in %q", c, got[0])
				}
			}
		})
	}
	if err := export(t.Context(), []string{"-features", "-model", "none", "-out", "x.txt"}); err == nil {
		t.Error("no error without a model")
	}
}

// A stacked system knows the classes of the nodes that it has learned from, and their features hold them: a line says so.
func TestExportFeaturesOfKnownClasses(t *testing.T) {
	dir := t.TempDir()
	edges, nodes := []string{"from,to"}, []string{"id,class,part"}
	for i := range 120 {
		edges = append(edges, fmt.Sprintf("%d,%d", i, (i+1)%120))
		nodes = append(nodes, fmt.Sprintf("%d,%s,%s", i, []string{"a", "b"}[i/2%2], []string{"train", "train", "valid", "test"}[i%4]))
	}
	e, n, model := write(t, dir, "e.csv", edges), write(t, dir, "n.csv", nodes), filepath.Join(dir, "m")
	for system, want := range map[string]bool{"stacked-trees": true, "trees": false} {
		printed(t, strings.Fields("train -task nodes -source from -target to -id id -class class -part part -edges "+e+" -nodes "+n+" -out "+model+" -systems "+system)...)
		_, told := printed(t, strings.Fields("export -features -edges "+e+" -nodes "+n+" -model "+model)...)
		if got := strings.Contains(told, "known classes: the model was learned from or chosen by 90 of the nodes"); got != want {
			t.Errorf("%s: %s", system, told)
		}
	}
	if err := run(t.Context(), strings.Fields("export -features -words 3 -all -model "+model)); err == nil || !strings.Contains(err.Error(), "-words and -all are both set") {
		t.Error(err)
	}
}
