package main

import (
	"math"

	"github.com/sanflow/sanflow/flow/graph"
)

// point is a place in a drawing.
type point struct{ x, y float64 }

// layout places the nodes of a graph so that distances on paper are like
// those in the graph: it lessens Σ (|pᵤ-pᵥ| - dᵤᵥ)² / dᵤᵥ² over all pairs by
// majorization (Gansner, Koren and North, Graph Drawing by Stress Majorization,
// GD 2004), from a circle in the order of the nodes. Nodes that no path
// joins are as far apart as the graph is wide, and a little more. The result
// fills the square from -1 to 1. O(n² · rounds + n m).
func layout(n int, adj func(v int) []int32) []point {
	p := make([]point, n)
	if n == 1 {
		return p
	}
	d := distances(n, adj)
	for v := range p {
		sin, cos := math.Sincos(2 * math.Pi * float64(v) / float64(n))
		p[v] = point{float64(n) / 4 * sin, float64(n) / 4 * cos}
	}
	const rounds = 300
	for range rounds {
		// Node by node, each against where the others are now.
		for u := range p {
			var x, y, sum float64
			for v := range p {
				if u == v {
					continue
				}
				far := d[u*n+v]
				w := 1 / (far * far)
				dx, dy := p[u].x-p[v].x, p[u].y-p[v].y
				length := math.Max(math.Hypot(dx, dy), 1e-9)
				x += w * (p[v].x + far*dx/length)
				y += w * (p[v].y + far*dy/length)
				sum += w
			}
			p[u] = point{x / sum, y / sum}
		}
	}
	fill(p)
	return p
}

// distances returns the number of hops between every two nodes.
func distances(n int, adj func(v int) []int32) []float64 {
	d := make([]float64, n*n)
	for i := range d {
		d[i] = -1
	}
	widest := 0.0
	for s := range n {
		row := d[s*n : (s+1)*n]
		row[s] = 0
		queue := []int{s}
		for len(queue) > 0 {
			u := queue[0]
			queue = queue[1:]
			for _, v := range adj(u) {
				if row[v] < 0 {
					row[v] = row[u] + 1
					widest = max(widest, row[v])
					queue = append(queue, int(v))
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

// fill turns the drawing so that it is wider than high, and stretches it evenly
// to the square.
func fill(p []point) {
	var mx, my float64
	for _, q := range p {
		mx += q.x / float64(len(p))
		my += q.y / float64(len(p))
	}
	var xx, xy, yy float64
	for _, q := range p {
		xx += (q.x - mx) * (q.x - mx)
		xy += (q.x - mx) * (q.y - my)
		yy += (q.y - my) * (q.y - my)
	}
	sin, cos := math.Sincos(-math.Atan2(2*xy, xx-yy) / 2)
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for i, q := range p {
		x, y := q.x-mx, q.y-my
		p[i] = point{cos*x - sin*y, sin*x + cos*y}
		low = point{min(low.x, p[i].x), min(low.y, p[i].y)}
		high = point{max(high.x, p[i].x), max(high.y, p[i].y)}
	}
	scale := 2 / math.Max(math.Max(high.x-low.x, high.y-low.y), 1e-9)
	for i, q := range p {
		p[i] = point{(q.x - (low.x+high.x)/2) * scale, (q.y - (low.y+high.y)/2) * scale}
	}
}

// drawing is a graph and where its nodes go.
type drawing struct {
	at    []point
	edges [][2]int
	root  int      // the node to mark, or -1
	names []string // of the nodes; nil: they are not shown
}

// portrait draws a whole graph; with its nodes' names where there is room for
// them.
func portrait(g *graph.Graph, name func(v int32) string) *drawing {
	d := &drawing{root: -1}
	for v := range int32(g.N()) {
		if g.N() <= 60 {
			d.names = append(d.names, name(v))
		}
	}
	d.at = layout(g.N(), func(v int) []int32 { return g.Adj(int32(v)) })
	for u := range g.N() {
		for _, v := range g.Adj(int32(u)) {
			if u < int(v) {
				d.edges = append(d.edges, [2]int{u, int(v)})
			}
		}
	}
	return d
}

// ofMatrix draws the graph of a k×k matrix, of which the part above the diagonal
// counts; name, where it is not nil, is what the node at a place is called. Nodes without an edge are left out, but for the root.
func ofMatrix(x []float32, k int, name func(place int) string) *drawing {
	d := &drawing{}
	var node []int // places in the matrix
	for i := range k {
		joined := i == 0
		for j := range k {
			joined = joined || x[min(i, j)*k+max(i, j)] != 0 && i != j
		}
		if joined {
			node = append(node, i)
			if name != nil {
				d.names = append(d.names, name(i))
			}
		}
	}
	adj := make([][]int32, len(node))
	for a, i := range node {
		for b, j := range node {
			if i < j && x[i*k+j] != 0 {
				d.edges = append(d.edges, [2]int{a, b})
				adj[a], adj[b] = append(adj[a], int32(b)), append(adj[b], int32(a))
			}
		}
	}
	d.at = layout(len(node), func(v int) []int32 { return adj[v] })
	return d
}
