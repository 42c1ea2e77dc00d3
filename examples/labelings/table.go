package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/operators/theta"
)

// table is the JSON object of -json: estimates by rising θ̂, those that failed
// last.
type table struct {
	Dataset   string `json:"dataset"`
	K         int    `json:"k"`
	Bound     int    `json:"bound,omitempty"`
	Pairs     int    `json:"pairs"`
	Seed      uint64 `json:"seed"`
	Crop      string `json:"crop"`
	Estimates []row  `json:"estimates"`
	Best      string `json:"best"`
}

// row is one labeling. The numbers are missing where it failed.
type row struct {
	Labeling string   `json:"labeling"`
	Theta    *float64 `json:"theta"`
	SE       *float64 `json:"se"`
	Diff     *float64 `json:"diff"`    // to the best
	DiffSE   *float64 `json:"diff_se"` // of the paired differences
	Entries  *float64 `json:"entries"` // of a matrix that are not 0
	Seconds  float64  `json:"seconds"` // of the fields, summed over workers
	Fallback int64    `json:"fallbacks"`
	Error    string   `json:"error,omitempty"`
}

func newTable(name string, c *config, best labeling.Labeling, estimates []theta.Estimate) *table {
	t := &table{Dataset: name, K: c.options.K, Bound: c.options.Bound, Pairs: c.options.Pairs, Seed: c.options.Seed, Best: best.String()}
	t.Crop = "own"
	if !c.options.OwnCrop {
		t.Crop = c.options.Crop.String()
	}
	for _, e := range estimates {
		r := row{
			Labeling: e.Labeling.String(), Seconds: e.Time.Seconds(),
			Fallback: e.Stats.CropFallback + e.Stats.Refined + e.Stats.Partial,
		}
		if e.Err != nil {
			r.Error = e.Err.Error()
		} else {
			r.Theta, r.SE, r.Diff, r.DiffSE, r.Entries = &e.Theta, &e.SE, &e.Diff, &e.DiffSE, &e.Entries
		}
		t.Estimates = append(t.Estimates, r)
	}
	slices.SortStableFunc(t.Estimates, func(a, b row) int {
		switch {
		case a.Theta == nil && b.Theta == nil:
			return 0
		case a.Theta == nil:
			return 1
		case b.Theta == nil:
			return -1
		}
		return cmp.Compare(*a.Theta, *b.Theta)
	})
	return t
}

// print writes the table for people.
func (t *table) print(out io.Writer) error {
	fmt.Fprintf(out, "%s: k %d, %d pairs, seed %d%s\n\n", t.Dataset, t.K, t.Pairs, t.Seed, t.cropNote())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "labeling\tθ̂ ± s.e.\tabove the best ± s.e.\tentries\tseconds")
	for _, r := range t.Estimates {
		switch {
		case r.Theta == nil:
			fmt.Fprintf(w, "%s\tfailed: %s\n", r.Labeling, r.Error)
		case r.Labeling == t.Best:
			fmt.Fprintf(w, "%s\t%.3f ± %.3f\t\t%.2f\t%.3f\n", r.Labeling, *r.Theta, *r.SE, *r.Entries, r.Seconds)
		default:
			fmt.Fprintf(w, "%s\t%.3f ± %.3f\t%.3f ± %.3f\t%.2f\t%.3f\n", r.Labeling, *r.Theta, *r.SE, *r.Diff, *r.DiffSE, *r.Entries, r.Seconds)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nbest: %s\n", t.Best)
	return err
}

func (t *table) cropNote() string {
	bound := ""
	if t.Bound > 0 {
		bound = fmt.Sprintf(", neighbourhoods of at most %d nodes", t.Bound)
	}
	if t.Crop == "own" {
		return bound + ", each cutting its own fields"
	}
	return bound + ", fields cut by " + t.Crop
}
