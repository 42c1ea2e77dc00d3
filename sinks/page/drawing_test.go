package page

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/sanflow/sanflow/flow/graph"
)

// Texts beside circles lie within the drawing, and cover neither a circle nor each other.
func TestLetters(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 2, 9, 40, 132} {
		var edges []graph.Edge
		for v := 1; v < n; v++ {
			edges = append(edges, graph.Edge{U: int32(random.IntN(v)), V: int32(v)})
		}
		g, err := graph.New(n, false, edges)
		if err != nil {
			t.Fatal(err)
		}
		d := newDrawing(g, "", 600, func(u, v int32, m *mark) {
			if u == v {
				m.Beside, m.Asked = fmt.Sprintf("account:%d", 1_000_000*v), v == 0
			}
		})
		written := 0
		for i, m := range d.Nodes {
			if m.Beside == "" {
				continue
			}
			written++
			wide := 7 * utf8.RuneCountInString(m.Beside)
			if x := m.BesideX - wide/2; x < d.Left || x+wide > d.Left+d.Width || m.BesideY < 0 || m.BesideY+7 > d.Height {
				t.Errorf("%d nodes: the text at %d, %d is cut", n, m.BesideX, m.BesideY)
			}
			for j, other := range d.Nodes {
				if abs(other.X1-m.BesideX) < wide/2+other.Size && abs(other.Y1-m.BesideY) < 6+other.Size {
					t.Errorf("%d nodes: the text of node %d is over node %d", n, i, j)
				}
				if i < j && other.Beside != "" && abs(other.BesideX-m.BesideX) < wide && abs(other.BesideY-m.BesideY) < 12 {
					t.Errorf("%d nodes: the texts of %d and %d are over each other", n, i, j)
				}
			}
		}
		if written == 0 {
			t.Errorf("of %d nodes none has a text", n)
		}
	}
}
