package main

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/sanflow/sanflow/examples/internal/picture"
)

var (
	palette = []color.RGBA{picture.Blue, picture.Red, picture.Green, picture.Orange, picture.Purple, picture.Sky, picture.Gray}
	shapes  = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}}
)

// line is a line of the plot.
type line struct {
	name   string
	at     plotter.XYs
	errors []float64
}

// lines go through the rates of a graph and a bound over k, or, with several sizes of graphs, of a graph,
// a k and a bound over the number of edges; with bars of two standard errors.
func (r *report) lines(overEdges bool) (all []*line) {
	for _, of := range r.Results {
		for _, cell := range of.Cells {
			name, x := of.Graph, float64(cell.K)
			switch {
			case overEdges:
				name, x = name+", "+heading(cell.K, cell.Bound), float64(of.Edges)
			case cell.Bound > 0:
				name = fmt.Sprintf("%s, bound %d", name, cell.Bound)
			}
			i := slices.IndexFunc(all, func(l *line) bool { return l.name == name })
			if i < 0 {
				i, all = len(all), append(all, &line{name: name})
			}
			all[i].at = append(all[i].at, plotter.XY{X: x, Y: cell.FieldsPerS})
			all[i].errors = append(all[i].errors, min(2*cell.SE, cell.FieldsPerS/2)) // a logarithm has to be left
		}
	}
	return all
}

// File is the plot of fields per second, with what the paper reports as dashed lines.
func (r *report) File(_, path string) ([]byte, error) {
	overEdges, x, y := len(r.c.n) > 1, "k, nodes per field", "fields/s of one worker, ± 2 standard errors"
	if overEdges {
		x = "edges"
	}
	if r.c.workers > 1 {
		y = fmt.Sprintf("fields/s of %d workers, ± 2 standard errors", r.c.workers)
	}
	if r.c.cpu {
		y += ", by processor time"
	}
	p := picture.New("Receptive fields per second", x, y)
	p.Logarithmic()
	for i, l := range r.lines(overEdges) {
		p.Line("", l.at, palette[i%len(palette)], 1.6)
		p.Keys = p.Keys[:len(p.Keys)-1]
		p.Points(l.name, l.at, l.errors, palette[i%len(palette)], shapes[i%len(shapes)])
	}
	if !overEdges {
		p.Line("the paper, at least", plotter.XYs{{X: 5, Y: 1000}, {X: 10, Y: 1000}, {X: 50, Y: 100}}, color.Black, 1.6, picture.Dashes...)
		p.Line("the paper, email-Enron", plotter.XYs{{X: 5, Y: 600}, {X: 10, Y: 320}}, picture.Red, 1.6, picture.Dashes...)
	}
	return p.File(18*vg.Centimeter, 11*vg.Centimeter, path)
}
