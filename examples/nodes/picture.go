package main

import (
	"fmt"
	"image/color"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/sanflow/sanflow/examples/internal/picture"
)

var pale = color.Gray{Y: 225}

// chart is a plot and the legend below it, where no line crosses the text.
type chart struct {
	*plot.Plot
	keys []picture.Key
}

// line adds a line and its key.
func (c *chart) line(name string, points plotter.XYs, hue color.Color, width float64, dashes ...vg.Length) error {
	l, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	l.Color, l.Width, l.Dashes = hue, vg.Points(width), dashes
	c.Add(l)
	c.keys = append(c.keys, picture.Key{Sign: l, Text: name})
	return nil
}

// draw plots accuracy over the stream, or validation accuracy over the epochs.
func (r *report) draw(format string) ([]byte, error) {
	p := &chart{Plot: picture.New()}
	p.Title.Text = fmt.Sprintf("%s, k = %d, %s", r.Dataset, r.K, r.Protocol)
	p.Title.Padding = vg.Points(8)
	p.Y.Label.Text = "accuracy, %"
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = pale, pale
	p.Add(grid)
	step, last := 1., float64(len(r.curve))
	add := func(name string, y []float64, c color.Color, width float64) error {
		points := make(plotter.XYs, len(y))
		for i := range y {
			points[i].X, points[i].Y = min(step*float64(i+1), last), y[i]
		}
		return p.line(name, points, c, width)
	}
	var err error
	if r.Protocol == "prequential" {
		p.X.Label.Text = "nodes seen"
		step, last = float64(r.Window), float64(r.Test)
		if err = add(fmt.Sprintf("in windows of %d", r.Window), r.WindowAccuracy, picture.Blue, 1); err == nil {
			err = add("so far", r.curve, picture.Red, 2)
		}
	} else {
		p.X.Label.Text = "epochs of the first network"
		if err = add("validation", r.curve, picture.Blue, 1.5); err == nil {
			err = r.mark(p)
		}
	}
	if err != nil {
		return nil, err
	}
	level := plotter.XYs{{X: 0, Y: r.Majority}, {X: last, Y: r.Majority}}
	if err := p.line("largest class", level, color.Black, 1, vg.Points(4), vg.Points(3)); err != nil {
		return nil, err
	}
	p.Y.Min, p.Y.Max, p.X.Min = 0, 100, 0
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(whole), plot.TickerFunc(whole)

	sheet, err := picture.NewSheet(16*vg.Centimeter, 10*vg.Centimeter, format, p.keys...)
	if err != nil {
		return nil, err
	}
	p.Draw(draw.Crop(sheet.Canvas, vg.Points(10), vg.Points(-14), vg.Points(10), vg.Points(-10)))
	return sheet.Bytes()
}

// mark adds the epoch that was chosen for the first network, and what all of them
// say of the test nodes.
func (r *report) mark(p *chart) error {
	at := float64(r.Epochs[0])
	chosen, err := plotter.NewScatter(plotter.XYs{{X: at, Y: r.curve[r.Epochs[0]-1]}})
	if err != nil {
		return err
	}
	chosen.Color, chosen.Radius, chosen.Shape = picture.Blue, vg.Points(4), draw.CircleGlyph{}
	p.keys = append(p.keys, picture.Key{Sign: chosen, Text: fmt.Sprintf("chosen: epoch %d", r.Epochs[0])})
	test := plotter.XYs{{X: 0, Y: r.Accuracy}, {X: float64(len(r.curve)), Y: r.Accuracy}}
	err = p.line(fmt.Sprintf("test, mean of %d networks: %.1f %%", r.Nets, r.Accuracy), test, picture.Red, 1.5)
	p.Add(chosen) // above the lines
	return err
}

// whole labels the default ticks without places behind the point.
func whole(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = strconv.FormatFloat(t.Value, 'f', -1, 64)
		}
	}
	return ticks
}
