package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/fieldjob"
)

// report is what a run has to tell.
type report struct {
	Graphs int64 `json:"graphs"`
	Nodes  int64 `json:"nodes"`
	Edges  int64 `json:"edges"` // arcs, where the graphs are directed
	K      int   `json:"k"`
	Fields int64 `json:"fields"`
	// Seconds is the field job alone, index and writing included, after reading
	// and labels of whole graphs, which LabelSeconds is.
	Seconds      float64 `json:"seconds"`
	FieldsPerS   float64 `json:"fields_per_s"`
	LabelSeconds float64 `json:"label_seconds"`
	CanonCalls   int64   `json:"canon_calls"`
	// CacheHitRate is the share of canonical orders that were known already.
	CacheHitRate float64 `json:"cache_hit_rate"`
	// Fallbacks counts fields for which a budget was used up, so that their
	// order may depend on node numbers.
	Fallbacks int64  `json:"fallbacks"`
	Workers   int    `json:"workers"`
	Select    string `json:"select"`
	Normalize string `json:"normalize"`
	Scope     string `json:"scope"`

	config *config
}

// take adds what the runner counted.
func (r *report) take(from *fieldjob.Runner) {
	s := from.Stats
	r.K, r.Workers = from.K, from.Workers
	r.Select, r.Normalize, r.Scope = r.config.selectBy, r.config.normal.String(), r.config.scope
	r.Fields, r.Seconds = s.Fields, from.Seconds
	if r.Seconds > 0 {
		r.FieldsPerS = float64(s.Fields) / r.Seconds
	}
	r.CanonCalls, r.Fallbacks = s.Canon, s.CropFallback+s.Refined+s.Partial
	if s.CacheLookups > 0 {
		r.CacheHitRate = float64(s.CacheHits) / float64(s.CacheLookups)
	}
}

func (r *report) write(f *cli.Stream) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if _, err := f.Write(append(b, '\n')); err != nil {
		return err
	}
	return f.Finish()
}

func (r *report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "graphs\t%d\t%d nodes, %d edges\n", r.Graphs, r.Nodes, r.Edges)
	fmt.Fprintf(w, "fields\t%d\tk %d, roots by %s, order by %s (%s)\n", r.Fields, r.K, r.Select, r.Normalize, r.Scope)
	fmt.Fprintf(w, "speed\t%.0f/s\t%.3f s, %d workers; labels of whole graphs %.3f s\n", r.FieldsPerS, r.Seconds, r.Workers, r.LabelSeconds)
	fmt.Fprintf(w, "canonical\t%d\torders computed; %d fields used up the budget\n", r.CanonCalls, r.Fallbacks)
	return w.Flush()
}
