package command

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/race"
)

// copied is what the tests read of a report.
type copied struct {
	Accuracy               float64
	Rows                   int
	Graphs, Repeated, Seen int
}

// Graphs of random classes, each three times in another numbering, cannot be learned: copies are in
// one part, and are counted.
func TestCopiesOfGraphs(t *testing.T) {
	race.Skip(t)
	const different, times = 80, 3
	r := rand.New(rand.NewPCG(7, 8))
	var lines []string
	for range different {
		const n = 12
		class := []string{"a", "b"}[r.IntN(2)]
		kind, edges := make([]int, n), [][2]int{}
		for v := range n {
			kind[v] = r.IntN(4)
			if v > 0 {
				edges = append(edges, [2]int{v, r.IntN(v)})
			}
		}
		for range times {
			number := r.Perm(n)
			var nodes, links []string
			for _, v := range r.Perm(n) {
				nodes = append(nodes, fmt.Sprintf(`{"id":%d,"kind":"k%d"}`, number[v], kind[v]))
			}
			for _, e := range edges {
				links = append(links, fmt.Sprintf(`{"source":%d,"target":%d,"far":"f%d"}`, number[e[0]], number[e[1]], kind[e[0]]%2))
			}
			lines = append(lines, fmt.Sprintf(`{"graph":{"class":%q},"nodes":[%s],"links":[%s]}`, class, strings.Join(nodes, ","), strings.Join(links, ",")))
		}
	}
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	data, model := clitest.File(t, "g.jsonl", strings.Join(lines, "\n")+"\n"), filepath.Join(t.TempDir(), "m")
	args := []string{"-data", data, "-class", "class", "-systems", "words", "-out", model}
	got := clitest.JSON[copied](t, train, args...)
	if got.Graphs != different*times || got.Repeated != different*(times-1) || got.Seen != 0 || got.Accuracy > 72 || got.Rows < 36 || got.Rows > 44 {
		t.Errorf("%+v", got)
	}
	out, _ := printed(t, append([]string{"train"}, args...)...)
	if !strings.Contains(out, "\nrepeated rows: 160 of 240 graphs are equal to an earlier one") {
		t.Error(out)
	}
}

// A molecule that is written in two ways is one, and parts that the data name are kept and counted.
func TestCopiesOfMolecules(t *testing.T) {
	race.Skip(t)
	lines := []string{"smiles,class,part"}
	for i := range 12 {
		chain := strings.Repeat("C", i+1)
		lines = append(lines,
			fmt.Sprintf("O%s,%c,%s", chain, 'a'+i%2, []string{"train", "valid", "test"}[i%3]),
			fmt.Sprintf("%sO,%c,%s", chain, 'a'+i%2, []string{"train", "train", "train", "test"}[i%4]),
			fmt.Sprintf("N%s,%c,%s", chain, 'a'+i%2, "train"))
	}
	data, out := clitest.File(t, "m.csv", strings.Join(lines, "\n")+"\n"), filepath.Join(t.TempDir(), "m")
	args := []string{"-data", data, "-smiles", "smiles", "-class", "class", "-systems", "linear", "-out", out}
	got := clitest.JSON[copied](t, train, args...)
	if got.Graphs != 36 || got.Repeated != 12 || got.Seen != 0 {
		t.Errorf("%+v", got)
	}
	// Of the pairs, in parts i%3 and i%4, 2, 3, 5 and 7 have the first or the second in the test
	// alone; 8 too, and 11 has both there.
	got = clitest.JSON[copied](t, train, append(args, "-part", "part")...)
	if got.Repeated != 12 || got.Seen != 5 {
		t.Errorf("with parts %+v", got)
	}
}
