package main

import (
	"io"
	"slices"

	"gonum.org/v1/plot/plotter"
)

// drawEdges plots fields per second over the number of edges, both on
// logarithmic axes: a line for each graph, k and bound.
func drawEdges(out io.Writer, format string, c *config, results []result) error {
	p := newPlot(c)
	p.X.Label.Text = "edges"
	p.X.Tick.Marker = decades{}
	lines := 0
	for _, name := range c.graphs {
		for i := range len(c.bound) * len(c.k) {
			var points plotter.XYs
			var cells []cell
			for _, r := range results {
				if r.Graph == name {
					points = append(points, plotter.XY{X: float64(r.Edges), Y: r.Cells[i].FieldsPerS})
					cells = append(cells, r.Cells[i])
				}
			}
			if len(points) == 0 {
				continue // a real graph that is not there
			}
			title := name + ", " + heading(cells[0].K, cells[0].Bound)
			if err := lineWithBars(p, title, points, cells, palette[lines%len(palette)], lines); err != nil {
				return err
			}
			lines++
		}
	}
	edges := func(a, b result) int { return a.Edges - b.Edges }
	p.X.Min = float64(slices.MinFunc(results, edges).Edges) * 0.8
	p.X.Max = float64(slices.MaxFunc(results, edges).Edges) * 1.25
	p.Y.Min, p.Y.Max = floor10(p.Y.Min), ceil10(p.Y.Max)
	return write(out, p, format)
}
