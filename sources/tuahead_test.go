package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest/leak"
)

// inPieces is a collection that is read ahead whatever its size.
type inPieces struct {
	TU
	size int
}

func (p inPieces) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	return p.open(ctx, mem, p.size)
}

// aheadOf compares a collection that is read in pieces, ahead, with one that is read
// line by line: graphs, counts, and the error with its place.
func aheadOf(t *testing.T, name string, tu TU) {
	t.Helper()
	tu.Workers = 1
	want, _, reader, wantErr := readAll(t, tu)
	var stats TUStats
	if wantErr == nil {
		stats = reader.(*TUReader).Stats()
	}
	for _, pieces := range []int{7, 100} {
		tu.Workers = 1 + pieces%4
		got, _, reader, err := readAll(t, inPieces{tu, pieces})
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || len(got) != len(want) {
			t.Fatalf("%s, in pieces of %d: %d graphs and %v, want %d and %v", name, pieces, len(got), err, len(want), wantErr)
		}
		for i := range got {
			if !sameGraph(&got[i].G, &want[i].G) {
				t.Fatalf("%s, in pieces of %d: graph %d is another", name, pieces, i)
			}
		}
		if err == nil {
			if s := reader.(*TUReader).Stats(); fmt.Sprint(s) != fmt.Sprint(stats) {
				t.Fatalf("%s, in pieces of %d: %+v, want %+v", name, pieces, s, stats)
			}
		}
	}
}

// Collections whose edges stand in any order, on lines of all kinds, with an error
// somewhere or without one.
func TestTUAhead(t *testing.T) {
	defer leak.VerifyNone(t)
	rng := rand.New(rand.NewPCG(21, 22))
	odd := []string{"1 2", "1,2", " 1, 2", "2, 1 ", "1 ,2\r", "+1, 2", "001, 2", "0000000001, 2", "1, 1", "1, 2\t"}
	wrong := []string{"", "x", "1", "1, 2, 3", "0, 1", "1, 99999", "1, 60", "-1, 2", "1 2147483648", strings.Repeat("9", 3000), "1, 2\x00", " "}
	for i := range 24 {
		files := triangle()
		delete(files, "T_edge_labels.txt")
		delete(files, "T_edge_attributes.txt")
		delete(files, "T_node_labels.txt")
		delete(files, "T_node_attributes.txt")
		const nodes, graphs = 60, 6
		var a, indicator, labels strings.Builder
		for v := range nodes {
			fmt.Fprintln(&indicator, 1+v*graphs/nodes)
		}
		for g := range graphs {
			fmt.Fprintln(&labels, g%2)
		}
		lines := rng.IntN(300)
		at := rng.IntN(lines + 1)
		for j := range lines {
			g := j * graphs / lines
			if i%3 == 1 {
				g = rng.IntN(graphs) // not grouped
			}
			each := nodes / graphs
			switch {
			case i%2 == 1 && j == at:
				a.WriteString(wrong[i/2%len(wrong)])
			case i%5 == 2 && g == 0 && rng.IntN(9) == 0:
				a.WriteString(odd[rng.IntN(len(odd))])
			default:
				fmt.Fprintf(&a, "%d, %d", 1+g*each+rng.IntN(each), 1+g*each+rng.IntN(each))
			}
			if j < lines-1 || rng.IntN(2) == 0 {
				a.WriteByte('\n')
			}
		}
		a.WriteString(strings.Repeat("\n", rng.IntN(3)))
		files["T_A.txt"], files["T_graph_indicator.txt"], files["T_graph_labels.txt"] = a.String(), indicator.String(), labels.String()
		delete(files, "T_graph_attributes.txt")
		tu := TU{FS: mapFS(files), Rows: 2, Directed: i%4 == 0}
		aheadOf(t, fmt.Sprint("collection ", i), tu)
		tu.MaxBytes = int64(1 + rng.IntN(2000))
		aheadOf(t, fmt.Sprint("a bound on collection ", i), tu)
	}
	aheadOf(t, "triangle", TU{FS: mapFS(triangle())})
	long := triangle()
	long["T_A.txt"] += strings.Repeat("7", maxLine+9)
	aheadOf(t, "a long line", TU{FS: mapFS(long)})
}

// A reader that stops, or is stopped, leaves no goroutine.
func TestTUAheadEnds(t *testing.T) {
	defer leak.VerifyNone(t)
	files := triangle()
	delete(files, "T_edge_labels.txt")
	delete(files, "T_edge_attributes.txt")
	files["T_A.txt"] = strings.Repeat(files["T_A.txt"], 1000)
	tu := inPieces{TU{FS: mapFS(files), Rows: 1, Workers: 3}, 50}
	r, err := tu.Open(t.Context(), memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := tu.Open(ctx, memory.DefaultAllocator); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	// As many workers as have room, however many are asked for.
	for _, c := range []struct{ memory, workers, want int }{{0, 1000, 62}, {1 << 30, 2, 2}, {64 << 20, 1000, 2}, {48 << 20, 3, 1}, {1 << 20, 3, -2}} {
		most, err := newBudget("TU", int64(c.memory), 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		f, err := openFiles(TU{FS: mapFS(files), Workers: c.workers}, most)
		if err != nil || f.workers != c.want {
			t.Errorf("%+v: %d workers, %v", c, f.workers, err)
		}
	}
	// A file that cannot be read on.
	a := readAhead(io.MultiReader(strings.NewReader("1, 2\n1, "), goneDisk{}), &tuIndex{graphOf: make([]int32, 2), start: []int32{0, 2}}, 2, 64, 1000)
	e := edgeReader{l: &lines{file: "x", r: io.NopCloser(nil), limit: 1000, alive: func() error { return nil }}, x: a.x, ahead: a}
	if u, v, err := e.next(); u != 0 || v != 1 || err != nil {
		t.Errorf("%d, %d, %v", u, v, err)
	}
	if _, _, err := e.next(); !errors.Is(err, errGone) {
		t.Errorf("%v", err)
	}
	if err := e.close(); err != nil {
		t.Error(err)
	}
}

var errGone = errors.New("the disk is gone")

type goneDisk struct{}

func (goneDisk) Read([]byte) (int, error) { return 0, errGone }
