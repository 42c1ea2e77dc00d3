package sources

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// same compares what is read on several processors, in pieces, with what is read
// line by line: the graph, the ids, the counts, and the error with its place.
func same(t *testing.T, name string, s func(workers int) EdgeList) {
	t.Helper()
	want, wantErr := plainRead(context.Background(), s(0))
	for _, workers := range []int{1, 3} {
		got, err := s(workers).Read(context.Background())
		switch {
		case fmt.Sprint(err) != fmt.Sprint(wantErr):
			t.Fatalf("%s: %d workers: %v, want %v", name, workers, err, wantErr)
		case err != nil:
		case got.Stats != want.Stats || !slices.Equal(got.IDs, want.IDs) || (got.IDs == nil) != (want.IDs == nil) ||
			!slices.Equal(got.Graph.Offsets, want.Graph.Offsets) || !slices.Equal(got.Graph.Neighbors, want.Graph.Neighbors) ||
			got.Graph.Directed != want.Graph.Directed || !slices.Equal(got.NodeClass, want.NodeClass):
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
		for _, end := range []string{"", "\n", "\r\n", "\n\n", "\n1 2"} {
			same(t, line, func(workers int) EdgeList {
				return EdgeList{Path: "x", Reader: strings.NewReader("0 1\n" + line + end), Workers: workers}
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
	got, err := readEdges(EdgeList{Path: "x", FS: mapFS(map[string]string{"x": packed})})
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
	s := EdgeList{Path: "x", FS: mapFS(map[string]string{"x": text}), Progress: func(read, of int64) {
		if read < last {
			t.Errorf("%d bytes after %d", read, last)
		}
		last, size = read, of
	}}
	if _, err := readEdges(s); err != nil || last != int64(len(text)) || size != last {
		t.Errorf("%d of %d bytes, want %d; %v", last, size, len(text), err)
	}
}
