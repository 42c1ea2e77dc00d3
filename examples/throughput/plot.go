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

// chart is a plot of rates, both of its axes logarithmic.
type chart struct {
	*picture.Chart
	lines int
}

func newChart(c *config, x string) *chart {
	y := "fields/s of one worker, ± 2 standard errors"
	if c.workers > 1 {
		y = fmt.Sprintf("fields/s of %d workers, ± 2 standard errors", c.workers)
	}
	if c.cpu {
		y += ", by processor time"
	}
	p := &chart{Chart: picture.New("Receptive fields per second", x, y)}
	p.Logarithmic()
	return p
}

// rates adds a line through the rates of some cells, with bars of two standard errors.
func (p *chart) rates(name string, at plotter.XYs, cells []cell) {
	hue, errors := palette[p.lines%len(palette)], make([]float64, len(cells))
	for i, cell := range cells {
		errors[i] = min(2*cell.SE, cell.FieldsPerS/2) // a logarithm has to be left
	}
	p.Line("", at, hue, 1.6)
	p.Keys = p.Keys[:len(p.Keys)-1]
	p.Points(name, at, errors, hue, shapes[p.lines%len(shapes)])
	p.lines++
}

// File is the plot of fields per second over k, with what the paper reports as dashed lines; with
// several sizes over the number of edges, a line for each graph, k and bound.
func (r *report) File(_, path string) ([]byte, error) {
	c := r.c
	p := newChart(c, "k, nodes per field")
	if len(c.n) > 1 {
		p = newChart(c, "edges")
		p.overEdges(c, r.Results)
	} else {
		p.overK(c, r.Results)
	}
	return p.File(18*vg.Centimeter, 11*vg.Centimeter, path)
}

func (p *chart) overK(c *config, results []result) {
	for _, r := range results {
		for cells := range slices.Chunk(r.Cells, len(c.k)) {
			var at plotter.XYs
			for _, cell := range cells {
				at = append(at, plotter.XY{X: float64(cell.K), Y: cell.FieldsPerS})
			}
			name := r.Graph
			if cells[0].Bound > 0 {
				name = fmt.Sprintf("%s, bound %d", name, cells[0].Bound)
			}
			p.rates(name, at, cells)
		}
	}
	p.Line("the paper, at least", plotter.XYs{{X: 5, Y: 1000}, {X: 10, Y: 1000}, {X: 50, Y: 100}}, color.Black, 1.6, picture.Dashes...)
	p.Line("the paper, email-Enron", plotter.XYs{{X: 5, Y: 600}, {X: 10, Y: 320}}, picture.Red, 1.6, picture.Dashes...)
}

func (p *chart) overEdges(c *config, results []result) {
	for _, name := range c.graphs {
		for i := range len(c.bound) * len(c.k) {
			var at plotter.XYs
			var cells []cell
			for _, r := range results {
				if r.Graph == name {
					at = append(at, plotter.XY{X: float64(r.Edges), Y: r.Cells[i].FieldsPerS})
					cells = append(cells, r.Cells[i])
				}
			}
			if len(at) > 0 { // a real graph may not be there
				p.rates(name+", "+heading(cells[0].K, cells[0].Bound), at, cells)
			}
		}
	}
}
