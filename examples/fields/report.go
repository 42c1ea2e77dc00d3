package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/sanflow/sanflow/operators"
)

// report is what a run has to tell.
type report struct {
	Graphs int64 `json:"graphs"`
	Nodes  int64 `json:"nodes"`
	Edges  int64 `json:"edges"` // arcs, if the graphs are directed
	K      int   `json:"k"`
	Fields int64 `json:"fields"`
	// Seconds is the fields alone, index and writing included, from when the roots
	// of the first graph are known. LabelSeconds is what labels whole graphs, and
	// what chooses the roots, take before, summed over the workers.
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

// take adds the counts of Normalize.
func (r *report) take(notes map[string]int64) {
	c := r.config
	r.K, r.Workers = c.k, c.workers
	r.Select, r.Normalize, r.Scope = c.roots.By, c.normal.String(), c.scope
	r.Fields = notes[operators.NoteFields]
	if r.Seconds > 0 {
		r.FieldsPerS = float64(r.Fields) / r.Seconds
	}
	r.CanonCalls = notes[operators.NoteCanon]
	r.Fallbacks = notes[operators.NoteCropFallback] + notes[operators.NoteRefined] + notes[operators.NoteCanonFallback]
	if lookups := notes[operators.NoteCacheLookups]; lookups > 0 {
		r.CacheHitRate = float64(notes[operators.NoteCacheHits]) / float64(lookups)
	}
}

func (r *report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "graphs\t%d\t%d nodes, %d edges\n", r.Graphs, r.Nodes, r.Edges)
	fmt.Fprintf(w, "fields\t%d\tk %d, roots by %s, order by %s (%s)\n", r.Fields, r.K, r.Select, r.Normalize, r.Scope)
	fmt.Fprintf(w, "speed\t%.0f/s\t%.3f s, %d workers; labels of whole graphs %.3f s\n", r.FieldsPerS, r.Seconds, r.Workers, r.LabelSeconds)
	fmt.Fprintf(w, "canonical\t%d\torders computed; %d fields used up the budget\n", r.CanonCalls, r.Fallbacks)
	return w.Flush()
}
