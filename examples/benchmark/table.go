package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// spreads describes the numbers behind ±.
const spreads = "mean ± standard deviation over the folds; behind the best: mean of the paired differences ± its standard error, corrected for training folds that overlap"

// splits is a note that no test graph was used.
func (r *report) splits() string {
	if r.Inner {
		return ", on inner splits"
	}
	return ""
}

// head describes the cells.
func (r *report) head() string {
	if !r.Given {
		return fmt.Sprintf("%d folds × %d, seed %d%s; %s, %s", r.Folds, r.Repeats, r.Seed, r.splits(), r.scored(), spreads)
	}
	how := "learned from train, chosen by validation"
	if r.Refit {
		how = "chosen by validation, learned from train and validation"
	}
	if r.Inner {
		how = "learned from a part of train, chosen by the rest, tested on validation"
	}
	return fmt.Sprintf("%d given splits, seed %d; %s, mean ± standard deviation over the splits, of one over the runs; %s", r.Folds, r.Seed, r.scored(), how)
}

// rows are the heads of the columns, and a row for each system on a collection.
func (r *report) rows(of graphs) [][]string {
	first, second := "nested", "paper-style"
	if r.Protocol == "paper" {
		first, second = second, first
	}
	rows := [][]string{{"", first, "behind the best", second, "the paper", "chosen most often", "CPU s"}}
	if r.Given {
		rows[0] = []string{"", "test", "validation", "runs", "chosen most often", "CPU s"}
	}
	for _, one := range r.row(of.Name) {
		if r.Given {
			rows = append(rows, one.givenColumns())
		} else {
			rows = append(rows, one.columns(r.Protocol))
		}
	}
	return rows
}

// notes are the lines below the tables.
func (r *report) notes() (lines []string) {
	for _, one := range r.Cells {
		if lines == nil && one.Figure != nil && one.Status == done && min(*one.Nested, *one.Paper) < *one.Figure {
			lines = append(lines, lower+" below the paper's figure")
		}
	}
	for _, one := range r.Cells {
		if len(one.Missing) > 0 {
			lines = append(lines, fmt.Sprintf("%s on %s: not among what is chosen from: %s", one.System, one.Dataset, strings.Join(one.Missing, ", ")))
		}
		if one.Bounded != "" {
			lines = append(lines, fmt.Sprintf("%s on %s: %s", one.System, one.Dataset, one.Bounded))
		}
	}
	if r.oneReport != nil {
		lines = append(lines, r.oneReport.notes()...)
	}
	return lines
}

// columns is the row of a cell.
func (one *cell) columns(protocol string) []string {
	figure := one.Note
	if one.Figure != nil {
		figure = fmt.Sprintf("%.2f ± %.2f", *one.Figure, *one.Spread)
	}
	if one.Status != done {
		return []string{one.System, one.Status, "", "", figure, "", seconds(one.CPU)}
	}
	first, second := one.accuracy("nested"), one.accuracy("paper")
	if protocol == "paper" {
		first, second = second, first
	}
	behind := fmt.Sprintf("%.1f ± %.1f", *one.Behind, *one.BehindSE)
	if *one.Behind == 0 {
		behind = "best"
	}
	return []string{one.System, first, behind, second, figure, one.Chosen, seconds(one.CPU)}
}

// seconds is a time without an exponent; below ten it has a decimal.
func seconds(s float64) string {
	if s < 9.95 {
		return fmt.Sprintf("%.1f", s)
	}
	return fmt.Sprintf("%.0f", s)
}

// lower marks an accuracy below the figure of the paper.
const lower = "↓"

// accuracy is the mean and the deviation by a protocol.
func (one *cell) accuracy(protocol string) string {
	mean, std, _ := one.by(protocol)
	text := fmt.Sprintf("%.1f ± %.1f", mean, std)
	if one.Figure != nil && mean < *one.Figure {
		text += " " + lower
	}
	return text
}

// Print writes the tables. A cell that has failed is an error.
func (r *report) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, of := range r.Collections {
		fmt.Fprintf(out, "%s: %d graphs of %.1f nodes, %d classes\n\n", of.Name, of.Graphs, of.AverageNodes, of.Classes)
		for _, row := range r.rows(of) {
			fmt.Fprintln(w, strings.Join(row, "\t"))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	for _, line := range append([]string{r.head()}, r.notes()...) {
		fmt.Fprintln(out, line)
	}
	return r.failed()
}
