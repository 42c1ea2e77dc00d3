package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	plotDraw "gonum.org/v1/plot/vg/draw"

	"github.com/sanflow/sanflow/examples/internal/picture"
)

// colors are those of the paper's graphs, and of the first lines of other plots.
var colors = map[string]color.RGBA{
	"torus": picture.Blue, "random": picture.Sky, "power": picture.Green, "polbooks": picture.Purple,
	"preferential": picture.Orange, "astro-ph": picture.Gray, "email-Enron": picture.Red,
}

var palette = []color.RGBA{picture.Blue, picture.Red, picture.Green, picture.Orange, picture.Purple, picture.Sky, picture.Gray}

// newPlot returns an empty plot of rates, both of its axes logarithmic.
func newPlot(c *config) *plot.Plot {
	p := picture.New()
	p.Title.Text = "Receptive fields per second"
	p.Title.Padding = vg.Points(8)
	p.Y.Label.Text = "fields/s, " + strconv.Itoa(c.workers) + " workers"
	if c.workers == 1 {
		p.Y.Label.Text = "fields/s, one worker"
	}
	if c.cpu {
		p.Y.Label.Text += ", by processor time"
	}
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Y.Tick.Marker = decades{}
	p.Legend.Left, p.Legend.Top = false, true
	p.Legend.XOffs = vg.Points(150)
	p.Legend.Padding = vg.Points(2)
	p.Legend.ThumbnailWidth = vg.Points(24)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{205}, color.Gray{230}
	p.Add(grid)
	return p
}

// draw plots fields per second over k, both on logarithmic axes, with what the
// paper reports as dashed lines, and bars where there was more than one pass.
func draw(out io.Writer, format string, c *config, results []result) error {
	p := newPlot(c)
	p.X.Label.Text = "k, nodes per field"
	p.X.Tick.Marker = kTicks(c.k)

	for i, r := range results {
		for b, bound := range c.bound {
			name, hue := r.Graph, colors[r.Graph]
			if bound > 0 {
				name = fmt.Sprintf("%s, bound %d", name, bound)
			}
			if len(c.bound) > 1 || hue.A == 0 {
				hue = palette[(i*len(c.bound)+b)%len(palette)]
			}
			cells := r.Cells[b*len(c.k) : (b+1)*len(c.k)]
			points := make(plotter.XYs, len(cells))
			for j, cell := range cells {
				points[j].X, points[j].Y = float64(cell.K), cell.FieldsPerS
			}
			if err := lineWithBars(p, name, points, cells, hue, i+b); err != nil {
				return err
			}
		}
	}
	bound := plotter.XYs{{X: 5, Y: 1000}, {X: 10, Y: 1000}, {X: 50, Y: 100}}
	if err := line(p, "paper, at least", bound, color.RGBA{0, 0, 0, 255}, 0, true); err != nil {
		return err
	}
	enron := plotter.XYs{{X: 5, Y: 600}, {X: 10, Y: 320}}
	if err := line(p, "paper, email-Enron", enron, colors["email-Enron"], 0, true); err != nil {
		return err
	}
	p.X.Min, p.X.Max = min(5, float64(c.k[0]))*0.95, max(50, float64(c.k[len(c.k)-1]))*1.05
	p.Y.Min, p.Y.Max = floor10(p.Y.Min), ceil10(p.Y.Max)

	return write(out, p, format)
}

func write(out io.Writer, p *plot.Plot, format string) error {
	w, err := newCanvas(p, format)
	if err != nil {
		return err
	}
	_, err = w.WriteTo(out)
	return err
}

// spread is two standard errors of the rate to either side.
type spread struct {
	plotter.XYs
	cells []cell
}

func (s spread) YError(i int) (low, high float64) {
	e := min(2*s.cells[i].SE, s.cells[i].FieldsPerS/2) // a logarithm has to be left
	return e, e
}

// newCanvas draws the plot, with room for the legend on the right.
func newCanvas(p *plot.Plot, format string) (vg.CanvasWriterTo, error) {
	const width, height = 20 * vg.Centimeter, 12 * vg.Centimeter
	w, err := plotDraw.NewFormattedCanvas(width, height, format)
	if err != nil {
		return nil, err
	}
	canvas := plotDraw.New(w)
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	p.Draw(plotDraw.Crop(canvas, vg.Points(8), -vg.Points(158), vg.Points(8), -vg.Points(8)))
	return w, nil
}

// lineWithBars adds a line with two standard errors to either side.
func lineWithBars(p *plot.Plot, name string, points plotter.XYs, cells []cell, c color.Color, shape int) error {
	if err := line(p, name, points, c, shape, false); err != nil {
		return err
	}
	bars, err := plotter.NewYErrorBars(spread{points, cells})
	if err != nil {
		return err
	}
	bars.Color = c
	p.Add(bars)
	return nil
}

func line(p *plot.Plot, name string, points plotter.XYs, c color.Color, shape int, dashed bool) error {
	l, s, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	shapes := []plotDraw.GlyphDrawer{
		plotDraw.CircleGlyph{}, plotDraw.SquareGlyph{}, plotDraw.PyramidGlyph{}, plotDraw.BoxGlyph{}, plotDraw.RingGlyph{}, plotDraw.TriangleGlyph{},
	}
	l.Color, l.Width = c, vg.Points(1.6)
	s.Color, s.Radius, s.Shape = c, vg.Points(3), shapes[shape%len(shapes)]
	if dashed {
		l.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		s.Shape = plotDraw.CrossGlyph{}
	}
	p.Add(l, s)
	p.Legend.Add(name, l, s)
	return nil
}

// kTicks marks the sizes that were measured.
type kTicks []int

func (t kTicks) Ticks(float64, float64) (ticks []plot.Tick) {
	for _, k := range t {
		ticks = append(ticks, plot.Tick{Value: float64(k), Label: strconv.Itoa(k)})
	}
	return ticks
}

// decades marks 100, 1 k, 10 k, …, with small marks between.
type decades struct{}

func (decades) Ticks(low, high float64) (ticks []plot.Tick) {
	for v := floor10(low); v <= high*1.001; v *= 10 {
		label := strconv.FormatFloat(v, 'f', -1, 64)
		switch {
		case v >= 1e6:
			label = strconv.FormatFloat(v/1e6, 'f', -1, 64) + " M"
		case v >= 1e3:
			label = strconv.FormatFloat(v/1e3, 'f', -1, 64) + " k"
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: label})
		for i := 2.; i < 10 && v*i < high; i++ {
			ticks = append(ticks, plot.Tick{Value: v * i})
		}
	}
	return ticks
}

func floor10(x float64) float64 { return math.Pow(10, math.Floor(math.Log10(x))) }
func ceil10(x float64) float64  { return math.Pow(10, math.Ceil(math.Log10(x))) }
