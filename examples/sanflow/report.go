package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks/choose"
)

// report is the JSON object of train and evaluate. Accuracy, its standard error, that of
// the largest class and calibration are in percent, of Rows rows. Null is not measured:
// the area under the ROC curve is of two classes, the root mean square error of numbers,
// of which Error is the standard error then. Systems have what they are chosen by on the
// validation part: the accuracy, the root mean square error, or -score.
type report struct {
	cli.Scored
	Task        string         `json:"task"`
	Model       string         `json:"model"` // the system that was chosen
	Systems     []choose.Tried `json:"systems"`
	Accuracy    *float64       `json:"accuracy"`
	Error       *float64       `json:"error"`
	Majority    *float64       `json:"majority"`
	AUC         *float64       `json:"auc"`
	RMSE        *float64       `json:"rmse"`
	Spread      *float64       `json:"rmse_of_mean"` // where the mean of the targets answers
	Confusion   [][]int        `json:"confusion"`    // class, answer
	Classes     []string       `json:"classes"`
	Rows        int            `json:"rows"`
	Unknown     int            `json:"unknown"` // rows that are left out: their target is not known
	Foreign     int            `json:"foreign"` // of Rows, those of a class that the model does not have: errors
	Calibration *float64       `json:"calibration_error"`
	Bins        []choose.Bin   `json:"calibration"` // by the probability of the answer
	Data        string         `json:"data"`
	Seconds     float64        `json:"seconds"`
	PeakRSSMB   int64          `json:"peak_rss_mb"`
	ModelSHA256 string         `json:"model_sha256"`
}

// number is a number that JSON has, or null.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// newReport reports measures. Of all rows those of a class that the model does not have came
// without a target; of the test part they did not come.
func newReport(task, model, data string, tried []choose.Tried, m *choose.Measures, score validation.Measure, start time.Time) *report {
	r := &report{
		Scored: cli.NewScored(score, m.By, nil), Task: task, Model: model, Data: data, Confusion: m.Confusion, Classes: m.Classes, Rows: m.Rows, Unknown: max(0, m.Unknown-m.Foreign), Foreign: m.Foreign,
		Error: number(m.Error()), Seconds: time.Since(start).Seconds(), PeakRSSMB: cli.PeakRSS() >> 20,
	}
	r.Systems = []choose.Tried{}
	for _, s := range tried {
		if score != "" {
			if s.Score *= cli.ScoreUnit(score); s.Name == model {
				r.ValidationValue = &s.Score
			}
		}
		r.Systems = append(r.Systems, s)
	}
	if len(m.Classes) == 0 {
		r.Classes, r.RMSE, r.Spread = []string{}, number(m.RMSE()), number(m.Spread())
		return r
	}
	r.Accuracy, r.Majority, r.AUC = number(m.Accuracy()), number(m.Majority()), number(m.AUC())
	r.Calibration, r.Bins = number(m.Calibration()), m.Bins[:]
	return r
}

// print writes the report for people.
func (r *report) print(out io.Writer, what string) error {
	fmt.Fprintf(out, "%s: %s\n\n", r.Data, what)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range r.Systems {
		mark := ""
		if s.Name == r.Model {
			mark = "chosen"
			if r.Score == "" && r.Accuracy != nil && slices.ContainsFunc(r.Systems, func(t choose.Tried) bool { return t.Score > s.Score }) {
				mark = "chosen: recommended, and no other is better by a standard error"
			}
		}
		fmt.Fprintf(w, "%s\t%.4g\t%.1f s\t%s\n", s.Name, s.Score, s.Seconds, mark)
	}
	if len(r.Systems) > 0 {
		fmt.Fprintln(w, "\t\t\t") // a line of its own
	}
	r.Print(w)
	show := func(name string, x *float64, unit, note string) {
		if x != nil {
			fmt.Fprintf(w, "%s\t%.4g%s\t%s\n", name, *x, unit, note)
		}
	}
	if r.Accuracy != nil && r.Error != nil {
		fmt.Fprintf(w, "accuracy\t%.2f ± %.2f %%\tof %d rows\n", *r.Accuracy, *r.Error, r.Rows)
	}
	show("majority", r.Majority, " %", "the largest class alone")
	show("AUC", r.AUC, "", "")
	if r.RMSE != nil && r.Error != nil {
		fmt.Fprintf(w, "RMSE\t%.4g ± %.2g\tof %d rows\n", *r.RMSE, *r.Error, r.Rows)
	}
	show("RMSE of the mean", r.Spread, "", "where the mean target answers")
	if r.Foreign > 0 {
		fmt.Fprintf(w, "errors\t%d rows\tof a class that the model does not have\n", r.Foreign)
	}
	show("calibration error", r.Calibration, " %", "mean distance of confidence and accuracy")
	if err := w.Flush(); err != nil {
		return err
	}
	if len(r.Classes) > 0 && len(r.Classes) <= 20 {
		fmt.Fprintf(out, "\nclass \\ answer\n")
		w.Init(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintf(w, "\t%s\t\n", strings.Join(r.Classes, "\t"))
		for c, row := range r.Confusion {
			fmt.Fprintf(w, "%s\t", r.Classes[c])
			for _, n := range row {
				fmt.Fprintf(w, "%d\t", n)
			}
			fmt.Fprintln(w)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "\n%.1f s, %d MB at most\n", r.Seconds, r.PeakRSSMB)
	return err
}
