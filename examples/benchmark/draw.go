package main

import (
	"bytes"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	plotDraw "gonum.org/v1/plot/vg/draw"

	"github.com/sanflow/sanflow/examples/internal/picture"
)

// draw is the picture of -out: a row per collection with a panel for each protocol,
// dots with bars of one deviation over the folds, and the paper's figures as ticks.
func (r *report) draw(format string) ([]byte, error) {
	height := vg.Length(len(r.Collections)) * 6 * vg.Centimeter
	w, err := plotDraw.NewFormattedCanvas(24*vg.Centimeter, height, format)
	if err != nil {
		return nil, err
	}
	canvas := plotDraw.New(w)
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	tiles := plotDraw.Tiles{Rows: len(r.Collections), Cols: 2, PadX: vg.Points(12), PadY: vg.Points(10),
		PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(8)}
	for i, of := range r.Collections {
		for j, protocol := range []string{"nested", "paper"} {
			p, err := r.panel(of.Name, protocol)
			if err != nil {
				return nil, err
			}
			p.Draw(tiles.At(canvas, j, i))
		}
	}
	var out bytes.Buffer
	_, err = w.WriteTo(&out)
	return out.Bytes(), err
}

// panel is one collection by one protocol.
func (r *report) panel(name, protocol string) (*plot.Plot, error) {
	p := picture.New()
	p.Title.Text = name + ", " + map[string]string{"nested": "nested", "paper": "paper-style"}[protocol]
	p.Y.Label.Text = "accuracy, %"
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, color.Gray{215}
	p.Add(grid)
	var dots withBars
	var ticks plotter.XYs
	var names []string
	for i, one := range r.row(name) {
		names = append(names, one.System)
		if one.Figure != nil {
			ticks = append(ticks, plotter.XY{X: float64(i), Y: *one.Figure})
		}
		if one.Status != done {
			continue
		}
		y, std := *one.Nested, *one.Std
		if protocol == "paper" {
			y, std = *one.Paper, *one.PaperStd
		}
		dots.XYs = append(dots.XYs, plotter.XY{X: float64(i), Y: y})
		dots.std = append(dots.std, std)
	}
	if err := addDots(p, dots, ticks); err != nil {
		return nil, err
	}
	p.NominalX(names...)
	p.X.Tick.Label.Rotation = 0.6
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = plotDraw.XRight, plotDraw.YTop
	p.X.Min, p.X.Max = -.6, float64(len(names))-.4
	return p, nil
}

// addDots draws our figures and the paper's.
func addDots(p *plot.Plot, dots withBars, ticks plotter.XYs) error {
	if len(ticks) > 0 {
		s, err := plotter.NewScatter(ticks)
		if err != nil {
			return err
		}
		s.Color, s.Radius, s.Shape = picture.Red, vg.Points(7), dash{}
		p.Add(s)
	}
	if len(dots.XYs) == 0 {
		return nil
	}
	bars, err := plotter.NewYErrorBars(dots)
	if err != nil {
		return err
	}
	bars.Color = picture.Blue
	s, err := plotter.NewScatter(dots.XYs)
	if err != nil {
		return err
	}
	s.Color, s.Radius, s.Shape = picture.Blue, vg.Points(3), plotDraw.CircleGlyph{}
	p.Add(bars, s)
	return nil
}

// withBars are points with a deviation to either side.
type withBars struct {
	plotter.XYs
	std []float64
}

func (b withBars) YError(i int) (low, high float64) { return b.std[i], b.std[i] }

// dash is a short horizontal line.
type dash struct{}

func (dash) DrawGlyph(c *plotDraw.Canvas, style plotDraw.GlyphStyle, at vg.Point) {
	var path vg.Path
	path.Move(vg.Point{X: at.X - style.Radius, Y: at.Y})
	path.Line(vg.Point{X: at.X + style.Radius, Y: at.Y})
	c.SetLineStyle(plotDraw.LineStyle{Color: style.Color, Width: vg.Points(2)})
	c.Stroke(path)
}
