package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

// -part of graphs of tables, in a table of graphs or of nodes: the rows to test on are those that the column names, whatever the names
// of graphs, and the column is no attribute.
func TestPartOfGraphs(t *testing.T) {
	clitest.Silence(t)
	for _, name := range []string{"g%d", "1000%d"} {
		dir := t.TempDir()
		e, g, n := []string{"g,source,target"}, []string{"g,kind,split"}, []string{"g,id,kind,split"}
		for i := range 60 {
			id, kind, part := fmt.Sprintf(name, i), []string{"ring", "path"}[i%2], []string{"train", "train", "valid", "test", "none"}[i/2%5]
			for v := range 4 + i%2 {
				e = append(e, fmt.Sprintf("%s,%d,%d", id, v, (v+1)%(4+i%2)))
			}
			if i%2 == 1 {
				e = e[:len(e)-1]
			}
			g = append(g, fmt.Sprintf("%s,%s,%s", id, kind, part))
			for v := range 4 + i%2 {
				n = append(n, fmt.Sprintf("%s,%d,%s,%s", id, v, kind, part))
			}
		}
		edges, graphs, nodes, model := write(t, dir, "e.csv", e), write(t, dir, "g.csv", g), write(t, dir, "n.csv", n), filepath.Join(dir, "m")
		for _, of := range []string{"-graphs " + graphs, "-nodes " + graphs, "-id id -nodes " + nodes} {
			r := clitest.JSON[report](t, run, strings.Fields("train -task graphs -edges "+edges+" -graph g -class kind -part split -systems linear -out "+model+" "+of)...)
			if r.Rows != 12 {
				t.Errorf("%s: %d rows to test on, want 12", of, r.Rows)
			}
			if text := read(t, model); strings.Contains(text, `"split"`) {
				t.Errorf("%s: the part is an attribute", of)
			}
			again := clitest.JSON[report](t, run, strings.Fields("evaluate -model "+model+" -edges "+edges+" "+of)...)
			if again.Rows != 12 {
				t.Errorf("%s: evaluate has %d rows to test on, want 12", of, again.Rows)
			}
		}
	}
}

// A part that no row is of is dealt from the rows to learn from, with a line.
func TestPartsDealt(t *testing.T) {
	dir := t.TempDir()
	edges, nodes := []string{"from,to"}, []string{"id,class,part"}
	for i := range 60 {
		edges = append(edges, fmt.Sprintf("%d,%d", i, (i+1)%60))
		nodes = append(nodes, fmt.Sprintf("%d,%s,%s", i, []string{"a", "b"}[i%2], []string{"train", "train", "valid"}[i%3]))
	}
	_, told := printed(t, strings.Fields("train -task nodes -systems linear -source from -target to -id id -class class -part part -edges "+
		write(t, dir, "e.csv", edges)+" -nodes "+write(t, dir, "n.csv", nodes)+" -out "+filepath.Join(dir, "m"))...)
	if !strings.Contains(told, "guessed: no row is of the part test: ") || strings.Contains(told, "of the part valid") {
		t.Error(told)
	}
}
