package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks/choose"
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
	Identity bool   `json:"identity"`        // a node's number is a feature, counted in sparse_features
	Split    string `json:"split,omitempty"` // where the parts come from
	Train    int    `json:"train"`
	Val      int    `json:"val"`
	Test     int    `json:"test"` // nodes that accuracy is of

	// Accuracy, AUC, and Value of Scored are means over Splits, Std the deviation of Value, or of Accuracy
	// without -score.
	Accuracy float64  `json:"accuracy"`
	AUC      *float64 `json:"auc,omitempty"` // with -score auc
	Std      float64  `json:"std"`
	// Splits are the figures of each split. Model, Took and Systems are those of a single one.
	Splits []nodesSplit `json:"splits,omitempty"`
	// Model is the system that was chosen, and Took what was chosen within it.
	Model       string         `json:"model,omitempty"`
	Took        string         `json:"took,omitempty"`
	ValAccuracy float64        `json:"validation_accuracy,omitempty"` // without -score
	Systems     []choose.Tried `json:"systems,omitempty"`             // and their -score, or accuracy, on the validation nodes
	Majority    float64        `json:"majority"`                      // share of the largest class of the nodes that accuracy is of

	PeakRSSMB int64   `json:"peak_rss_mb"`
	Seconds   float64 `json:"seconds"`
	Seed      uint64  `json:"seed"`

	Cells []figureCell `json:"cells"`
}

// nodesSplit is what came of one split.
type nodesSplit struct {
	cli.Scored
	Name        string         `json:"name,omitempty"` // its column
	Accuracy    float64        `json:"accuracy"`
	Model       string         `json:"model"`
	Took        string         `json:"took,omitempty"`
	ValAccuracy float64        `json:"validation_accuracy,omitempty"` // without -score
	Systems     []choose.Tried `json:"systems"`
}

func newNodesReport(c *nodesConfig, d *nodeParts) *nodesReport {
	r := &nodesReport{
		Dataset: d.name, Nodes: d.Graph.N(), Edges: d.Graph.M(), Classes: len(d.Classes),
		Words: d.Graph.SparseCard, Numbers: d.Graph.NodeAttrs, Identity: d.identity,
		Train: len(d.train), Val: len(d.val), Test: len(d.test),
		Majority: d.majority(d.test), Seed: c.seed,
	}
	switch {
	case d.dealt:
		r.Split = "by the seed"
	case c.tables.parts != "":
		r.Split = "of " + c.tables.parts
	default:
		r.Split = "of the file"
	}
	return r
}

// close makes the means, notes the time and the memory, and makes the cells.
func (r *nodesReport) close(start time.Time) {
	if n := len(r.Splits); n > 0 {
		var accuracy, valid, value, validValue []float64
		for _, s := range r.Splits {
			r.Score = s.Score
			accuracy, valid = append(accuracy, s.Accuracy), append(valid, s.ValAccuracy)
			if s.Value != nil {
				value = append(value, *s.Value)
			}
			if s.ValidationValue != nil {
				validValue = append(validValue, *s.ValidationValue)
			}
		}
		r.Accuracy, r.ValAccuracy = stat.Mean(accuracy, nil), stat.Mean(valid, nil)
		r.Value, r.ValidationValue = meanOver(value, n), meanOver(validValue, n)
		if r.Score == validation.ROC {
			r.AUC = r.Value
		}
		if by := accuracy; n > 1 {
			if r.Score != "" {
				by = value
			}
			r.Std = stat.StdDev(by, nil)
		} else {
			r.Model, r.Took, r.Systems = r.Splits[0].Model, r.Splits[0].Took, r.Splits[0].Systems
		}
	}
	r.Seconds, r.PeakRSSMB = time.Since(start).Seconds(), cli.PeakRSS()>>20
	r.Cells = []figureCell{{r.Dataset, r.Model, "accuracy", &r.Accuracy}, {r.Dataset, "majority", "accuracy", &r.Majority}}
}

// meanOver is the mean of n numbers; nil if some are lacking.
func meanOver(x []float64, n int) *float64 {
	if len(x) != n {
		return nil
	}
	mean := stat.Mean(x, nil)
	return &mean
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
	if len(r.Splits) > 1 {
		for _, s := range r.Splits {
			figure := s.Accuracy
			if s.Value != nil {
				figure = *s.Value
			}
			fmt.Fprintf(w, "%s\t%.2f\t%s\n", s.Name, figure, strings.TrimSuffix(s.Model+": "+s.Took, ": "))
		}
		fmt.Fprintf(w, "deviation\t%.2f\t%d splits\n", r.Std, len(r.Splits))
	}
	for _, t := range r.Systems {
		fmt.Fprintf(w, "%s\t%.4g\t%.1f s  %s\n", t.Name, t.Score, t.Seconds, t.Took)
	}
	fmt.Fprintf(w, "validation\t%d nodes\t%d to learn from, split %s\n", r.Val, r.Train, r.Split)
	fmt.Fprintf(w, "accuracy\t%.2f %%\t%s\n", r.Accuracy, strings.TrimSuffix(r.Model+": "+r.Took, ": "))
	r.Scored.Print(w)
	fmt.Fprintf(w, "time\t%.1f s\t%d MB at most; seed %d\n", r.Seconds, r.PeakRSSMB, r.Seed)
	return w.Flush()
}
