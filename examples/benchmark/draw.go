package main

import (
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	plotDraw "gonum.org/v1/plot/vg/draw"

	"github.com/sanflow/sanflow/examples/internal/picture"
)

// draw is the picture of -out: a row per collection with a panel for each protocol,
// dots with bars of one deviation over the folds, the paper's figures as ticks, and
// the share of the largest class as a line.
func (r *report) draw(format string) ([]byte, error) {
	figures := false
	for _, one := range r.Cells {
		figures = figures || one.Figure != nil
	}
	legend := []picture.Key{
		{Sign: sign(drawMean), Text: fmt.Sprintf("mean over %d folds × %d; bar: one standard deviation of the folds to either side (the mean's own error is smaller)", r.Folds, r.Repeats)},
		{Sign: sign(drawMajority), Text: "share of the largest class"},
	}
	if figures {
		legend = append(legend, picture.Key{Sign: sign(drawFigure), Text: "the paper's figure"})
	}
	height := vg.Length(len(r.Collections)) * 6.5 * vg.Centimeter
	sheet, err := picture.NewSheet(26*vg.Centimeter, height, format, legend...)
	if err != nil {
		return nil, err
	}
	tiles := plotDraw.Tiles{Rows: len(r.Collections), Cols: 2, PadX: vg.Points(12), PadY: vg.Points(10),
		PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(8)}
	for i, of := range r.Collections {
		low, high := r.span(of)
		for j, protocol := range []string{"nested", "paper"} {
			p, err := r.panel(of, protocol)
			if err != nil {
				return nil, err
			}
			p.Y.Min, p.Y.Max = low, high
			p.Draw(tiles.At(sheet.Canvas, j, i))
		}
	}
	return sheet.Bytes()
}

// span is what of the scale both panels of a collection show, so that they compare.
func (r *report) span(of graphs) (low, high float64) {
	low, high = of.LargestClass, of.LargestClass
	add := func(mean, std float64) { low, high = min(low, mean-std), max(high, mean+std) }
	for _, one := range r.row(of.Name) {
		if one.Figure != nil {
			add(*one.Figure, 0)
		}
		if one.Status == done {
			add(*one.Nested, *one.Std)
			add(*one.Paper, *one.PaperStd)
		}
	}
	return low - 1, high + 1
}

// panel is one collection by one protocol.
func (r *report) panel(of graphs, protocol string) (*plot.Plot, error) {
	p := picture.New()
	p.Title.Text = of.Name + ", " + map[string]string{"nested": "nested", "paper": "paper-style"}[protocol]
	p.Y.Label.Text = "accuracy, %"
	p.Y.Tick.Marker = picture.Percent{}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, color.Gray{215}
	p.Add(grid)
	var dots withBars
	var ticks plotter.XYs
	var names []string
	for i, one := range r.row(of.Name) {
		names = append(names, one.axis())
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
	left, right := -.6, float64(len(names))-.4
	majority, err := plotter.NewLine(plotter.XYs{{X: left, Y: of.LargestClass}, {X: right, Y: of.LargestClass}})
	if err != nil {
		return nil, err
	}
	majority.LineStyle = dashed
	p.Add(majority)
	if err := addDots(p, dots, ticks); err != nil {
		return nil, err
	}
	p.NominalX(names...)
	p.X.Tick.Label.Rotation = 0.6
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = plotDraw.XRight, plotDraw.YTop
	p.X.Min, p.X.Max = left, right
	return p, nil
}

// axis is the system as it stands below a panel, where a cell may be empty.
func (one *cell) axis() string {
	switch {
	case one.Status == done:
		return one.System
	case strings.HasPrefix(one.Status, ">"):
		return one.System + " " + one.Status
	}
	return one.System + " failed"
}

// addDots draws our figures and the paper's.
func addDots(p *plot.Plot, dots withBars, ticks plotter.XYs) error {
	if len(ticks) > 0 {
		s, err := plotter.NewScatter(ticks)
		if err != nil {
			return err
		}
		s.GlyphStyle = figureStyle
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
	s.GlyphStyle = meanStyle
	p.Add(bars, s)
	return nil
}

// withBars are points with a deviation to either side.
type withBars struct {
	plotter.XYs
	std []float64
}

func (b withBars) YError(i int) (low, high float64) { return b.std[i], b.std[i] }

// The signs.
var (
	meanStyle   = plotDraw.GlyphStyle{Color: picture.Blue, Radius: vg.Points(3), Shape: plotDraw.CircleGlyph{}}
	figureStyle = plotDraw.GlyphStyle{Color: picture.Red, Radius: vg.Points(7), Shape: dash{}}
	dashed      = plotDraw.LineStyle{Color: picture.Gray, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(4), vg.Points(3)}}
)

// sign is one of them in the legend.
type sign func(*plotDraw.Canvas)

func (s sign) Thumbnail(c *plotDraw.Canvas) { s(c) }

func drawMean(c *plotDraw.Canvas) {
	at := c.Center()
	c.DrawGlyph(meanStyle, at)
	style := plotDraw.LineStyle{Color: picture.Blue, Width: vg.Points(1)}
	for _, y := range []vg.Length{c.Min.Y, c.Max.Y} {
		c.StrokeLine2(style, at.X, at.Y, at.X, y)
		c.StrokeLine2(style, at.X-vg.Points(3), y, at.X+vg.Points(3), y)
	}
}

func drawMajority(c *plotDraw.Canvas) {
	c.StrokeLine2(dashed, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
}

func drawFigure(c *plotDraw.Canvas) { c.DrawGlyph(figureStyle, c.Center()) }

// dash is a short horizontal line.
type dash struct{}

func (dash) DrawGlyph(c *plotDraw.Canvas, style plotDraw.GlyphStyle, at vg.Point) {
	var path vg.Path
	path.Move(vg.Point{X: at.X - style.Radius, Y: at.Y})
	path.Line(vg.Point{X: at.X + style.Radius, Y: at.Y})
	c.SetLineStyle(plotDraw.LineStyle{Color: style.Color, Width: vg.Points(2)})
	c.Stroke(path)
}
