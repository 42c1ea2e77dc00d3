package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"
)

// report is the JSON object of -json.
type report struct {
	Graph       string       `json:"graph"`
	Nodes       int          `json:"nodes"`
	Edges       int          `json:"edges"`
	K           int          `json:"k"`
	Rows        int          `json:"rows"` // fields that were learned from
	Distinct    int          `json:"distinct_fields"`
	Epochs      int          `json:"epochs"`
	Hidden      int          `json:"hidden"`
	Rate        float64      `json:"lr"`
	Batch       int          `json:"batch"`
	Seed        uint64       `json:"seed"`
	Error       float64      `json:"reconstruction_error"`             // mean square a unit, over the last epoch
	ErrorFirst  float64      `json:"first_epoch_reconstruction_error"` // over the first
	Held        int          `json:"held"`                             // fields kept from learning
	Gap         *float64     `json:"free_energy_gap,omitempty"`        // of them less the others
	Units       []unitReport `json:"units"`
	Seconds     float64      `json:"seconds"` // of learning
	RowsPerS    float64      `json:"rows_per_s"`
	ModelSHA256 string       `json:"model_sha256"`

	out string
}

// unitReport is a line of the sheet.
type unitReport struct {
	Unit     int           `json:"unit"`
	Strength float64       `json:"strength"`
	Alike    int           `json:"alike"`
	Fields   []fieldReport `json:"fields"`
}

type fieldReport struct {
	Root        int64   `json:"root"`
	Nodes       int     `json:"nodes"` // how many have such a field
	Probability float64 `json:"probability"`
}

func newReport(c *config, in *input, f *fields, l *learned, motifs []*motif, model []byte) *report {
	sum := sha256.Sum256(model)
	r := &report{
		Graph: in.name, Nodes: in.graph.N(), Edges: in.graph.M(), K: c.k,
		Rows: f.len() - f.held, Distinct: len(distinct(f).list), Epochs: c.epochs, Hidden: c.hidden,
		Rate: c.rate, Batch: l.batch, Seed: c.seed, Error: l.last, ErrorFirst: l.first, Held: f.held,
		Seconds: l.seconds, RowsPerS: l.rowsPerS, ModelSHA256: hex.EncodeToString(sum[:]), out: c.out,
	}
	if f.held > 0 {
		r.Gap = &l.gap
	}
	for _, m := range motifs {
		u := unitReport{Unit: m.unit, Strength: m.strength, Alike: m.alike}
		for _, e := range m.fields {
			u.Fields = append(u.Fields, fieldReport{in.id(f.member(e.field)[0]), e.count, e.p})
		}
		r.Units = append(r.Units, u)
	}
	return r
}

// Print writes the closing table.
func (r *report) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s: %d nodes, %d edges; %d fields of %d nodes, %d of them different\n\n",
		r.Graph, r.Nodes, r.Edges, r.Rows+r.Held, r.K, r.Distinct)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "unit\tstrength\tunits alike\troots of the fields that excite it most (nodes that have one like it)")
	for _, u := range r.Units {
		fmt.Fprintf(w, "%d\t%.2f\t%d\t", u.Unit, u.Strength, u.Alike)
		for i, f := range u.Fields {
			if i > 0 {
				fmt.Fprint(w, "   ")
			}
			fmt.Fprintf(w, "%d (%d)", f.Root, f.Nodes)
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nreconstruction error %.4f, in the first epoch %.4f; %d epochs at %v, %d fields a step, seed %d; %.0f rows/s\n",
		r.Error, r.ErrorFirst, r.Epochs, r.Rate, r.Batch, r.Seed, r.RowsPerS)
	if r.Gap != nil {
		fmt.Fprintf(out, "gap of free energies, %d fields held back: %.3f\n", r.Held, *r.Gap)
	}
	_, err := fmt.Fprintf(out, "the sheet: %s and .png\n", filepath.Join(r.out, "motifs.svg"))
	return err
}
