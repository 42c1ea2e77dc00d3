package main

import (
	"fmt"
	"image/color"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/sanflow/sanflow/examples/internal/picture"
)

// draw plots accuracy over the stream, or validation accuracy over the epochs.
func (r *report) draw(format string) ([]byte, error) {
	p := picture.New(fmt.Sprintf("%s, k = %d, %s", r.Dataset, r.K, r.Protocol), "epochs of the first network", "accuracy, %")
	step, last := 1., float64(len(r.curve))
	add := func(name string, y []float64, c color.Color, width float64) {
		points := make(plotter.XYs, len(y))
		for i := range y {
			points[i].X, points[i].Y = min(step*float64(i+1), last), y[i]
		}
		p.Line(name, points, c, width)
	}
	if r.Protocol == "prequential" {
		p.X.Label.Text = "nodes seen"
		step, last = float64(r.Window), float64(r.Test)
		add(fmt.Sprintf("in windows of %d", r.Window), r.WindowAccuracy, picture.Blue, 1)
		add("so far", r.curve, picture.Red, 2)
	} else {
		chosen := r.Epochs[0]
		add("validation", r.curve, picture.Blue, 1.5)
		p.Level(fmt.Sprintf("test, mean of %d networks: %.1f %%", r.Nets, r.Accuracy), 0, last, r.Accuracy, picture.Red)
		if len(r.EachAccuracy) > 1 {
			mean, deviation := stat.MeanStdDev(r.EachAccuracy, nil)
			p.Points("test, each network alone: mean ± one standard deviation", plotter.XYs{{X: last, Y: mean}}, []float64{deviation}, picture.Red, draw.BoxGlyph{})
		}
		p.Points(fmt.Sprintf("chosen: epoch %d", chosen), plotter.XYs{{X: float64(chosen), Y: r.curve[chosen-1]}}, nil, picture.Blue, draw.CircleGlyph{})
	}
	p.Level("share of the largest class", 0, last, r.Majority, color.Black)
	return p.File(16*vg.Centimeter, 10*vg.Centimeter, format)
}
