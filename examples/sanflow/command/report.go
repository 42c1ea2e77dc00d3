package command

import (
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks/choose"
)

// report is the JSON object of train and evaluate. Accuracy, its interval, Majority, Precision, Recall and
// Calibration are in percent of Rows rows. A figure that is not defined is null. AUC, AP, Precision and
// Recall are of the positive class. RMSE is of numbers, and Error is its standard error. Systems have the
// figure on the validation part that chooses: the accuracy, the RMSE, or -score.
type report struct {
	cli.Scored
	copies
	Task    string         `json:"task"`
	Model   string         `json:"model"` // the chosen system
	Systems []choose.Tried `json:"systems"`
	// NotTried are the other systems of train.
	NotTried []choose.NotTried `json:"not_tried,omitempty"`
	quality
	// Targets are the figures of several targets. Rows is then the number of rows with a target. Accuracy,
	// Majority, AUC, AP, RMSE, Spread and Calibration are means over the targets that have them; the other
	// figures are in Targets alone.
	Targets     []targetQuality `json:"targets,omitempty"`
	Curve       []point         `json:"curve,omitempty"` // of evaluate -curve
	Data        string          `json:"data"`
	Seconds     float64         `json:"seconds"`
	PeakRSSMB   int64           `json:"peak_rss_mb"`
	ModelSHA256 string          `json:"model_sha256"`

	balanced   bool   // the model answers as if all classes were equally frequent
	what, part string // the description of the rows, and the part of the scores of systems
	head, next string // first and last text of Print
}

// quality is the figures of a target.
type quality struct {
	Accuracy    *float64         `json:"accuracy"`
	Interval    []float64        `json:"interval"` // of the accuracy, 95 %: validation.Wilson
	Error       *float64         `json:"error"`
	Majority    *float64         `json:"majority"`
	Positive    string           `json:"positive,omitempty"`
	AUC         *float64         `json:"auc"`
	AP          *float64         `json:"ap"`
	Precision   *float64         `json:"precision"` // of rows with the positive class as answer
	Recall      *float64         `json:"recall"`
	Top         []choose.Top     `json:"top,omitempty"` // of the positive class
	Threshold   *float64         `json:"threshold"`     // probability from which on the answer is the positive class, of two classes
	RMSE        *float64         `json:"rmse"`
	Spread      *float64         `json:"rmse_of_mean"` // of the mean of the targets as answer
	Confusion   [][]int          `json:"confusion"`    // by class, then by answer
	Classes     []string         `json:"classes"`
	Rows        int              `json:"rows"`
	Unknown     int              `json:"unknown"`          // number of rows that are left out without a target
	Future      bool             `json:"future,omitempty"` // later rows were used
	LeftOut     int              `json:"left_out"`         // number of rows that are left out because the model has learned from them or was chosen by them
	Foreign     int              `json:"foreign"`          // number of Rows with a class that the model does not have; they are errors
	Calibration *float64         `json:"calibration_error"`
	Bins        []validation.Bin `json:"calibration"` // by intervals of the probability of the answer
}

// targetQuality is the figures of one of several targets.
type targetQuality struct {
	Name string `json:"name"`
	cli.Scored
	quality
}

// copies counts graphs that are equal to others in any numbering.
type copies struct {
	Graphs   int `json:"graphs,omitempty"`   // number of graphs with a target
	Repeated int `json:"repeated,omitempty"` // number of Graphs that are equal to an earlier one
	Seen     int `json:"seen,omitempty"`     // number of test graphs that are equal to one of another part
}

// threshold is the probability of a class from which on a model of two classes answers with it.
const threshold = 0.5

// positiveFlag adds the flag -positive.
func positiveFlag(f *flag.FlagSet, p *string, otherwise string) {
	f.StringVar(p, "positive", "", "the `class` that AUC, AP, precision and recall are about; of two classes by default "+otherwise)
}

// checkPositive refuses a -positive that is not a class.
func checkPositive(name string, classes []string) error {
	if _, err := choose.Positive(classes, name, make([]int, len(classes))); err != nil {
		return cli.Usage(fmt.Errorf("-positive: %w", err))
	}
	return nil
}

// number returns x, nil where JSON has no such number.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// newReport returns the report of measures. A row to evaluate with a class that the model does not have
// came without a target; such rows of the test part did not come.
func newReport(task, model, data string, tried []choose.Tried, m *choose.Measures, score validation.Measure, start time.Time) *report {
	r := &report{
		Scored: cli.NewScored(score, m.By, nil), Task: task, Model: model, Data: data,
		Seconds: time.Since(start).Seconds(), PeakRSSMB: cli.PeakRSS() >> 20,
	}
	for _, one := range m.Targets {
		r.Targets = append(r.Targets, targetQuality{one.Name, cli.NewScored(score, one.By, nil), qualityOf(one)})
	}
	if r.Targets == nil {
		r.quality = qualityOf(m)
	} else {
		r.quality = quality{Confusion: [][]int{}, Classes: []string{}, Rows: m.Rows, Unknown: m.Unknown}
		for i, mean := range r.averaged() {
			var all []float64
			for t := range r.Targets {
				if x := *r.Targets[t].averaged()[i]; x != nil {
					all = append(all, *x)
				}
			}
			*mean = number(stat.Mean(all, nil))
		}
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
	return r
}

// averaged are the figures of which several targets have a mean, over the targets that have the figure.
func (q *quality) averaged() []**float64 {
	return []**float64{&q.Accuracy, &q.Majority, &q.AUC, &q.AP, &q.RMSE, &q.Spread, &q.Calibration}
}

// qualityOf returns the figures of measures.
func qualityOf(m *choose.Measures) quality {
	r := quality{Confusion: m.Confusion, Classes: m.Classes, Rows: m.Rows, Unknown: max(0, m.Unknown-m.Foreign), Foreign: m.Foreign}
	by := func(measure validation.Measure, unit float64) *float64 {
		x, err := m.By(measure)
		if err != nil {
			return nil
		}
		return number(unit * x)
	}
	if len(m.Classes) == 0 {
		r.Classes, r.RMSE, r.Error, r.Spread = []string{}, by(validation.RMSE, 1), number(m.Error()), number(m.Spread())
		return r
	}
	if m.Rows > 0 {
		low, high := validation.Wilson(m.Correct(), m.Rows, validation.Z95)
		r.Interval = []float64{100 * low, 100 * high}
	}
	r.Accuracy, r.Majority = number(m.Accuracy()), number(m.Majority())
	are, said, both := m.Found()
	if r.Positive = m.Class(); r.Positive != "" {
		r.AUC, r.AP = by(validation.ROC, 1), by(validation.Precision, 1)
		r.Top = m.Tops()
	}
	r.Precision, r.Recall = number(100*float64(both)/float64(said)), number(100*float64(both)/float64(are))
	if len(m.Classes) == 2 {
		r.Threshold = number(threshold)
	}
	bins := m.Bins()
	r.Calibration, r.Bins = by(validation.Calibration, 100), bins[:]
	return r
}

// A class is rare below these shares of all rows, and of an even share of the rows.
const (
	rare  = 1. / 5
	fewer = 3. / 5
)

// printRare names the rarest class, if it is rare, and the flags for it.
func (r *report) printRare(out io.Writer) {
	class, least, rows := 0, 0, r.Rows-r.Foreign
	for c, said := range r.Confusion {
		n := 0
		for _, x := range said {
			n += x
		}
		if c == 0 || n < least {
			class, least = c, n
		}
	}
	if k := len(r.Classes); k > 0 && float64(least) < float64(rows)*min(rare, fewer/float64(k)) {
		fmt.Fprintf(out, "\nrare class %q: %d of %d rows, so the accuracy says little about it\n", r.Classes[class], least, rows)
		if !slices.Contains([]validation.Measure{validation.Precision, validation.ROC, validation.Balanced}, r.Score) {
			fmt.Fprintln(out, "  train -score ap, auc or balanced chooses the model that finds the class best")
		}
		if !r.balanced {
			fmt.Fprintln(out, "  train -balance answers as if all classes were equally frequent")
		}
	}
}

// scoreText is a figure as text.
func scoreText(m validation.Measure, x *float64) string {
	if x == nil {
		return "none"
	}
	return cli.ScoreText(m, *x)
}

// printTargets writes a table of several targets and their means.
func (r *report) printTargets(w *tabwriter.Writer) error {
	line := func(name string, q *quality) {
		if r.RMSE != nil {
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\t\n", name, q.Rows, scoreText(validation.RMSE, q.RMSE), scoreText(validation.RMSE, q.Spread))
			return
		}
		positive, interval := "", ""
		if class := slices.Index(q.Classes, q.Positive); class >= 0 {
			rows := 0
			for _, n := range q.Confusion[class] {
				rows += n
			}
			positive = fmt.Sprintf("%d of class %s", rows, cli.Printable(q.Positive))
		}
		if len(q.Interval) == 2 {
			interval = fmt.Sprintf("%.2f to %.2f", q.Interval[0], q.Interval[1])
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t\n", name, q.Rows, positive, scoreText(validation.ROC, q.AUC), scoreText(validation.Precision, q.AP), scoreText(validation.Accuracy, q.Accuracy), interval, scoreText(validation.Accuracy, q.Majority))
	}
	if fmt.Fprint(w, "target\trows\t"); r.RMSE != nil {
		fmt.Fprint(w, "RMSE\tRMSE of the mean\t\n")
	} else {
		fmt.Fprint(w, "positive\tAUC\tAP\taccuracy in %\t95 %\tmajority in %\t\n")
	}
	for i := range r.Targets {
		line(cli.Printable(r.Targets[i].Name), &r.Targets[i].quality)
	}
	line("mean", &r.quality)
	for _, t := range r.Targets {
		switch {
		case t.Rows == 0:
			fmt.Fprintf(w, "left out: of no row to test on the target %q is known\n", t.Name)
		case t.Positive != "" && t.AUC == nil:
			fmt.Fprintf(w, "left out of the means of AUC and AP: all %d rows to test on the target %q are of one class\n", t.Rows, t.Name)
		}
	}
	return w.Flush()
}

// Print writes the report.
func (r *report) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s%s: %s\n\n", r.head, cli.Printable(r.Data), r.what)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	score := r.Score
	switch {
	case score == "" && r.RMSE != nil:
		score = validation.RMSE
	case score == "":
		score = validation.Accuracy
	}
	unit := ""
	if cli.ScoreUnit(score) == 100 {
		unit = " in %"
	}
	fmt.Fprintf(w, "system\t%s %s%s\ttime\t\n", r.part, score, unit)
	for _, s := range r.Systems {
		mark := ""
		if s.Name == r.Model {
			mark = "chosen"
			if slices.ContainsFunc(r.Systems, func(t choose.Tried) bool { return score.Loss(t.Score) < score.Loss(s.Score) }) {
				mark = "chosen: recommended, and no other is better by a standard error"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%.1f s\t%s\n", cli.Printable(s.Name), cli.ScoreText(score, s.Score), s.Seconds, mark)
	}
	for _, s := range r.NotTried {
		fmt.Fprintf(w, "%s\t-\t-\t%s: %s\n", cli.Printable(s.Name), map[bool]string{true: "not finished", false: "not tried"}[s.Needs > 0], s.Why)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range r.NotTried {
		budget := "a longer -budget"
		if s.Needs > 0 {
			budget = fmt.Sprintf("about -budget %s", (time.Duration(s.Needs+10) * time.Second).Round(10*time.Second))
		}
		if s.Late && (s.Recommended || s.Needs > 0) {
			fmt.Fprintf(out, "\nadvice: the %[1]ssystem %[2]s was not reached: %[3]s does, and -systems %[2]s tries it alone, without a bound\n", map[bool]string{true: "recommended "}[s.Recommended], s.Name, budget)
		}
	}
	fmt.Fprintln(out)
	r.Scored.Print(w)
	if r.Targets != nil {
		if err := r.printTargets(w); err != nil {
			return err
		}
		if r.Score == "" && r.Majority != nil && *r.Majority > 100*(1-rare) {
			fmt.Fprintf(out, "\nrare classes: the largest has %.2f %% in the mean of the targets, so the accuracy says little: set -score auc\n", *r.Majority)
		}
		_, err := fmt.Fprintf(out, "\n%.1f s, %d MB at most\n%s", r.Seconds, r.PeakRSSMB, r.next)
		return err
	}
	m := choose.Measures{Classes: r.Classes, Positive: r.Positive, Rows: r.Rows, Confusion: r.Confusion}
	show := func(name string, m validation.Measure, x *float64, unit, note string) {
		if x != nil {
			fmt.Fprintf(w, "%s\t%s%s\t%s\n", name, cli.ScoreText(m, *x), unit, note)
		}
	}
	share := func(name string, right, n int, of string) {
		if n == 0 {
			fmt.Fprintf(w, "%s\tnone\tof 0 %s\n", name, of)
			return
		}
		low, high := validation.Wilson(right, n, validation.Z95)
		fmt.Fprintf(w, "%s\t%.2f %%\t%.2f to %.2f (95 %%), %d of %d %s\n", name, 100*float64(right)/float64(n), 100*low, 100*high, right, n, of)
	}
	if r.Accuracy != nil {
		share("accuracy", m.Correct(), r.Rows, "rows")
	}
	show("majority", validation.Accuracy, r.Majority, " %", "the largest class alone")
	if r.Positive != "" {
		fmt.Fprintf(w, "positive class\t%q\t%s\n", r.Positive, "of AUC, AP, precision and recall; -positive names another")
		show("AUC", validation.ROC, r.AUC, "", "")
		show("AP", validation.Precision, r.AP, "", "")
		are, said, both := m.Found()
		at := "where it is the most probable class"
		if r.Threshold != nil {
			at = fmt.Sprintf("at the threshold %g", *r.Threshold)
		}
		share("precision", both, said, "rows answered so, "+at)
		share("recall", both, are, "rows of the class")
		for _, top := range r.Top {
			fmt.Fprintf(w, "top %g %%\t%.2f %%\tprecision of %d rows, recall %.2f %%\n", top.Share, top.Precision, top.Rows, top.Recall)
		}
	}
	if r.RMSE != nil && r.Error != nil {
		fmt.Fprintf(w, "RMSE\t%.4g ± %.2g\tof %d rows\n", *r.RMSE, *r.Error, r.Rows)
	}
	show("RMSE of the mean", validation.RMSE, r.Spread, "", "where the mean target answers")
	if r.Foreign > 0 {
		fmt.Fprintf(w, "errors\t%d rows\tof a class that the model does not have\n", r.Foreign)
	}
	show("calibration error", validation.Accuracy, r.Calibration, " %", "mean distance of confidence and accuracy")
	if err := w.Flush(); err != nil {
		return err
	}
	if len(r.Classes) > 0 && len(r.Classes) <= 20 {
		fmt.Fprintf(out, "\nclass \\ answer\n")
		w.Init(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintf(w, "\t%s\t\n", strings.Join(cli.Printables(r.Classes), "\t"))
		for c, row := range r.Confusion {
			fmt.Fprintf(w, "%s\t", cli.Printable(r.Classes[c]))
			for _, n := range row {
				fmt.Fprintf(w, "%d\t", n)
			}
			fmt.Fprintln(w)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if len(r.Curve) > 0 {
		if err := printCurve(out, r.Curve); err != nil {
			return err
		}
	}
	if r.Future {
		fmt.Fprintln(out, "\nthe future was seen: by -future a row sees the rows after it too")
	}
	if r.Repeated > 0 {
		dealt := "copies are dealt to one part"
		if r.Seen > 0 {
			dealt = fmt.Sprintf("%d graphs of\nthe test part have copies in other parts, since the data name the parts or less than six graphs are different", r.Seen)
		}
		fmt.Fprintf(out, "\nrepeated rows: %d of %d graphs are equal to an earlier one, in any numbering; %s\n", r.Repeated, r.Graphs, dealt)
	}
	r.printRare(out)
	_, err := fmt.Fprintf(out, "\n%.1f s, %d MB at most\n%s", r.Seconds, r.PeakRSSMB, r.next)
	return err
}
