package main

import (
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

// colors are those of allGraphs.
var colors = map[string]color.RGBA{
	"torus": picture.Blue, "random": picture.Sky, "power": picture.Green, "polbooks": picture.Purple,
	"preferential": picture.Orange, "astro-ph": picture.Gray, "email-Enron": picture.Red,
}

// draw plots fields per second over k, both on logarithmic axes, with what the
// paper reports as dashed lines, and bars where there was more than one pass.
func draw(out io.Writer, format string, c *config, results []result) error {
	p := picture.New()
	p.Title.Text = "Receptive fields per second"
	p.Title.Padding = vg.Points(8)
	p.X.Label.Text = "k, nodes per field"
	p.Y.Label.Text = "fields/s, " + strconv.Itoa(c.workers) + " workers"
	if c.workers == 1 {
		p.Y.Label.Text = "fields/s, one worker"
	}
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = kTicks(c.k), decades{}
	p.Legend.Left, p.Legend.Top = false, true
	p.Legend.XOffs = vg.Points(150)
	p.Legend.Padding = vg.Points(2)
	p.Legend.ThumbnailWidth = vg.Points(24)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{205}, color.Gray{230}
	p.Add(grid)

	for i, r := range results {
		points := make(plotter.XYs, len(r.Cells))
		for j, cell := range r.Cells {
			points[j].X, points[j].Y = float64(cell.K), cell.FieldsPerS
		}
		if err := line(p, r.Graph, points, colors[r.Graph], i, false); err != nil {
			return err
		}
		bars, err := plotter.NewYErrorBars(spread{points, r.Cells})
		if err != nil {
			return err
		}
		bars.Color = colors[r.Graph]
		p.Add(bars)
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
