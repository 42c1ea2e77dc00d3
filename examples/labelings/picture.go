package main

import (
	"fmt"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/sanflow/sanflow/examples/internal/picture"
)

// drawTable draws a dot at θ̂ of each labeling, the best first, and a bar of two standard
// errors to either side.
func drawTable(t *table, format string) ([]byte, error) {
	title := fmt.Sprintf("%s: receptive fields of %d nodes, %d pairs%s", t.Dataset, t.K, t.Pairs, t.cropNote())
	p := picture.New(title, "", "mean Hamming distance of two fields")
	var names []string
	var at plotter.XYs
	var errs []float64
	for _, r := range t.Estimates {
		if r.Theta != nil {
			at = append(at, plotter.XY{X: float64(len(names)), Y: *r.Theta})
			names, errs = append(names, r.Labeling), append(errs, 2**r.SE)
		}
	}
	p.Points("θ̂ ± 2 standard errors; smaller is better", at, errs, picture.Blue, draw.CircleGlyph{})
	p.Names(names)
	return p.File(vg.Points(600), vg.Points(300), format)
}
