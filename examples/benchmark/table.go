package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// spreads says what stands behind ±.
const spreads = "mean ± standard deviation over the folds; behind the best: mean of the paired differences ± its standard error, corrected for training folds that overlap"

// splits says so where no test graph was looked at.
func (r *report) splits() string {
	if r.Inner {
		return ", on inner splits"
	}
	return ""
}

// markdown is the table of -table: a row per collection and system.
func (r *report) markdown() string {
	var b strings.Builder
	if r.Given {
		r.givenHead(&b)
		for _, of := range r.Collections {
			fmt.Fprintf(&b, "\n**%s**, %d graphs of %.1f nodes, %d classes\n\n", of.Name, of.Graphs, of.AverageNodes, of.Classes)
			head := "|---|---|---|---|---|---|\n"
			r.givenTable(of, func(columns ...string) {
				fmt.Fprintf(&b, "| %s |\n%s", strings.Join(columns, " | "), head)
				head = ""
			})
		}
		return b.String()
	}
	first, second := "nested", "paper-style"
	if r.Protocol == "paper" {
		first, second = second, first
	}
	fmt.Fprintf(&b, "%d folds × %d, seed %d%s; %s, %s\n", r.Folds, r.Repeats, r.Seed, r.splits(), r.scored(), spreads)
	for _, of := range r.Collections {
		fmt.Fprintf(&b, "\n**%s**, %d graphs of %.1f nodes, %d classes\n\n", of.Name, of.Graphs, of.AverageNodes, of.Classes)
		fmt.Fprintf(&b, "| | %s | behind the best | %s | the paper | chosen most often | CPU s |\n|---|---|---|---|---|---|---|\n", first, second)
		for _, one := range r.row(of.Name) {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(one.columns(r.Protocol), " | "))
		}
	}
	if r.below() {
		fmt.Fprint(&b, "\n↓ below the paper's figure\n")
	}
	for _, line := range r.footnotes() {
		fmt.Fprintf(&b, "\n%s\n", line)
	}
	return b.String()
}

// columns are those of the table.
func (one *cell) columns(protocol string) []string {
	figure := one.Note
	if one.Figure != nil {
		figure = fmt.Sprintf("%.2f ± %.2f", *one.Figure, *one.Spread)
	}
	if one.Status != done {
		return []string{one.System, one.Status, "", "", figure, "", seconds(one.CPU)}
	}
	first, second := fmt.Sprintf("%.1f ± %.1f", *one.Nested, *one.Std), fmt.Sprintf("%.1f ± %.1f", *one.Paper, *one.PaperStd)
	if one.below("nested") {
		first += " ↓"
	}
	if one.below("paper") {
		second += " ↓"
	}
	if protocol == "paper" {
		first, second = second, first
	}
	behind := fmt.Sprintf("%.1f ± %.1f", *one.Behind, *one.BehindSE)
	if *one.Behind == 0 {
		behind = "best"
	}
	return []string{one.System, first, behind, second, figure, one.Chosen, seconds(one.CPU)}
}

// seconds are written without an exponent, and with a digit after the point where
// they are few.
func seconds(s float64) string {
	if s < 9.95 {
		return fmt.Sprintf("%.1f", s)
	}
	return fmt.Sprintf("%.0f", s)
}

// below reports whether the cell does not reach the paper's figure by a protocol.
func (one *cell) below(protocol string) bool {
	if one.Status != done || one.Figure == nil {
		return false
	}
	if protocol == "paper" {
		return *one.Paper < *one.Figure
	}
	return *one.Nested < *one.Figure
}

func (r *report) below() bool {
	for _, one := range r.Cells {
		if one.below("nested") || one.below("paper") {
			return true
		}
	}
	return false
}

// footnotes has a line for each cell with variants that do not exist, and for each in
// which searches of machines were ended.
func (r *report) footnotes() (lines []string) {
	for _, one := range r.Cells {
		if len(one.Missing) > 0 {
			lines = append(lines, fmt.Sprintf("%s on %s: not among what is chosen from: %s", one.System, one.Dataset, strings.Join(one.Missing, ", ")))
		}
		if one.Bounded != "" {
			lines = append(lines, fmt.Sprintf("%s on %s: %s", one.System, one.Dataset, one.Bounded))
		}
	}
	return lines
}

// printGiven is print for given splits.
func (r *report) printGiven(out io.Writer) error {
	of := r.Collections[0]
	fmt.Fprintf(out, "%s: %d graphs of %.1f nodes, %d classes\n\n", of.Name, of.Graphs, of.AverageNodes, of.Classes)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	r.givenTable(of, func(columns ...string) { fmt.Fprintln(w, strings.Join(columns, "\t")) })
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	r.givenHead(out)
	return nil
}

// print writes the same for people at a terminal. A cell that has failed is an error.
func (r *report) print(out io.Writer) error {
	if r.oneReport != nil {
		return r.oneReport.print(out, r)
	}
	write := r.printRandom
	if r.Given {
		write = r.printGiven
	}
	if err := write(out); err != nil {
		return err
	}
	if r.ranOut() {
		fmt.Fprintln(out, "\n"+r.goOn("cells that ran out of -limit, with a longer one"))
	}
	return r.failed()
}

// printRandom is print for random folds.
func (r *report) printRandom(out io.Writer) error {
	for i, of := range r.Collections {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s: %d graphs of %.1f nodes, %d classes; %d folds × %d, seed %d%s; %s\n\n", of.Name, of.Graphs, of.AverageNodes, of.Classes, r.Folds, r.Repeats, r.Seed, r.splits(), r.scored())
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		titles := "\tnested\tbehind the best\tpaper-style\tthe paper\tchosen most often\tCPU s"
		if r.Protocol == "paper" {
			titles = "\tpaper-style\tbehind the best\tnested\tthe paper\tchosen most often\tCPU s"
		}
		fmt.Fprintln(w, titles)
		for _, one := range r.row(of.Name) {
			fmt.Fprintln(w, strings.Join(one.columns(r.Protocol), "\t"))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%s\n", spreads)
	if r.below() {
		fmt.Fprintln(out, "↓ below the paper's figure")
	}
	for i, line := range r.footnotes() {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, line)
	}
	return nil
}
