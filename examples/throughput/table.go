package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Print writes fields per second, a row per graph and a column per k.
func (r *report) Print(out io.Writer) error {
	c := r.c
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "fields/s\tnodes\tedges\t")
	for _, bound := range c.bound {
		for _, k := range c.k {
			fmt.Fprintf(w, "%s \t", heading(k, bound)) // room for a mark
		}
	}
	fmt.Fprintln(w)
	sampled := false
	for _, r := range r.Results {
		fmt.Fprintf(w, "%s\t%d\t%d\t", r.Graph, r.Nodes, r.Edges)
		for _, cell := range r.Cells {
			mark := " "
			if cell.Passes == 0 {
				mark, sampled = "*", true
			}
			fmt.Fprintf(w, "%.0f%s\t", cell.FieldsPerS, mark)
		}
		fmt.Fprintln(w)
	}
	for _, line := range []struct{ name, graph string }{{"paper, at least", ""}, {"paper, email-Enron", "email-Enron"}} {
		if c.bound[0] > 0 {
			break // the paper's neighbourhoods are whole
		}
		fmt.Fprintf(w, "%s\t\t\t", line.name)
		for _, k := range c.k {
			if rate := paperRate(line.graph, k); rate > 0 {
				fmt.Fprintf(w, "%.0f \t", rate)
			} else {
				fmt.Fprint(w, "– \t")
			}
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if sampled {
		fmt.Fprintf(out, "* a random sample of the nodes, seed %d: as many as %g s allowed\n", c.seed, c.seconds)
	}
	workers := "one worker"
	if c.workers > 1 {
		workers = fmt.Sprintf("%d workers", c.workers)
	}
	if c.cpu {
		workers += ", seconds of processor time"
	}
	_, err := fmt.Fprintf(out, "%s; the paper's figures are for one core at 2.8 GHz\n", workers)
	return err
}

// heading names a column.
func heading(k, bound int) string {
	if bound == 0 {
		return fmt.Sprintf("k=%d", k)
	}
	return fmt.Sprintf("k=%d,bound=%d", k, bound)
}
