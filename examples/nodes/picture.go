package main

import (
	"bytes"
	"fmt"
	"image/color"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var (
	blue = color.NRGBA{R: 0x1f, G: 0x77, B: 0xb4, A: 0xff}
	red  = color.NRGBA{R: 0xc4, G: 0x3c, B: 0x2c, A: 0xff}
	pale = color.Gray{Y: 225}
)

// draw plots accuracy over the stream, or validation accuracy over the epochs.
func (r *report) draw(format string) ([]byte, error) {
	p := plot.New()
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans" // as in all pictures of the examples
	}
	p.Title.Text = fmt.Sprintf("%s, k = %d, %s", r.Dataset, r.K, r.Protocol)
	p.Title.Padding = vg.Points(8)
	p.Y.Label.Text = "accuracy, %"
	p.Legend.Left, p.Legend.Padding = false, vg.Points(3)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = pale, pale
	p.Add(grid)
	step, last := 1., float64(len(r.curve))
	add := func(name string, y []float64, c color.Color, width float64) error {
		points := make(plotter.XYs, len(y))
		for i := range y {
			points[i].X, points[i].Y = min(step*float64(i+1), last), y[i]
		}
		l, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		l.Color, l.Width = c, vg.Points(width)
		p.Add(l)
		p.Legend.Add(name, l)
		return nil
	}
	var err error
	if r.Protocol == "prequential" {
		p.X.Label.Text = "nodes seen"
		step, last = float64(r.Window), float64(r.Test)
		if err = add(fmt.Sprintf("in windows of %d", r.Window), r.WindowAccuracy, blue, 1); err == nil {
			err = add("so far", r.curve, red, 2)
		}
	} else {
		p.X.Label.Text = "epochs of the first network"
		if err = add("validation", r.curve, blue, 1.5); err == nil {
			err = r.mark(p)
		}
	}
	if err != nil {
		return nil, err
	}
	majority, err := plotter.NewLine(plotter.XYs{{X: 0, Y: r.Majority}, {X: last, Y: r.Majority}})
	if err != nil {
		return nil, err
	}
	majority.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	p.Add(majority)
	p.Legend.Add("largest class", majority)
	p.Y.Min, p.Y.Max, p.X.Min = 0, 100, 0
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(whole), plot.TickerFunc(whole)

	canvas, err := draw.NewFormattedCanvas(16*vg.Centimeter, 10*vg.Centimeter, format)
	if err != nil {
		return nil, err
	}
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	p.Draw(draw.Crop(all, vg.Points(10), vg.Points(-14), vg.Points(10), vg.Points(-10)))
	var b bytes.Buffer
	_, err = canvas.WriteTo(&b)
	return b.Bytes(), err
}

// mark adds the epoch that was chosen for the first network, and what all of them
// say of the test nodes.
func (r *report) mark(p *plot.Plot) error {
	at := float64(r.Epochs[0])
	chosen, err := plotter.NewScatter(plotter.XYs{{X: at, Y: r.curve[r.Epochs[0]-1]}})
	if err != nil {
		return err
	}
	chosen.Color, chosen.Radius, chosen.Shape = blue, vg.Points(4), draw.CircleGlyph{}
	test, err := plotter.NewLine(plotter.XYs{{X: 0, Y: r.Accuracy}, {X: float64(len(r.curve)), Y: r.Accuracy}})
	if err != nil {
		return err
	}
	test.Color, test.Width = red, vg.Points(1.5)
	p.Add(test, chosen)
	p.Legend.Add(fmt.Sprintf("chosen: epoch %d", r.Epochs[0]), chosen)
	p.Legend.Add(fmt.Sprintf("test, mean of %d networks: %.1f %%", r.Nets, r.Accuracy), test)
	return nil
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
