package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/sources"
)

// exported is the JSON object of export.
type exported struct {
	Graphs int64  `json:"graphs"`
	Nodes  int64  `json:"nodes"`
	Edges  int64  `json:"edges"` // arcs of directed graphs
	K      int    `json:"k"`
	W      int    `json:"w"` // 0: all nodes
	Rows   int64  `json:"rows"`
	Fields int64  `json:"fields"`
	Bytes  int64  `json:"bytes"` // of all files but the manifest
	Out    string `json:"out"`
	As     string `json:"as"`
	// ReadSeconds is the time of reading a graph as a whole, Seconds the time of the rest.
	Seconds     float64 `json:"seconds"`
	ReadSeconds float64 `json:"read_seconds"`
	MBPerS      float64 `json:"mb_per_s"`
	FieldsPerS  float64 `json:"fields_per_s"`
	PeakRSSMB   float64 `json:"peak_rss_mb"`
	CanonCalls  int64   `json:"canon_calls"`
	// CacheHitRate is the share of canonical orders that the cache held.
	CacheHitRate float64 `json:"cache_hit_rate"`
	// Fallbacks is the number of fields whose search ended at its budget. Their order may depend on node
	// numbers.
	Fallbacks int64  `json:"fallbacks"`
	Workers   int    `json:"workers"`
	Select    string `json:"select"`
	Normalize string `json:"normalize"`
	Scope     string `json:"scope"`

	// Of -parts: Parts is the number of parts of the shard, Made those of this run, Left the absent parts
	// of the whole plan.
	Parts int `json:"parts,omitempty"`
	Made  int `json:"made,omitempty"`
	Left  int `json:"left,omitempty"`

	first []string // the members of some rows
}

// take adds the notes of Normalize and the counts of graphs of a run.
func (r *exported) take(notes map[string]int64, tally *tally, from *named) {
	r.Graphs, r.Nodes, r.Edges, r.ReadSeconds = tally.Graphs, tally.Nodes, tally.Edges, from.Seconds
	r.add(notes)
	if lookups := notes["cache lookups"]; lookups > 0 {
		r.CacheHitRate = float64(notes["cache hits"]) / float64(lookups)
	}
}

// add adds the notes of Normalize.
func (r *exported) add(notes map[string]int64) {
	r.Fields += notes["fields"]
	r.CanonCalls += notes["canon"]
	r.Fallbacks += notes["crop fallbacks"] + notes["canon refined"] + notes["canon fallbacks"]
}

// measure sets the speed and the memory.
func (r *exported) measure() {
	if r.Seconds > 0 {
		r.MBPerS = float64(r.Bytes) / 1e6 / r.Seconds
		r.FieldsPerS = float64(r.Fields) / r.Seconds
	}
	r.PeakRSSMB = float64(cli.PeakRSS()) / 1e6
}

// Print writes the figures, on standard error where standard output has lines of JSON.
func (r *exported) Print(out io.Writer) error {
	if r.Out == "/dev/stdout" {
		out = os.Stderr
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if r.Graphs > 0 {
		fmt.Fprintf(w, "graphs\t%d\t%d nodes, %d edges, read in %.2f s\n", r.Graphs, r.Nodes, r.Edges, r.ReadSeconds)
	}
	if r.Fields > 0 {
		most := ""
		if r.W > 0 {
			most = fmt.Sprintf(", at most %d of a graph", r.W)
		}
		fmt.Fprintf(w, "fields\t%d\tk %d, roots by %s%s, order by %s (%s)\n", r.Fields, r.K, r.Select, most, r.Normalize, r.Scope)
		fmt.Fprintf(w, "speed\t%.0f/s\t%.3f s, %d workers\n", r.FieldsPerS, r.Seconds, r.Workers)
		fmt.Fprintf(w, "canonical\t%d\torders computed; %d fields used up the budget\n", r.CanonCalls, r.Fallbacks)
	}
	what, n := "rows", r.Rows
	if r.As == "edges" {
		what, n = "lines", r.Edges
	}
	speed := fmt.Sprintf(" in %.2f s, %.1f MB/s", r.Seconds, r.MBPerS)
	if r.Parts > 0 && r.Made == 0 {
		speed = ", made before"
	}
	fmt.Fprintf(w, "%s\t%d\t%.1f MB%s\n", what, n, float64(r.Bytes)/1e6, speed)
	fmt.Fprintf(w, "memory\t%.0f MB\tat most\n", r.PeakRSSMB)
	if r.Out != "" {
		beside := ""
		if (r.As == "parquet" || r.As == "arrow") && r.Left == 0 {
			beside = ", and manifest.json"
		}
		if strings.Contains(r.Out, "://") && !sources.InBucket(r.Out) {
			place, _, _ := strings.Cut(r.Out, "?")
			fmt.Fprintf(w, "messages\t%s\t\n", place[strings.LastIndex(place, "@")+1:]) // without a password
		} else {
			fmt.Fprintf(w, "files\t%s\t%s%s\n", r.Out, r.As, beside)
		}
	}
	if r.Parts > 0 {
		fmt.Fprintf(w, "parts\t%d\t%d made by this run; %d of the plan are not there yet\n", r.Parts, r.Made, r.Left)
	}
	for _, members := range r.first {
		fmt.Fprintf(w, "members\t%s\n", members)
	}
	return w.Flush()
}
