package main

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sinks/page"
)

// Lengths of the sheet, in pixels.
const (
	margin  = 28
	cell    = 92 // side of a picture
	gap     = 16 // between pictures
	between = 34 // between groups of pictures
	head    = 96 // title and heads of columns
	line    = cell + gap + 18

	weights = margin // left sides of the columns
	samples = weights + cell + between
	most    = samples + samplesShown*(cell+gap) - gap + between
	width   = most + fieldsShown*(cell+gap) - gap + margin
)

// sheet is an SVG file with fixed colours, which shows the same in every viewer.
type sheet struct{ bytes.Buffer }

func (s *sheet) text(x, y, size float64, attributes, text string) {
	fmt.Fprintf(s, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" %s>%s</text>\n", x, y, size, attributes, html.EscapeString(text))
}

// draw returns the figure, with a line for each motif.
func (r *report) draw(ctx context.Context) ([]byte, error) {
	legend := []string{
		"Row and column 1 of a matrix are the root, yellow in the graphs.",
		"weights: white for 0 and less, black for the largest.",
		fmt.Sprintf("alike: units whose weights point the same way (cosine > %v). + n: so many more nodes have a field with the same edges.", alike),
	}
	if r.Distinct == 1 {
		legend = append(legend, "All fields are equal: the biases describe them, the units add nothing.")
	}
	s, foot := new(sheet), head+len(r.Units)*line
	height, title := foot+18*len(legend)+margin/2, r.Graph+": features of its receptive fields"
	fmt.Fprintf(s, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %[1]d %[2]d\" role=\"img\" font-family=\"'Liberation Sans',Arimo,Arial,Helvetica,sans-serif\" fill=\"#2d2d2d\">\n", width, height)
	fmt.Fprintf(s, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", html.EscapeString(title))
	s.text(margin, 34, 17, "", title)
	s.text(margin, 54, 10.5, faint, fmt.Sprintf("%d nodes, %d edges; k = %d, 1-WL; RBM of %d hidden units, %d epochs at %v; reconstruction error %.4f", r.Nodes, r.Edges, r.K, r.Hidden, r.Epochs, r.Rate, r.Error))
	s.text(weights, head-12, 10.5, "", "weights")
	s.text(samples, head-12, 10.5, "", "sampled with that unit alone on")
	s.text(most, head-12, 10.5, "", "fields that excite it most")
	for i, m := range r.Units {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := s.motif(m, r.K, float64(head+4+i*line)); err != nil {
			return nil, err
		}
	}
	for i, l := range legend {
		s.text(margin, float64(foot+18*(i+1)), 9, faint, l)
	}
	s.WriteString("</svg>\n")
	return s.Bytes(), nil
}

const faint = `fill="#6e6e6e"`

// motif draws the line of a motif.
func (s *sheet) motif(m *motif, k int, y float64) error {
	name, high, step := fmt.Sprintf("unit %d", m.Unit), math.Max(slices.Max(m.weights), 1e-9), cell/float64(k)
	if m.Alike > 1 {
		name += fmt.Sprintf(", %d alike", m.Alike)
	}
	for i, v := range m.weights {
		shade := 255 - math.Round(235*math.Max(v, 0)/high)
		fmt.Fprintf(s, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1[3]f\" fill=\"#%02[4]x%02[4]x%02[4]x\"/>\n", weights+float64(i%k)*step, y+float64(i/k)*step, step, int(shade))
	}
	fmt.Fprintf(s, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%[3]d\" fill=\"none\" stroke=\"#828282\" stroke-width=\".6\"/>\n", weights, y, cell)
	s.text(weights, y+cell+11, 9, faint, name)
	for i, x := range m.samples {
		if err := s.graph(x, k, nil, samples+float64(i)*(cell+gap), y); err != nil {
			return err
		}
	}
	for i, f := range m.Fields {
		x := most + float64(i)*(cell+gap)
		if err := s.graph(f.matrix, k, f.names, x, y); err != nil {
			return err
		}
		below := fmt.Sprintf("node %d", f.Root)
		if f.Nodes > 1 {
			below += fmt.Sprintf(", + %d", f.Nodes-1)
		}
		s.text(x+cell/2, y+cell+11, 9, faint+` text-anchor="middle"`, below)
	}
	return nil
}

// ofMatrix returns the graph of a k×k matrix, above the diagonal, and the index in the matrix of each of its
// nodes: those with an edge, and the root.
func ofMatrix(x []float32, k int) (*graph.Graph, []int, error) {
	var places []int
	for i := range k {
		joined := i == 0
		for j := range k {
			joined = joined || x[min(i, j)*k+max(i, j)] != 0 && i != j
		}
		if joined {
			places = append(places, i)
		}
	}
	var edges []graph.Edge
	for a, i := range places {
		for b, j := range places {
			if i < j && x[i*k+j] != 0 {
				edges = append(edges, graph.Edge{U: int32(a), V: int32(b)})
			}
		}
	}
	g, err := graph.New(len(places), false, edges)
	return g, places, err
}

// graph draws the graph of a matrix, the first node as the root. names, if there are some, are those of the
// rows of the matrix.
func (s *sheet) graph(matrix []float32, k int, names []string, x, y float64) error {
	g, places, err := ofMatrix(matrix, k)
	if err != nil {
		return err
	}
	radius := 4.2 * math.Min(1, math.Sqrt(12/float64(k))) // smaller circles for more nodes
	if names != nil {
		radius = max(radius, 5.6)
	}
	at := page.Layout(g)
	for v := range at {
		at[v] = page.Point{X: x + cell/2 + at[v].X*(cell/2-radius-2), Y: y + cell/2 + at[v].Y*(cell/2-radius-2)}
	}
	for v := range at {
		for _, u := range g.Adj(int32(v)) {
			if v < int(u) {
				fmt.Fprintf(s, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#787878\"/>\n", at[v].X, at[v].Y, at[u].X, at[u].Y)
			}
		}
	}
	for v, q := range at {
		colour, letters, size := `fill="#0072b2"`, `fill="#fff" text-anchor="middle"`, radius
		if v == 0 {
			colour, letters, size = `fill="#f0e442" stroke="#2d2d2d"`, `text-anchor="middle"`, radius+0.8
		}
		fmt.Fprintf(s, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" %s/>\n", q.X, q.Y, size, colour)
		if names != nil {
			name := names[places[v]]
			size := min(1.2*radius, 3.1*radius/float64(len(name)))
			s.text(q.X, q.Y+size*0.36, size, letters, name)
		}
	}
	return nil
}
