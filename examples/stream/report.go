package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"text/tabwriter"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/sanflow/sanflow/examples/internal/picture"
	"github.com/sanflow/sanflow/nn/validation"
)

// report is the JSON object of -json. Accuracies are in percent, of predictions before the model learned
// from a graph.
type report struct {
	Dataset string    `json:"dataset"`
	Graphs  int       `json:"graphs"`
	Seed    uint64    `json:"seed"`
	Workers int       `json:"workers"`
	Window  int       `json:"window"`        // graphs of a point of the curves
	Largest float64   `json:"largest_class"` // share of the graphs
	PeakMB  float64   `json:"peak_rss_mb"`   // of the process, with all systems
	Systems []*system `json:"systems"`
}

type system struct {
	System   string  `json:"system"`
	Accuracy float64 `json:"accuracy"`
	Last     float64 `json:"last_window_accuracy"`
	Seconds  float64 `json:"seconds"`
	CPU      float64 `json:"cpu_seconds"` // from the source to the step
	Curve    []point `json:"curve"`
}

// point is the window of the stream that ends after Graphs graphs.
type point struct {
	Graphs   int     `json:"graphs"`
	Accuracy float64 `json:"accuracy"`
	HeapMB   float64 `json:"heap_mb"` // in use after a collection
}

// Print writes the table.
func (r *report) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s: %d graphs, each predicted before it was learned from, once\n\n", r.Dataset, r.Graphs)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tright\tin the last window\tprocessor time of a graph\theap, first to last")
	for _, s := range r.Systems {
		fmt.Fprintf(w, "%s\t%.2f %%\t%.2f %%\t%.2f ms\t%.1f to %.1f MB\n",
			s.System, s.Accuracy, s.Last, 1000*s.CPU/float64(r.Graphs), s.Curve[0].HeapMB, s.Curve[len(s.Curve)-1].HeapMB)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d workers, peak %.0f MB resident\n", r.Workers, r.PeakMB)
	return err
}

// File is the picture of -out: the accuracy in each window, a line for each system, and the share of the
// largest class.
func (r *report) File(_, path string) ([]byte, error) {
	p := picture.New(fmt.Sprintf("%s, %d graphs, each predicted before it is learned from", r.Dataset, r.Graphs),
		"graphs so far", fmt.Sprintf("accuracy in windows of %d graphs, %%", r.Window))
	for i, s := range r.Systems {
		var at plotter.XYs
		for _, point := range s.Curve {
			at = append(at, plotter.XY{X: float64(point.Graphs), Y: point.Accuracy})
		}
		name := fmt.Sprintf("%s: %.1f %% of all graphs; standard error of a window ± %.1f", s.System, s.Accuracy, r.chance(s.Accuracy))
		p.Line(name, at, []color.Color{picture.Blue, picture.Orange}[i], 1.5)
	}
	p.Level("share of the largest class", 0, float64(r.Graphs), r.Largest, picture.Gray)
	return p.File(18*vg.Centimeter, 10*vg.Centimeter, path)
}

// chance is the standard error of an accuracy in a window of graphs, by the interval of Wilson.
func (r *report) chance(accuracy float64) float64 {
	n := min(r.Window, r.Graphs)
	low, high := validation.Wilson(int(math.Round(accuracy*float64(n)/100)), n, 1)
	return 50 * (high - low)
}
