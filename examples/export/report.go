package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/sanflow/sanflow/examples/internal/cli"
)

// report is what a run has to tell.
type report struct {
	Graphs int64  `json:"graphs"`
	Nodes  int64  `json:"nodes"`
	Edges  int64  `json:"edges"`
	K      int    `json:"k"`
	W      int    `json:"w"` // 0: all nodes
	Rows   int64  `json:"rows"`
	Fields int64  `json:"fields"`
	Bytes  int64  `json:"bytes"` // of all files, without the manifest
	Out    string `json:"out"`
	As     string `json:"as"`
	// Seconds is all but reading a graph that is read at once, which
	// ReadSeconds is.
	Seconds     float64 `json:"seconds"`
	ReadSeconds float64 `json:"read_seconds"`
	MBPerS      float64 `json:"mb_per_s"`
	FieldsPerS  float64 `json:"fields_per_s"`
	PeakRSSMB   float64 `json:"peak_rss_mb"`
	Workers     int     `json:"workers"`

	first []string // members of some rows
}

func (r *report) measure(seconds float64) {
	r.Seconds = seconds
	if seconds > 0 {
		r.MBPerS = float64(r.Bytes) / 1e6 / seconds
		r.FieldsPerS = float64(r.Fields) / seconds
	}
	r.PeakRSSMB = float64(cli.PeakRSS()) / 1e6
}

func (r *report) print() error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	if r.Graphs > 0 {
		fmt.Fprintf(w, "graphs\t%d\t%d nodes, %d edges, read in %.2f s\n", r.Graphs, r.Nodes, r.Edges, r.ReadSeconds)
	}
	if r.Fields > 0 {
		fmt.Fprintf(w, "fields\t%d\tk %d, %.0f/s\n", r.Fields, r.K, r.FieldsPerS)
	}
	if r.As == "edges" {
		fmt.Fprintf(w, "lines\t%d\t%.1f MB in %.2f s\n", r.Edges, float64(r.Bytes)/1e6, r.Seconds)
		fmt.Fprintf(w, "memory\t%.0f MB\tat most\n", r.PeakRSSMB)
		return w.Flush()
	}
	fmt.Fprintf(w, "rows\t%d\t%.1f MB in %.2f s, %.1f MB/s, %d workers\n", r.Rows, float64(r.Bytes)/1e6, r.Seconds, r.MBPerS, r.Workers)
	fmt.Fprintf(w, "memory\t%.0f MB\tat most\n", r.PeakRSSMB)
	if r.Out != "" {
		beside := ""
		if r.As == "parquet" || r.As == "arrow" {
			beside = ", and manifest.json"
		}
		fmt.Fprintf(w, "files\t%s\t%s%s\n", r.Out, r.As, beside)
	}
	for _, members := range r.first {
		fmt.Fprintf(w, "members\t%s\n", members)
	}
	return w.Flush()
}
