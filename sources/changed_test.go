package sources

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
)

// changing is a directory of which one file is another when it is opened again.
type changing struct {
	fs.FS
	name  string
	later fs.FS
	opens *int
}

func (c changing) Open(name string) (fs.File, error) {
	if name == c.name {
		if *c.opens++; *c.opens > 1 {
			return c.later.Open(name)
		}
	}
	return c.FS.Open(name)
}

// ReadDir is for fs.Glob, which opens what it looks into.
func (c changing) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(c.FS, name) }

// A file that is not what it was when it was checked is an error, never a graph
// with fewer or more edges.
func TestTUChanges(t *testing.T) {
	const changed = "graph %d has more or fewer lines than before: the file has changed"
	for _, grouped := range []bool{true, false} {
		files := map[string]string{
			"T_A.txt":               "1 2\n2 1\n3 4\n4 3\n4 5\n5 4\n",
			"T_graph_indicator.txt": "1\n1\n2\n2\n2\n", "T_graph_labels.txt": "1\n2\n", "T_node_labels.txt": "1\n2\n1\n2\n1\n",
		}
		if !grouped {
			files["T_A.txt"] = "3 4\n1 2\n4 3\n4 5\n2 1\n5 4\n"
		}
		lines := strings.SplitAfter(files["T_A.txt"], "\n")
		for _, c := range []struct {
			name, text, want string
		}{
			{"T_A.txt", files["T_A.txt"], ""},
			{"T_A.txt", strings.Join(lines[:5], ""), fmt.Sprintf(changed, 2)},
			{"T_A.txt", "", "has changed"},
			{"T_A.txt", strings.Join(append([]string{"1 2\n"}, lines...), ""), fmt.Sprintf(changed, 1)},
			{"T_A.txt", files["T_A.txt"] + "4 5\n", fmt.Sprintf(changed, 2)},
			{"T_node_labels.txt", "1\n2\n1\n", "ends too early"},
			{"T_node_labels.txt", "1\n2\n3\n1\n1\n", "label 3 was not there before"},
		} {
			later := map[string]string{c.name: c.text}
			_, _, _, err := readAll(t, TU{FS: changing{mapFS(files), c.name, mapFS(later), new(int)}})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("grouped %t, %s is %q later: %v, want %s", grouped, c.name, c.text, err, c.want)
			}
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// An error that wraps io.EOF is not the end of a file.
func TestLostIsNoEnd(t *testing.T) {
	lost := fmt.Errorf("connection lost: %w", io.EOF)
	cut := func(text string) io.Reader { return io.MultiReader(strings.NewReader(text), failing{lost}) }
	for _, s := range []flow.Source{
		EdgeList{Path: "x", Reader: cut("0 1\n1 2\n")},
		EdgeList{Path: "x", Reader: cut("")},
		Graph6{Path: "x", Reader: cut("Bw\nBw\n"), Rows: 1},
		Graph6{Path: "x", Reader: cut("")},
		DOT{Path: "x", Reader: cut("graph {}")},
		IPC{Path: "x", Reader: cut("")},
	} {
		err := flow.From(s).To(nowhere{}).Run(t.Context())
		if !errors.Is(err, lost) {
			t.Errorf("%v: the error is %v", s, err)
		}
	}
}
