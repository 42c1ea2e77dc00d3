package main

import (
	"context"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/sanflow/sanflow/examples/internal/picture"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sinks/page"
)

// Colours: the root is yellow as in the paper, the rest is quiet.
var (
	ink   = color.Gray{Y: 45}
	faint = color.Gray{Y: 130}
)

// Lengths of the sheet, in points.
const (
	margin  = 28
	cell    = 92 // side of a picture
	gap     = 16 // between pictures
	between = 34 // between groups of pictures
	head    = 96 // title and heads of columns
	caption = 18 // below a picture

	weights = margin // left sides of the columns
	samples = weights + cell + between
	most    = samples + samplesShown*(cell+gap) - gap + between
	width   = most + fieldsShown*(cell+gap) - gap + margin
)

// sheet returns the figure, a line for each motif, as an SVG file.
func (r *report) sheet(ctx context.Context) ([]byte, error) {
	legend := []string{
		"Row and column 1 of a matrix are the root, yellow in the graphs.",
		"weights: white for 0 and less, black for the largest.",
		fmt.Sprintf("alike: units whose weights point the same way (cosine > %v). + n: so many more nodes have a field with the same edges.", alike),
	}
	if r.Distinct == 1 {
		legend = append(legend, "All fields are equal: the biases know them, the units add nothing.")
	}
	foot := head + vg.Length(len(r.Units))*(cell+caption+gap)
	p := &painter{top: foot + vg.Length(len(legend))*caption + margin/2}
	w := vgsvg.New(width, p.top)
	p.Canvas = draw.New(w)
	p.box(0, 0, width, p.top, color.White)
	p.text(margin, 34, 17, ink, 0, r.Graph+": features of its receptive fields")
	p.text(margin, 54, 10.5, faint, 0, fmt.Sprintf("%d nodes, %d edges; k = %d, 1-WL; RBM of %d hidden units, %d epochs at %v; reconstruction error %.4f",
		r.Nodes, r.Edges, r.K, r.Hidden, r.Epochs, r.Rate, r.Error))
	for _, h := range []struct {
		x    vg.Length
		text string
	}{{weights, "weights"}, {samples, "drawn with that unit alone on"}, {most, "fields that excite it most"}} {
		p.text(h.x, head-12, 10.5, ink, 0, h.text)
	}
	p.line(p.at(margin, head-5), p.at(width-margin, head-5), color.Gray{Y: 222}, 0.8)
	for i, m := range r.Units {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := r.draw(p, m, head+4+vg.Length(i)*(cell+caption+gap)); err != nil {
			return nil, err
		}
	}
	for i, l := range legend {
		p.text(margin, foot+vg.Length(i+1)*caption, 9, faint, 0, l)
	}
	return picture.Bytes(w)
}

// draw draws the line of a motif.
func (r *report) draw(p *painter, m *motif, y vg.Length) error {
	name := fmt.Sprintf("unit %d", m.Unit)
	if m.Alike > 1 {
		name += fmt.Sprintf(", %d alike", m.Alike)
	}
	p.matrix(m.weights, r.K, weights, y, slices.Max(m.weights))
	p.text(weights, y+cell+11, 9, faint, 0, name)
	for i, x := range m.samples {
		if err := p.graph(x, r.K, nil, samples+vg.Length(i)*(cell+gap), y); err != nil {
			return err
		}
	}
	for i, f := range m.Fields {
		x := most + vg.Length(i)*(cell+gap)
		if err := p.graph(f.matrix, r.K, func(place int) string { return fmt.Sprint(r.c.id(f.members[place])) }, x, y); err != nil {
			return err
		}
		below := fmt.Sprintf("node %d", f.Root)
		if f.Nodes > 1 {
			below += fmt.Sprintf(", + %d", f.Nodes-1)
		}
		p.text(x+cell/2, y+cell+11, 9, faint, -0.5, below)
	}
	return nil
}

// painter draws with the origin at the top left.
type painter struct {
	draw.Canvas
	top vg.Length
}

func (p *painter) at(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: p.top - y} }

func (p *painter) text(x, y, size vg.Length, c color.Color, align float64, s string) {
	style := text.Style{
		Color:   c,
		Font:    font.Font{Typeface: plot.DefaultFont.Typeface, Variant: "Sans", Size: size},
		XAlign:  text.XAlignment(align),
		Handler: plot.DefaultTextHandler,
	}
	p.FillText(style, p.at(x, y), s)
}

func (p *painter) box(x, y, w, h vg.Length, c color.Color) {
	p.FillPolygon(c, []vg.Point{p.at(x, y), p.at(x+w, y), p.at(x+w, y+h), p.at(x, y+h)})
}

func (p *painter) line(a, b vg.Point, c color.Color, width vg.Length) {
	p.StrokeLine2(draw.LineStyle{Color: c, Width: width}, a.X, a.Y, b.X, b.Y)
}

// matrix draws a k×k matrix in a cell, white for 0 and less, black for high.
func (p *painter) matrix(w []float64, k int, x, y vg.Length, high float64) {
	high = math.Max(high, 1e-9)
	step := cell / vg.Length(k)
	for i, v := range w {
		shade := uint8(255 - math.Round(235*math.Max(v, 0)/high))
		p.box(x+vg.Length(i%k)*step, y+vg.Length(i/k)*step, step, step, color.Gray{Y: shade})
	}
	frame := []vg.Point{p.at(x, y), p.at(x+cell, y), p.at(x+cell, y+cell), p.at(x, y+cell), p.at(x, y)}
	p.StrokeLines(draw.LineStyle{Color: faint, Width: 0.6}, frame)
}

// ofMatrix returns the graph of a k×k matrix, above the diagonal, and the places in the matrix of its
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

// graph draws the graph of a matrix in a cell, its first node as the root. Nodes that have names are larger.
func (p *painter) graph(matrix []float32, k int, name func(place int) string, x, y vg.Length) error {
	g, places, err := ofMatrix(matrix, k)
	if err != nil {
		return err
	}
	radius := vg.Length(4.2 * math.Min(1, math.Sqrt(12/float64(k)))) // the more, the smaller
	if name != nil {
		radius = max(radius, 5.6)
	}
	inner := cell/2 - radius - 2
	at := make([]vg.Point, g.N())
	for v, q := range page.Layout(g) {
		at[v] = p.at(x+cell/2+vg.Length(q.X)*inner, y+cell/2+vg.Length(q.Y)*inner)
	}
	for v := range at {
		for _, u := range g.Adj(int32(v)) {
			if v < int(u) {
				p.line(at[v], at[u], picture.Gray, 1)
			}
		}
	}
	for v, q := range at {
		glyph, letters := draw.GlyphStyle{Color: picture.Blue, Radius: radius, Shape: draw.CircleGlyph{}}, color.Color(color.White)
		if v == 0 {
			p.DrawGlyph(draw.GlyphStyle{Color: ink, Radius: radius + 1.6, Shape: draw.CircleGlyph{}}, q)
			glyph.Color, glyph.Radius, letters = picture.Yellow, radius+0.8, ink
		}
		p.DrawGlyph(glyph, q)
		if name != nil {
			label := name(places[v])
			size := min(1.2*radius, 3.1*radius/vg.Length(len(label)))
			p.text(q.X, p.top-q.Y+size*0.36, size, letters, -0.5, label)
		}
	}
	return nil
}
