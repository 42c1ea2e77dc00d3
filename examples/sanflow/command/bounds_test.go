package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/race"
)

// A column of ids as classes is refused before a system is tried, and the column is named.
func TestManyClasses(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	nodes, edges, dir := []string{"id,x,id_like"}, []string{"source,target"}, t.TempDir()
	for v := range 10000 {
		nodes, edges = append(nodes, fmt.Sprintf("p%d,%d,c%d", v, v%7, v)), append(edges, fmt.Sprintf("p%d,p%d", v, (v*7+1)%10000))
	}
	e, n := write(t, dir, "edges.csv", edges), write(t, dir, "nodes.csv", nodes)
	err := train(t.Context(), []string{"-edges", e, "-nodes", n, "-class", "id_like", "-out", filepath.Join(dir, "m")})
	if err == nil || !strings.Contains(err.Error(), `the column "id_like" has 10000 classes of 10000 rows, want at most 2048`) || !strings.Contains(err.Error(), "-class") {
		t.Error(err)
	}
}

// The pairs that predict does not list are counted in a line, and a flag lists them.
func TestPairsLeftOut(t *testing.T) {
	race.Skip(t)
	dir := t.TempDir()
	var ring, star []string
	for v := range 120 {
		ring = append(ring, fmt.Sprintf("%d,%d", v, (v+1)%120), fmt.Sprintf("%d,%d", v, (v+5)%120))
	}
	for v := 1; v <= 257; v++ {
		star = append(star, fmt.Sprintf("0,%d", v))
	}
	learn := write(t, dir, "ring.csv", append([]string{"source,target"}, ring...))
	large, small := write(t, dir, "large.csv", append([]string{"source,target"}, star...)), write(t, dir, "small.csv", append([]string{"source,target"}, star[:60]...))
	model, scores := filepath.Join(dir, "m"), filepath.Join(dir, "s.csv")
	clitest.JSON[report](t, train, "-task", "links", "-edges", learn, "-systems", "linear", "-out", model)
	predicted := func(edges string, args ...string) (rows int, told string) {
		_, told = printed(t, append([]string{"predict", "-model", model, "-edges", edges, "-out", scores}, args...)...)
		return strings.Count(read(t, scores), "\n") - 1, told
	}
	for _, test := range []struct {
		edges string
		args  []string
		rows  int
		want  string
	}{
		{large, nil, 0, "left out: at most 32896 pairs whose common neighbours all have more than -hub 256 edges, as 1 nodes have\n"},
		{small, []string{"-hub", "59"}, 0, "left out: at most 1770 pairs whose common neighbours all have more than -hub 59 edges, as 1 nodes have\n"},
		{small, []string{"-hub", "60"}, 1770, ""},
		{small, []string{"-hub", "60", "-pairs", "1770"}, 1770, ""},
		{small, []string{"-pairs", "1000"}, 1000, "left out: 770 of 1770 pairs, those beyond -pairs 1000\n"},
	} {
		rows, told := predicted(test.edges, test.args...)
		if at := strings.Index(told, "left out"); rows != test.rows || at < 0 && test.want != "" || at >= 0 && told[at:] != test.want {
			t.Errorf("%q: %d rows, %q", test.args, rows, told)
		}
	}
}

// A flag that is given again is refused, explain says which graph it chose, and inspect writes names
// and values.
func TestSaidPlainly(t *testing.T) {
	race.Skip(t)
	dir := t.TempDir()
	model := filepath.Join(dir, "m")
	must(t, "train", "-systems", "cnn", "-out", model)
	for _, args := range [][]string{{"-class", "a", "-class", "b"}, {"-class=a", "--class=b"}, {"-edges", "x", "-directed", "-edges", "y"}, {"-directed", "-directed=false"}} {
		if err := train(t.Context(), args); err == nil || !strings.Contains(err.Error(), "is given twice, as ") {
			t.Errorf("%q: %v", args, err)
		}
	}
	if _, told := printed(t, "explain", "-model", model); !strings.Contains(told, "guessed: graph 0, the first, is explained") {
		t.Error(told)
	}
	if _, told := printed(t, "explain", "-model", model, "-graph", "0"); strings.Contains(told, "guessed") {
		t.Error(told)
	}
	out, _ := printed(t, "inspect", model)
	for _, args := range [][]string{{"inspect", "-model", model}, {"inspect", "file://" + model}} {
		if named, _ := printed(t, args...); named != out {
			t.Errorf("%q: %s, want %s", args, named, out)
		}
	}
	for _, want := range []string{"step 1: channel By=", "assemble K=10\n", "  settings: dropout -1, ", "  target: deviation 0, mean 0\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if strings.ContainsAny(out, "{}") {
		t.Error(out)
	}
}
