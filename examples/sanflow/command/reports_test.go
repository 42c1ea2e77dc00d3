package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/internal/race"
)

// The command says what it leaves out, merges and guesses of tables in lines with fixed words, and
// refuses values that it would have to guess.
func TestReportsOfTables(t *testing.T) {
	race.Skip(t)
	dir := t.TempDir()
	var edges, spaces, konect, nodes, words, na []string
	edges = append(edges, ",source;first,target")
	spaces, konect = append(spaces, "userId|movieId"), append(konect, "% bip unweighted", "% a comment")
	nodes, words, na = append(nodes, "\"\",\"id\",\"c\",\"x\""), append(words, "id;c"), append(na, "id,c,x")
	for v := range 120 {
		for _, step := range []int{1, 2, 5, 5, 0} {
			edges = append(edges, fmt.Sprintf("%d,%d,%d", 5*v+step, v, (v+step)%120))
			spaces = append(spaces, fmt.Sprintf("%d|%d", v, (v+step)%120))
			konect = append(konect, fmt.Sprintf("%d %d", v, (v+step)%120))
		}
		nodes = append(nodes, fmt.Sprintf("\"%d\",%d,\"%s\",%d", v, v, []string{"a", "b"}[v%2], v%7))
		words = append(words, fmt.Sprintf("%d;%s", v, []string{"a", "NA", "b"}[v%3]))
		na = append(na, fmt.Sprintf("%d,%s,%s", v, []string{"a", "b"}[v%2], []string{"1.5", "NA"}[max(0, v-118)]))
	}
	e, n := write(t, dir, "e.csv", edges), write(t, dir, "n.csv", nodes)
	s, k := write(t, dir, "s.csv", spaces), write(t, dir, "k.edges", konect)
	for _, c := range []struct {
		args  string
		fails bool
		want  []string // in the lines, or in the error
	}{
		{"train -edges " + e + " -source source;first -nodes " + n + " -class c", false, []string{
			`ignored column "" of ` + e, `ignored column "" of ` + n, "repeated rows: 120 of 600 ", "left out: 120 of 600 rows of " + e}},
		{"train -edges " + e + " -source source;first -nodes " + n + " -class c -ignore x", false, []string{`ignored column "" of ` + n}},
		{"train -edges " + e + " -source source;first -nodes " + write(t, dir, "w.csv", words) + " -class c", false, []string{`guessed: "NA" is a value of column "c" of `}},
		{"train -task links -edges " + s + " -source userId -target movieId", false, []string{`guessed: the ids of "userId" and of "movieId" of ` + s, "repeated rows: 120 of 600 "}},
		{"train -task links -edges " + k + " -source 1 -target 2", false, []string{`guessed: the ids of "1" and of "2" of ` + k}},
		{"train -task links -edges " + s + " -source userId -target movieId -spaces one", false, []string{"left out: 120 of 600 rows of " + s}},
		{"train -task links -edges " + s + " -source userId -target movieId -separator |", false, []string{`guessed: the ids of "userId"`}},
		{"train -task links -data " + k, true, []string{"a bipartite network of KONECT", "-edges FILE"}},
		{"train -edges " + e + " -source source;first -nodes " + write(t, dir, "na.csv", na) + " -class c", true, []string{`row 120: column "x": "NA", want a finite decimal number, as other rows have; -types x=string`}},
		{"train -task links -edges " + s + " -source userId -target movieId -separator ;", true, []string{`there is no column "userId"; there are "userId|movieId"`}},
		{"train -task links -edges " + s + " -source userId -target movieId -separator ab", true, []string{`"ab", want one character, or tab`}},
		{"train -task links -edges " + s + " -source userId -target movieId -spaces both", true, []string{`-spaces is "both", want auto, one or two`}},
		{"train -task links -edges " + write(t, dir, "m.mtx", []string{"%MatrixMarket matrix coordinate", "3 3 1", "1 2"}), true, []string{"a Matrix Market file"}},
	} {
		args := append(strings.Split(c.args, " "), "-systems", "linear", "-out", filepath.Join(dir, "model"))
		var told string
		if c.fails {
			if err := run(t.Context(), args); err == nil {
				t.Errorf("%q: no error", c.args)
				continue
			} else {
				told = err.Error()
			}
		} else {
			_, told = printed(t, args...)
		}
		for _, want := range c.want {
			if !strings.Contains(told, want) {
				t.Errorf("%q: %s\nwant %s", c.args, told, want)
			}
		}
	}
}
