package generate

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
)

// A graph is that of its lines, of which loops, repeats and nodes alone fall out.
func TestRMAT(t *testing.T) {
	for _, c := range []struct{ scale, lines int }{{0, 0}, {0, 9}, {1, 1}, {3, 40}, {8, 1000}, {12, 30_000}} {
		for seed := range uint64(3) {
			var edges []graph.Edge
			met := make([]bool, 1<<c.scale)
			for u, v := range RMATLines(c.scale, c.lines, seed) {
				edges = append(edges, graph.Edge{U: u, V: v})
				met[u], met[v] = met[u] || u != v, met[v] || u != v
			}
			if len(edges) != c.lines {
				t.Fatalf("%d lines, want %d", len(edges), c.lines)
			}
			n, number := int32(0), make([]int32, len(met))
			for v, m := range met {
				if number[v] = n; m {
					n++
				}
			}
			edges = slices.DeleteFunc(edges, func(e graph.Edge) bool { return e.U == e.V })
			for i, e := range edges {
				edges[i] = graph.Edge{U: number[e.U], V: number[e.V]}
			}
			want, err := graph.New(int(n), false, edges)
			want = must(t, want, err)
			g, err := RMAT(c.scale, c.lines, seed)
			if g = must(t, g, err); !slices.Equal(g.Offsets, want.Offsets) || !slices.Equal(g.Neighbors, want.Neighbors) {
				t.Errorf("scale %d, %d lines, seed %d: another graph than that of its lines", c.scale, c.lines, seed)
			}
		}
	}
}

// Each bit of the two ends is drawn with the chances of the model.
func TestRMATChances(t *testing.T) {
	const scale, lines = 10, 20_000
	count := [4]float64{}
	for u, v := range RMATLines(scale, lines, 1) {
		for bit := range scale {
			count[u>>bit&1*2+v>>bit&1]++
		}
	}
	for i, want := range [4]float64{0.57, 0.19, 0.19, 0.05} {
		if got := count[i] / scale / lines; math.Abs(got-want) > 0.005 {
			t.Errorf("ends %d–%d have a chance of %.4f, want %.2f", i/2, i%2, got, want)
		}
	}
}

// What was published with a seed must not change.
func TestRMATSameBytes(t *testing.T) {
	h := sha256.New()
	for seed := range uint64(3) {
		g, err := RMAT(9, 3000, seed)
		g = must(t, g, err)
		if err := cmp.Or(binary.Write(h, binary.LittleEndian, g.Offsets), binary.Write(h, binary.LittleEndian, g.Neighbors)); err != nil {
			t.Fatal(err)
		}
	}
	const want = "2dbe9e7072c72052"
	if got := hex.EncodeToString(h.Sum(nil)[:8]); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}
