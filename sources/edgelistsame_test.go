package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/klauspost/compress/zstd"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources/internal/readtest"
)

// same compares what is read on several processors, in pieces, and what is read of a Reader, with
// what is read line by line: the graph, the ids, the counts, and the line of the error.
func same(t *testing.T, name string, s func(workers int) EdgeList) {
	t.Helper()
	want, wantErr := plainRead(context.Background(), s(0))
	for _, workers := range []int{0, 1, 3} {
		list := s(workers)
		if list.Reader != nil && workers > 0 {
			text, err := io.ReadAll(list.Reader)
			if err != nil {
				t.Fatal(err)
			}
			list.Path, list.Reader, list.FS = cmp.Or(list.Path, "x"), nil, readtest.MapFS(map[string]string{cmp.Or(list.Path, "x"): string(text)})
		}
		got, err := readEdges(list)
		place, wantPlace := new(FileError), new(FileError)
		switch {
		case errors.As(err, &place) != errors.As(wantErr, &wantPlace), place.Line != wantPlace.Line:
			t.Fatalf("%s: %d workers: %v, want %v", name, workers, err, wantErr)
		case err != nil:
		case got.Stats != want.Stats || !slices.Equal(got.IDs.Ints(), want.IDs.Ints()) || got.IDs.Kind() != want.IDs.Kind() ||
			!slices.Equal(got.Graph.Offsets, want.Graph.Offsets) || !slices.Equal(got.Graph.Neighbors, want.Graph.Neighbors) ||
			got.Graph.Directed != want.Graph.Directed || got.Graph.EdgeAttrs != want.Graph.EdgeAttrs || !sameBytes(got.Graph.EdgeAttr, want.Graph.EdgeAttr) || !slices.Equal(got.NodeClass, want.NodeClass):
			t.Fatalf("%s: %d workers: %+v, want %+v: another graph, ids or classes", name, workers, got.Stats, want.Stats)
		}
	}
}

// A text of several pieces, whose lines are of all kinds, is what it is line by
// line; so is one with an error somewhere.
func TestEdgeListSameAsPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	odd := []string{"", "  ", "# comment", "% 7 nodes", "\t3 4", "3\t\t4", "5,6", "5 , 6", "7 8 0.25", "7,8,x", "9 9", "0 1\r", "1 2 \r", "12 1000000000", "+3 4", "2 007", "0000000003 4", "3 2147483647"}
	wrong := []string{"1", "1 a", "a 1", "-1 2", "1 -2", "1.5 2", "1 2.5", ",1 2", "1,,2", "99999999999 1", "1 2147483648", "1\r2 3", "1 2\r3", "%%MatrixMarket x", "\x00", "\"a\" \"b\""}
	texts := 10
	if os.Getenv("SANFLOW_LONG") != "" {
		texts = 200
	}
	for i := range texts {
		var b strings.Builder
		if rng.IntN(3) == 0 {
			b.WriteString("# 70000 nodes\n")
		}
		top := []int{50, 60_000, 1 << 30}[i%3]
		lines := rng.IntN(60_000)
		at := rng.IntN(lines + 1)
		for j := range lines {
			switch {
			case j == at && i%4 == 1:
				b.WriteString(wrong[rng.IntN(len(wrong))])
			case rng.IntN(20) == 0 && i%5 > 0:
				b.WriteString(odd[rng.IntN(len(odd))])
			default:
				fmt.Fprintf(&b, "%d %d", rng.IntN(top), rng.IntN(top))
			}
			if j < lines-1 || rng.IntN(2) == 0 {
				b.WriteByte('\n')
			}
		}
		same(t, fmt.Sprint("text ", i), func(workers int) EdgeList {
			return EdgeList{Path: "x", Reader: strings.NewReader(b.String()), Directed: i%2 == 0, Workers: workers}
		})
	}
	for _, line := range append(odd, wrong...) {
		for _, end := range []string{"", "\n", "\r\n", "\n\n", "\n1 2", "\n" + strings.Repeat("1 2\n", 9)} {
			same(t, line, func(workers int) EdgeList {
				return EdgeList{Path: "x", Reader: strings.NewReader("0 1\n" + line + end), Workers: workers}
			})
		}
	}
}

// Numbers of all lengths, with whatever may stand between and behind them, are what they
// are line by line; so is any byte in the place of one of them.
func TestEdgeListNumbersSameAsPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 13))
	number := func(digits int) string {
		if digits > 9 {
			return strings.Repeat("0", digits-9) + fmt.Sprint(100_000_000+rng.IntN(900_000_000))
		}
		text := fmt.Sprintf("%09d", rng.IntN(1_000_000_000))
		return text[9-digits:]
	}
	var b strings.Builder
	for _, between := range []string{" ", "\t", ",", ", ", " ,", "  "} {
		for _, behind := range []string{"\n", "\r\n", " \n", ",\n", "\t0.5 x\n"} {
			for u := range 12 {
				for v := range 12 {
					b.WriteString(number(u+1) + between + number(v+1) + behind)
				}
			}
		}
	}
	same(t, "numbers", func(workers int) EdgeList {
		return EdgeList{Path: "x", Reader: strings.NewReader(b.String()), Workers: workers}
	})
	bytesFor := []byte("\x00\t\n\r ,-+./05:;A\x7f\x80\xb0\xba\xff")
	if os.Getenv("SANFLOW_LONG") != "" {
		bytesFor = bytesFor[:0]
		for c := range 256 {
			bytesFor = append(bytesFor, byte(c))
		}
	}
	const lines = "12345678 1234567\n"
	for at := range lines {
		for _, c := range bytesFor {
			text := "1 2\n" + lines[:at] + string([]byte{c}) + lines[at+1:] + lines + lines
			same(t, fmt.Sprintf("%q", text), func(workers int) EdgeList {
				return EdgeList{Path: "x", Reader: strings.NewReader(text), Workers: workers}
			})
		}
	}
}

// Packed by zstd it is the same; cut short it is an error.
func TestEdgeListZstd(t *testing.T) {
	var b strings.Builder
	for i := range 50_000 {
		fmt.Fprintln(&b, i, i*7919%50_000)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := string(z.EncodeAll([]byte(b.String()), nil))
	want, err := readEdges(EdgeList{Reader: strings.NewReader(b.String())})
	if err != nil {
		t.Fatal(err)
	}
	got, err := readEdges(EdgeList{Path: "x", FS: readtest.MapFS(map[string]string{"x": packed})})
	if err != nil || !slices.Equal(got.Graph.Neighbors, want.Graph.Neighbors) || got.Stats != want.Stats {
		t.Errorf("%v, %+v, want %+v", err, got, want.Stats)
	}
	for _, bad := range []string{packed[:len(packed)-9], packed[:40]} {
		_, err := readEdges(EdgeList{Path: "x", Reader: strings.NewReader(bad)})
		if err == nil || err.Error() != "sources: x: zstd: the file is cut short: unexpected EOF" {
			t.Errorf("%v", err)
		}
	}
}

// Progress ends at the size of the file.
func TestEdgeListProgress(t *testing.T) {
	text := strings.Repeat("1 2\n3 4\n", 200_000)
	last, size := int64(-1), int64(0)
	s := EdgeList{Path: "x", FS: readtest.MapFS(map[string]string{"x": text}), Progress: func(read, of int64) {
		if read < last {
			t.Errorf("%d bytes after %d", read, last)
		}
		last, size = read, of
	}}
	if _, err := readEdges(s); err != nil || last != int64(len(text)) || size != last {
		t.Errorf("%d of %d bytes, want %d; %v", last, size, len(text), err)
	}
}

func sameBytes(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// Weights are those of the first line of an edge, whichever worker reads which piece, and
// the mapped file of the graph keeps them. Lines without one are errors.
func TestEdgeListWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 11))
	odd := []string{"", "# 3 nodes", "3 4 1e-3", "5,6,-0", "5 , 6 ,\t007", "7 8 +2 9", "9 9 1", "1 0 3.4e38\r", "2 1 16777217", "0 2 0.1", "1 2 -0"}
	wrong := []string{"1 2", "1 2 ", "1 2,", "1 2 x", "1 2 NaN", "1 2 inf", "1 2 1e39", "1 -2 3", "1", "a b c"}
	for i := range 5 {
		var b strings.Builder
		top := []int{30, 3000, 1 << 30}[i%3]
		lines := rng.IntN(30_000)
		at := rng.IntN(lines + 1)
		for j := range lines {
			switch {
			case j == at && i%4 == 3:
				b.WriteString(wrong[rng.IntN(len(wrong))])
			case rng.IntN(20) == 0 && i%5 > 0:
				b.WriteString(odd[rng.IntN(len(odd))])
			default:
				fmt.Fprintf(&b, "%d %d %g", rng.IntN(top), rng.IntN(top), float32(rng.IntN(100))/8)
			}
			b.WriteByte('\n')
		}
		text := b.String()
		if i%2 == 1 {
			text = pack(t, text)
		}
		same(t, fmt.Sprint("text ", i), func(workers int) EdgeList {
			return EdgeList{Path: "x", Reader: strings.NewReader(text), Directed: i%2 == 0, Workers: workers, Weights: true}
		})
	}
	for _, line := range append(odd, wrong...) {
		for _, end := range []string{"", "\n", "\n1 2 9"} {
			same(t, line, func(workers int) EdgeList {
				return EdgeList{Path: "x", Reader: strings.NewReader("0 1 2\n" + line + end), Workers: workers, Weights: true}
			})
		}
	}
	set, err := EdgeList{Reader: strings.NewReader("1 0 0.5\n0 1 7\n1 2 -3\n1 2 -3\n"), Weights: true}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := set.Items[0].Graph
	if !slices.Equal(list.EdgeAttr, []float32{.5, .5, -3, -3}) || set.Stats.Conflicts != 1 || list.Check() != nil {
		t.Errorf("weights %v, %+v", list.EdgeAttr, set.Stats)
	}
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	r := set.Reader(mem)
	defer r.Close()
	rec, gs := first(t, r)
	defer rec.Release()
	var g graph.Graph
	if gs.At(0, &g); !g.Same(list) || len(gs.Layout.EdgeAttr) != 1 || gs.Layout.EdgeAttr[0].Name != "weight" {
		t.Errorf("the record has another graph, or a copy: %+v", gs.Layout)
	}
}
