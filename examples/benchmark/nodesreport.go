package main

import (
	"fmt"
	"image/color"
	"io"
	"text/tabwriter"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/picture"
	"github.com/sanflow/sanflow/sinks/nodes"
)

// nodesReport is the JSON object of -task nodes; accuracies are in percent.
type nodesReport struct {
	cli.Scored
	Dataset  string `json:"dataset"`
	Nodes    int    `json:"nodes"`
	Edges    int    `json:"edges"`
	Classes  int    `json:"classes"`
	Words    int    `json:"sparse_features"`
	Numbers  int    `json:"continuous_features"`
	Identity bool   `json:"identity"` // a node's number is a feature, counted in sparse_features
	K        int    `json:"k"`
	Protocol string `json:"protocol"`
	Split    string `json:"split,omitempty"` // where the parts come from
	Train    int    `json:"train"`
	Val      int    `json:"val"`
	Test     int    `json:"test"` // nodes that accuracy is of

	Accuracy float64 `json:"accuracy"` // of Model
	// Model is what answers: the mean of all networks, words, or the mean of both.
	Model string `json:"model"`
	// EachAccuracy is that of each network alone, ValAccuracy that of
	// their mean on the validation nodes.
	EachAccuracy []float64 `json:"accuracy_of_each_network,omitempty"`
	ValAccuracy  float64   `json:"validation_accuracy,omitempty"`
	// WindowAccuracy is the accuracy in each window of the stream.
	Window         int       `json:"window,omitempty"`
	WindowAccuracy []float64 `json:"window_accuracy"`
	Majority       float64   `json:"majority"` // share of the largest class of the nodes that accuracy is of

	// RootsPerS counts the fields that were made in a second; in the
	// prequential protocol, those that were made, predicted and learned from. 0 where
	// propagated features stood in their place from the start.
	RootsPerS float64 `json:"roots_per_s"`
	PeakRSSMB int64   `json:"peak_rss_mb"`
	Seconds   float64 `json:"seconds"`

	Epochs          []int   `json:"epochs"` // of each network; prequential: steps per batch
	Batch           int     `json:"batch"`
	Rate            float64 `json:"rate"`
	Decay           float64 `json:"decay"`
	Propagated      bool    `json:"propagated"`   // rows are propagated features, not fields
	Smooth          float64 `json:"smooth"`       // share of what is said that propagates; 0 = none
	SmoothKnown     bool    `json:"smooth_known"` // the classes of training nodes propagate
	Maps            int     `json:"maps"`
	Net             string  `json:"net"`
	Nets            int     `json:"nets"`
	Normalize       string  `json:"normalize"`
	NeighbourLabels bool    `json:"neighbour_labels"`
	Seed            uint64  `json:"seed"`

	Cells []figureCell `json:"cells"`

	roots       int
	rootSeconds float64
	curve       []float64 // split: validation by epoch of the first network; prequential: so far, by window
}

// Values of Model.
const (
	modelNetworks = "networks"
	modelWords    = "words"
	modelBoth     = "networks and words"
)

func newNodesReport(c *nodesConfig, d *nodeParts) *nodesReport {
	r := &nodesReport{
		Dataset: d.name, Nodes: d.Graph.N(), Edges: d.Graph.M(), Classes: len(d.Classes),
		Words: d.Graph.SparseCard, Numbers: d.Graph.NodeAttrs, Identity: d.identity,
		K: c.fit.K, Protocol: c.protocol, Train: len(d.train), Val: len(d.val), Test: len(d.test),
		WindowAccuracy: []float64{}, Majority: d.majority(d.test),
		Batch: c.fit.Batch, Rate: c.fit.Rate, Decay: c.fit.Decays[0], Maps: c.fit.Maps, Net: c.net, Nets: c.fit.Nets, Normalize: c.fit.By.String(),
		NeighbourLabels: c.fit.Known == nodes.On, Seed: c.seed,
	}
	r.Model = modelNetworks
	switch {
	case c.protocol == "prequential":
		r.Epochs = []int{c.fit.Epochs}
	case d.dealt:
		r.Split = "by the seed"
	default:
		r.Split = "of the file"
	}
	return r
}

// close notes the time and the memory, and makes the cells.
func (r *nodesReport) close(start time.Time) {
	if r.roots > 0 {
		r.RootsPerS = float64(r.roots) / r.rootSeconds
	}
	r.Seconds, r.PeakRSSMB = time.Since(start).Seconds(), cli.PeakRSS()>>20
	r.Cells = []figureCell{{r.Dataset, r.Model, "accuracy", &r.Accuracy}, {r.Dataset, "majority", "accuracy", &r.Majority}}
}

// Print writes the closing table.
func (r *nodesReport) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	identity := ""
	if r.Identity {
		identity = ", their numbers among them"
	}
	fmt.Fprintf(w, "%s\t%d nodes, %d edges, %d classes; %d sparse and %d continuous features%s\n",
		r.Dataset, r.Nodes, r.Edges, r.Classes, r.Words, r.Numbers, identity)
	fmt.Fprintf(w, "largest class\t%.2f %%\tof the %d nodes\n", r.Majority, r.Test)
	if r.Protocol == "split" {
		fmt.Fprintf(w, "validation\t%.2f %%\tof %d nodes; %d to learn from, split %s\n", r.ValAccuracy, r.Val, r.Train, r.Split)
		fmt.Fprintf(w, "each network\t%.2f %%\tepochs %v\n", r.EachAccuracy, r.Epochs)
		fmt.Fprintf(w, "accuracy\t%.2f %%\t%s\n", r.Accuracy, r.choice())
		r.Scored.Print(w)
	} else {
		fmt.Fprintf(w, "accuracy\t%.2f %%\teach node before the network learned from it\n", r.Accuracy)
		late := r.WindowAccuracy[len(r.WindowAccuracy)*9/10:]
		fmt.Fprintf(w, "at the end\t%.2f %%\tmean of the last %d windows of %d nodes\n", stat.Mean(late, nil), len(late), r.Window)
	}
	speed := "no fields"
	if r.RootsPerS > 0 {
		speed = fmt.Sprintf("%.0f roots/s", r.RootsPerS)
	}
	fmt.Fprintf(w, "speed\t%s\t%d MB at most, %.1f s; k %d, %s, batch %d, rate %g, decay %g, seed %d\n",
		speed, r.PeakRSSMB, r.Seconds, r.K, r.Net, r.Batch, r.Rate, r.Decay, r.Seed)
	return w.Flush()
}

// choice says what the validation nodes have chosen.
func (r *nodesReport) choice() string {
	what := "fields"
	switch {
	case r.Propagated:
		what = "propagated features"
	case r.NeighbourLabels:
		what = "fields with known classes"
	}
	switch r.Model {
	case modelNetworks:
		what = fmt.Sprintf("mean of %d networks; %s", r.Nets, what)
	case modelWords:
		what = "words"
	case modelBoth:
		what = fmt.Sprintf("mean of words and of the mean of %d networks; %s", r.Nets, what)
	}
	if r.Smooth == 0 {
		return what
	}
	whose := ""
	if r.SmoothKnown {
		whose = " with known classes"
	}
	return fmt.Sprintf("%s, smoothed by %g%s", what, r.Smooth, whose)
}

// File is the picture of accuracy over the stream, or validation accuracy over the epochs.
func (r *nodesReport) File(_, path string) ([]byte, error) {
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
	return p.File(16*vg.Centimeter, 10*vg.Centimeter, path)
}
