package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources/links"
)

// report is the JSON object of -json. Areas and precisions are means over the
// repeats, from 0 to 1.
type report struct {
	cli.Scored
	Dataset string  `json:"dataset"`
	Nodes   int     `json:"nodes"`
	Edges   int     `json:"edges"`
	K       int     `json:"k"`      // 0 where no fields are read
	Hidden  int     `json:"hidden"` // edges, and as many pairs that are not joined
	Share   float64 `json:"share"`
	Repeats int     `json:"repeats"`

	AUC    float64 `json:"auc"`
	AP     float64 `json:"ap"`
	AUCStd float64 `json:"auc_std"`
	// Of the same pairs: common neighbours; the sum of 1/log(degree) over them, of
	// Adamic and Adar; Katz, see there; and the product of the degrees, preferential
	// attachment.
	CNAUC   float64 `json:"cn_auc"`
	CNAP    float64 `json:"cn_ap"`
	AAAUC   float64 `json:"aa_auc"`
	AAAP    float64 `json:"aa_ap"`
	KatzAUC float64 `json:"katz_auc"`
	KatzAP  float64 `json:"katz_ap"`
	PAAUC   float64 `json:"pa_auc"`
	PAAP    float64 `json:"pa_ap"`

	EachAUC   []float64 `json:"auc_of_each_repeat"`
	EachCNAUC []float64 `json:"cn_auc_of_each_repeat"`
	EachAAAUC []float64 `json:"aa_auc_of_each_repeat"`
	ValAUC    float64   `json:"validation_auc"`
	// AttachedAUC is that of the pairs whose ends both have an edge left. An end
	// without one gives a link away if edges are hidden at random: it had an
	// edge, and this may be it. It is nil where in no repeat some of them are links
	// and some are not.
	AttachedAUC   *float64 `json:"attached_auc"`
	AttachedAAAUC *float64 `json:"attached_aa_auc"`
	Attached      float64  `json:"attached"` // share of the pairs

	RootsPerS float64 `json:"roots_per_s"` // fields that were made in a second, or ends of pairs around which words were counted
	PeakRSSMB int64   `json:"peak_rss_mb"`
	Seconds   float64 `json:"seconds"`

	Epochs    []int   `json:"epochs"` // of each model
	Batch     int     `json:"batch"`
	Rate      float64 `json:"rate"`
	Decay     float64 `json:"decay"`
	Net       string  `json:"net"`
	Nets      int     `json:"nets"`
	Normalize string  `json:"normalize"` // "" where no fields are read
	Seed      uint64  `json:"seed"`

	roots       int
	rootSeconds float64
	// One figure per repeat.
	ap, cnAP, aaAP, valAUC       []float64
	katzAUC, katzAP, paAUC, paAP []float64

	attachedAUC, attachedAA, attached []float64
	scores, valScores                 []float64 // by -score
}

// scored takes those of -score of one repeat.
func (r *report) scored(by validation.Measure, test, val *sinks.Probabilities) error {
	x, err := test.By(by)
	if err != nil {
		return err
	}
	y, err := val.By(by)
	r.scores, r.valScores = append(r.scores, x), append(r.valScores, y)
	return err
}

// add takes the figures of one repeat.
func (r *report) add(ctx context.Context, t *links.Trial, test, val *sinks.Probabilities, epochs []int) error {
	score, link := test.Ranking(1)
	var cn, aa, katz, pa []float64
	var left, leftAA []float64 // of pairs whose ends both have an edge left
	var leftLink []bool
	g := t.Test.Graph
	var s count.LinkScorer
	for i, p := range t.Test.Pairs {
		if i&(1<<8-1) == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		plain := s.Score(g, p[0], p[1])
		cn, aa, katz, pa = append(cn, plain.Common), append(aa, plain.AdamicAdar), append(katz, plain.Katz), append(pa, plain.Degrees)
		if g.Degree(p[0]) > 0 && g.Degree(p[1]) > 0 {
			left, leftAA, leftLink = append(left, score[i]), append(leftAA, plain.AdamicAdar), append(leftLink, link[i])
		}
	}
	for _, f := range []struct {
		auc, ap *[]float64
		score   []float64
	}{
		{&r.EachAUC, &r.ap, score}, {&r.EachCNAUC, &r.cnAP, cn}, {&r.EachAAAUC, &r.aaAP, aa},
		{&r.katzAUC, &r.katzAP, katz}, {&r.paAUC, &r.paAP, pa},
	} {
		*f.auc, *f.ap = append(*f.auc, validation.AUC(f.score, link)), append(*f.ap, validation.AveragePrecision(f.score, link))
	}
	if a := validation.AUC(left, leftLink); !math.IsNaN(a) { // there are links and others
		r.attachedAUC, r.attachedAA = append(r.attachedAUC, a), append(r.attachedAA, validation.AUC(leftAA, leftLink))
	}
	r.attached = append(r.attached, float64(len(left))/float64(len(score)))
	r.valAUC = append(r.valAUC, validation.AUC(val.Ranking(1)))
	r.Epochs = append(r.Epochs, epochs...)
	return nil
}

// close makes the means.
func (r *report) close() {
	for _, f := range []struct {
		mean *float64
		each []float64
	}{
		{&r.AUC, r.EachAUC}, {&r.AP, r.ap}, {&r.CNAUC, r.EachCNAUC}, {&r.CNAP, r.cnAP},
		{&r.AAAUC, r.EachAAAUC}, {&r.AAAP, r.aaAP}, {&r.KatzAUC, r.katzAUC}, {&r.KatzAP, r.katzAP},
		{&r.PAAUC, r.paAUC}, {&r.PAAP, r.paAP}, {&r.ValAUC, r.valAUC},
		{&r.Attached, r.attached},
	} {
		if len(f.each) > 0 {
			*f.mean = stat.Mean(f.each, nil)
		}
	}
	if len(r.attachedAUC) > 0 {
		a, aa := stat.Mean(r.attachedAUC, nil), stat.Mean(r.attachedAA, nil)
		r.AttachedAUC, r.AttachedAAAUC = &a, &aa
	}
	if len(r.EachAUC) > 1 {
		r.AUCStd = stat.StdDev(r.EachAUC, nil)
	}
	r.RootsPerS = float64(r.roots) / r.rootSeconds
}

// print writes the closing table.
func (r *report) print(out io.Writer) error {
	what := words
	if r.Net != words {
		what = fmt.Sprintf("%s, k %d", r.Net, r.K)
	}
	fmt.Fprintf(out, "%s: %d nodes, %d edges, %d of them hidden, %d times; %s, seed %d\n\n",
		r.Dataset, r.Nodes, r.Edges, r.Hidden, r.Repeats, what, r.Seed)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tAUC\taverage precision\n")
	spread := ""
	if r.Repeats > 1 {
		spread = fmt.Sprintf(" ± %.4f", r.AUCStd)
	}
	fmt.Fprintf(w, "%s\t%.4f%s\t%.4f\n", r.Net, r.AUC, spread, r.AP)
	fmt.Fprintf(w, "common neighbours\t%.4f\t%.4f\n", r.CNAUC, r.CNAP)
	fmt.Fprintf(w, "Adamic–Adar\t%.4f\t%.4f\n", r.AAAUC, r.AAAP)
	fmt.Fprintf(w, "Katz\t%.4f\t%.4f\n", r.KatzAUC, r.KatzAP)
	fmt.Fprintf(w, "product of degrees\t%.4f\t%.4f\n", r.PAAUC, r.PAAP)
	r.Print(w)
	if err := w.Flush(); err != nil {
		return err
	}
	attached := "no AUC, since none or all are links"
	if r.AttachedAUC != nil {
		attached = fmt.Sprintf("AUC %.4f, Adamic–Adar %.4f", *r.AttachedAUC, *r.AttachedAAAUC)
	}
	fmt.Fprintf(out, "\nof the %.0f %% of pairs whose ends both have an edge left: %s\n", 100*r.Attached, attached)
	_, err := fmt.Fprintf(out, "validation AUC %.4f; %.0f roots/s, %d MB at most, %.1f s\n", r.ValAUC, r.RootsPerS, r.PeakRSSMB, r.Seconds)
	return err
}
