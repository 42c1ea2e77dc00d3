package main

import (
	"fmt"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/sanflow/sanflow/examples/internal/picture"
)

// draw is the picture of -out. A row is a collection, with a panel for each protocol. Dots are means with
// bars of one deviation over the folds, triangles the figures of the paper, and the line is the share of
// the largest class.
func (r *report) draw(path string) ([]byte, error) {
	var panels [][2]*picture.Chart
	var legend []picture.Key
	for _, of := range r.Collections {
		row := [2]*picture.Chart{r.panel(of, "nested"), r.panel(of, "paper")}
		a, b := &row[0].Y, &row[1].Y // both panels have one scale
		a.Min, a.Max = min(a.Min, b.Min), max(a.Max, b.Max)
		b.Min, b.Max = a.Min, a.Max
		row[0].Fit()
		row[1].Fit()
		if panels = append(panels, row); len(row[0].Keys) > len(legend) {
			legend = row[0].Keys
		}
	}
	sheet, err := picture.NewSheet(26*vg.Centimeter, vg.Length(len(panels))*6.5*vg.Centimeter, path, legend...)
	if err != nil {
		return nil, err
	}
	tiles := draw.Tiles{Rows: len(panels), Cols: 2, PadX: vg.Points(12), PadY: vg.Points(10),
		PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(8)}
	for i, row := range panels {
		for j, p := range row {
			if p.Err != nil {
				return nil, p.Err
			}
			p.Draw(tiles.At(sheet.Canvas, j, i))
		}
	}
	return sheet.Bytes("Accuracy of systems by collection, nested and paper-style")
}

// panel is a collection by a protocol.
func (r *report) panel(of graphs, protocol string) *picture.Chart {
	p := picture.New(of.Name+", "+map[string]string{"nested": "nested", "paper": "paper-style"}[protocol], "", "accuracy, %")
	var mean, figures plotter.XYs
	var deviation []float64
	var names []string
	for i, one := range r.row(of.Name) {
		names = append(names, one.axis())
		if one.Figure != nil {
			figures = append(figures, plotter.XY{X: float64(i), Y: *one.Figure})
		}
		if one.Status != done {
			continue
		}
		y, std, _ := one.by(protocol)
		mean, deviation = append(mean, plotter.XY{X: float64(i), Y: y}), append(deviation, std)
	}
	p.Names(names)
	p.Level("share of the largest class", p.X.Min, p.X.Max, of.LargestClass, picture.Gray)
	if mean != nil {
		p.Points(fmt.Sprintf("mean over %d folds × %d; bar: one standard deviation of the folds to either side (the mean's own error is smaller)", r.Folds, r.Repeats), mean, deviation, picture.Blue, draw.CircleGlyph{})
		p.Add(picture.Values(mean))
	}
	if figures != nil {
		p.Points("the paper's figure", figures, nil, picture.Red, draw.PyramidGlyph{})
	}
	return p
}

// axis is the name of the system below a panel.
func (one *cell) axis() string {
	if one.Status == done {
		return one.System
	}
	return one.System + " failed"
}
