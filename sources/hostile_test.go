package sources_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sources/graph6"
	"github.com/sanflow/sanflow/sources/tu"
)

// complete6 is n lines of graph6, of complete graphs.
func complete6(lines, nodes int) string {
	line := fmt.Sprintf("~%c%c%c", 63+nodes>>12, 63+nodes>>6&63, 63+nodes&63) + strings.Repeat("~", (nodes*(nodes-1)/2+5)/6) + "\n"
	return strings.Repeat(line, lines)
}

func packed(text string) io.Reader {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return &b
}

// tuZip writes a collection.
func tuZip(t *testing.T, files map[string]string) string {
	path := filepath.Join(t.TempDir(), "B.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	defer z.Close()
	for name, text := range map[string]string{"A": "", "graph_indicator": "1\n", "graph_labels": "1\n"} {
		if w, err := z.Create("B_" + name + ".txt"); err != nil {
			t.Fatal(err)
		} else if other, ok := files[name]; ok {
			_, _ = io.WriteString(w, other)
		} else {
			_, _ = io.WriteString(w, text)
		}
	}
	return path
}

// hostileFiles are small ones that stand for much, with the size of their graphs.
var hostileFiles = map[string]struct {
	csr  int
	open func(t *testing.T) flow.Source
}{
	"graph6": {4 * 5000 * 5000, func(*testing.T) flow.Source { return graph6.Source{Reader: packed(complete6(1, 5000))} }},
	"graph6 of several lines": {8 * 4 * 2500 * 2500, func(*testing.T) flow.Source {
		return graph6.Source{Reader: packed(complete6(8, 2500))}
	}},
	"TU of many labels": {0, func(t *testing.T) flow.Source {
		return tu.Source{Path: tuZip(t, map[string]string{"graph_labels": strings.Repeat("1\n", 6<<20)})}
	}},
	"TU of many values": {0, func(t *testing.T) flow.Source {
		return tu.Source{Path: tuZip(t, map[string]string{"graph_labels": strings.Repeat("0.5\n", 6<<20)})}
	}},
}

// TestHostileFiles reads each file in a process of its own, as the command fields does:
// 64 MiB and three times the rows of its graphs are enough.
func TestHostileFiles(t *testing.T) {
	if name := os.Getenv("SANFLOW_HOSTILE"); name != "" {
		src := hostileFiles[name].open(t)
		runtime.GC()
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the text is not what is measured
			t.Log(err)
		}
		before := peakMiB(t)
		err := flow.From(src).Via(operators.Roots{Nodes: []int32{0}}).Via(operators.Chunk{Size: 128}).
			Via(operators.Normalize{K: 3, Edges: true}).Run(context.Background())
		fmt.Printf("grew %d\nerror %v\n", peakMiB(t)-before, err)
		return
	}
	if testing.Short() || race.Enabled || runtime.GOOS != "linux" {
		t.Skip("memory is measured, by /proc")
	}
	for name, file := range hostileFiles {
		t.Run(name, func(t *testing.T) {
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHostileFiles$")
			c.Env = append(os.Environ(), "SANFLOW_HOSTILE="+name)
			out, err := c.CombinedOutput()
			m := regexp.MustCompile(`grew (-?\d+)\nerror (.*)\n`).FindSubmatch(out)
			if err != nil || m == nil {
				t.Fatalf("%v: %.2000s", err, out)
			}
			grew, _ := strconv.Atoi(string(m[1]))
			most := 64 + 3*file.csr>>20
			t.Logf("%d of %d MiB, %s", grew, most, m[2])
			if grew > most {
				t.Errorf("takes %d MiB, want at most %d", grew, most)
			}
			if failed := string(m[2]) != "<nil>"; failed != (file.csr == 0) {
				t.Errorf("the error is %s", m[2])
			}
		})
	}
}

// peakMiB is the most memory that this process has had.
func peakMiB(t *testing.T) int {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmHWM:\s*(\d+)`).FindSubmatch(b)
	kb, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kb >> 10
}
