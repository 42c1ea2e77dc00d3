package page

import (
	"math"

	"github.com/sanflow/sanflow/flow/graph"
)

// Point is a place in a drawing.
type Point struct{ X, Y float64 }

// Layout places the nodes of a graph so that distances on paper are like those in the graph:
// it lessens Σ (|pᵤ-pᵥ| - dᵤᵥ)² / dᵤᵥ² over all pairs by majorization (Gansner, Koren and
// North, Graph Drawing by Stress Majorization, GD 2004), from a circle in the order of the
// nodes. Arcs count either way. Nodes that no path joins are as far apart as the graph is
// wide, and a little more. The result lies within -1 to 1, wider than high, and touches both
// ends of the width. O(n² · rounds + n m), for some hundreds of nodes.
func Layout(g *graph.Graph) []Point {
	n := g.N()
	p := make([]Point, n)
	if n < 2 {
		return p
	}
	d := distances(g)
	for v := range p {
		sin, cos := math.Sincos(2 * math.Pi * float64(v) / float64(n))
		p[v] = Point{float64(n) / 4 * sin, float64(n) / 4 * cos}
	}
	const rounds = 300
	for range rounds {
		// Nodes move one by one, by the current places of the others.
		for u := range p {
			var x, y, sum float64
			for v := range p {
				if u == v {
					continue
				}
				far := d[u*n+v]
				w := 1 / (far * far)
				dx, dy := p[u].X-p[v].X, p[u].Y-p[v].Y
				length := math.Max(math.Hypot(dx, dy), 1e-9)
				x += w * (p[v].X + far*dx/length)
				y += w * (p[v].Y + far*dy/length)
				sum += w
			}
			p[u] = Point{x / sum, y / sum}
		}
	}
	fill(p)
	return p
}

// distances returns the number of hops between each two nodes, arcs either way. Without a path it is the largest number + 0.5.
func distances(g *graph.Graph) []float64 {
	n := g.N()
	offsets, tails, _ := g.Transpose()
	d := make([]float64, n*n)
	for i := range d {
		d[i] = -1
	}
	widest := 0.0
	for s := range n {
		row := d[s*n : (s+1)*n]
		row[s] = 0
		queue := []int32{int32(s)}
		for len(queue) > 0 {
			u := queue[0]
			queue = queue[1:]
			for _, near := range [2][]int32{g.Adj(u), tails[offsets[u]:offsets[u+1]]} {
				for _, v := range near {
					if row[v] < 0 {
						row[v] = row[u] + 1
						widest = max(widest, row[v])
						queue = append(queue, v)
					}
				}
			}
		}
	}
	for i, v := range d {
		if v < 0 {
			d[i] = widest + 0.5
		}
	}
	return d
}

// fill turns the drawing so that it is wider than high, and stretches it evenly to the square.
func fill(p []Point) {
	var mx, my float64
	for _, q := range p {
		mx += q.X / float64(len(p))
		my += q.Y / float64(len(p))
	}
	var xx, xy, yy float64
	for _, q := range p {
		xx += (q.X - mx) * (q.X - mx)
		xy += (q.X - mx) * (q.Y - my)
		yy += (q.Y - my) * (q.Y - my)
	}
	sin, cos := math.Sincos(-math.Atan2(2*xy, xx-yy) / 2)
	low, high := Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	for i, q := range p {
		x, y := q.X-mx, q.Y-my
		p[i] = Point{cos*x - sin*y, sin*x + cos*y}
		low = Point{min(low.X, p[i].X), min(low.Y, p[i].Y)}
		high = Point{max(high.X, p[i].X), max(high.Y, p[i].Y)}
	}
	scale := 2 / math.Max(math.Max(high.X-low.X, high.Y-low.Y), 1e-9)
	for i, q := range p {
		p[i] = Point{(q.X - (low.X+high.X)/2) * scale, (q.Y - (low.Y+high.Y)/2) * scale}
	}
}
