package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources/links"
)

// linksReport is the JSON object of -task links. Areas and precisions are means over the
// repeats, from 0 to 1.
type linksReport struct {
	cli.Scored
	Dataset string  `json:"dataset"`
	Nodes   int     `json:"nodes"`
	Edges   int     `json:"edges"`
	Hidden  int     `json:"hidden"` // edges, and as many pairs that are not joined
	Share   float64 `json:"share"`
	Repeats int     `json:"repeats"`

	AUC float64 `json:"auc"`
	AP  float64 `json:"ap"`
	Std float64 `json:"std"` // of the AUC, over the splits
	// Splits are the figures of each repeat, or published split.
	Splits []linksSplit `json:"splits"`
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

	ValAUC float64 `json:"validation_auc"`
	// AttachedAUC is that of the pairs whose ends both have an edge left. An end
	// without one gives a link away if edges are hidden at random: it had an
	// edge, and this may be it. It is nil where in no repeat some of them are links
	// and some are not.
	AttachedAUC   *float64 `json:"attached_auc"`
	AttachedAAAUC *float64 `json:"attached_aa_auc"`
	Attached      float64  `json:"attached"` // share of the pairs

	Models    []string `json:"models"` // the system that was chosen for each of Splits
	PeakRSSMB int64    `json:"peak_rss_mb"`
	Seconds   float64  `json:"seconds"`
	Seed      uint64   `json:"seed"`

	Cells []figureCell `json:"cells"`

	each   [5]struct{ auc, ap []float64 } // of each repeat, in the order of rankers
	valAUC []float64

	attachedAUC, attachedAA, attached []float64
	scores, valScores                 []float64 // by -score
}

// linksSplit is what came of one repeat or split.
type linksSplit struct {
	Name   string  `json:"name"`
	Model  string  `json:"model"` // that validation has chosen
	AUC    float64 `json:"auc"`
	AP     float64 `json:"ap"`
	ValAUC float64 `json:"validation_auc"`
	CNAUC  float64 `json:"cn_auc"`
	AAAUC  float64 `json:"aa_auc"`
}

// ranker is one way to rank pairs, with the means of its figures.
type ranker struct {
	name, long string
	auc, ap    *float64
}

// rankers are the model, and what is compared with it.
func (r *linksReport) rankers() [5]ranker {
	return [5]ranker{
		{"model", "model", &r.AUC, &r.AP}, {"cn", "common neighbours", &r.CNAUC, &r.CNAP}, {"aa", "Adamic–Adar", &r.AAAUC, &r.AAAP},
		{"katz", "Katz", &r.KatzAUC, &r.KatzAP}, {"pa", "product of degrees", &r.PAAUC, &r.PAAP},
	}
}

// scored takes those of -score of one repeat.
func (r *linksReport) scored(by validation.Measure, test, val *sinks.Probabilities) error {
	x, err := test.By(by)
	if err != nil {
		return err
	}
	y, err := val.By(by)
	r.scores, r.valScores = append(r.scores, x), append(r.valScores, y)
	return err
}

// add takes the figures of one repeat.
func (r *linksReport) add(ctx context.Context, t *links.Trial, name string, test, val *sinks.Probabilities) error {
	score, link := test.Ranking(1)
	all := [5][]float64{score}
	var left, leftAA []float64 // of pairs whose ends both have an edge left
	var leftLink []bool
	g := t.Test.Graph
	var s count.LinkScorer
	for i, p := range t.Test.Pairs {
		if i&(1<<8-1) == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		plain := s.Score(g, p[0], p[1])
		for j, x := range [4]float64{plain.Common, plain.AdamicAdar, plain.Katz, plain.Degrees} {
			all[1+j] = append(all[1+j], x)
		}
		if g.Degree(p[0]) > 0 && g.Degree(p[1]) > 0 {
			left, leftAA, leftLink = append(left, score[i]), append(leftAA, plain.AdamicAdar), append(leftLink, link[i])
		}
	}
	for i, x := range all {
		one := &r.each[i]
		one.auc, one.ap = append(one.auc, validation.AUC(x, link)), append(one.ap, validation.AveragePrecision(x, link))
	}
	if a := validation.AUC(left, leftLink); !math.IsNaN(a) { // there are links and others
		r.attachedAUC, r.attachedAA = append(r.attachedAUC, a), append(r.attachedAA, validation.AUC(leftAA, leftLink))
	}
	r.attached = append(r.attached, float64(len(left))/float64(len(score)))
	r.valAUC = append(r.valAUC, validation.AUC(val.Ranking(1)))
	last := len(r.valAUC) - 1
	r.Splits = append(r.Splits, linksSplit{name, r.Models[last], r.each[0].auc[last], r.each[0].ap[last], r.valAUC[last], r.each[1].auc[last], r.each[2].auc[last]})
	return nil
}

// close makes the means.
func (r *linksReport) close() {
	for i, one := range r.rankers() {
		*one.auc, *one.ap = stat.Mean(r.each[i].auc, nil), stat.Mean(r.each[i].ap, nil)
		r.Cells = append(r.Cells, figureCell{r.Dataset, one.name, "auc", one.auc})
	}
	r.ValAUC, r.Attached = stat.Mean(r.valAUC, nil), stat.Mean(r.attached, nil)
	if len(r.attachedAUC) > 0 {
		a, aa := stat.Mean(r.attachedAUC, nil), stat.Mean(r.attachedAA, nil)
		r.AttachedAUC, r.AttachedAAAUC = &a, &aa
	}
	if len(r.Splits) > 1 {
		r.Std = stat.StdDev(r.each[0].auc, nil)
	}
}

// Print writes the closing table.
func (r *linksReport) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s: %d nodes, %d edges, %d of them hidden, %d times; %s, seed %d\n\n",
		r.Dataset, r.Nodes, r.Edges, r.Hidden, r.Repeats, strings.Join(r.Models, " "), r.Seed)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tAUC\taverage precision\n")
	spread := ""
	if r.Repeats > 1 {
		spread = fmt.Sprintf(" ± %.4f", r.Std)
	}
	for _, one := range r.rankers() {
		fmt.Fprintf(w, "%s\t%.4f%s\t%.4f\n", one.long, *one.auc, spread, *one.ap)
		spread = ""
	}
	r.Scored.Print(w)
	if err := w.Flush(); err != nil {
		return err
	}
	attached := "no AUC, since none or all are links"
	if r.AttachedAUC != nil {
		attached = fmt.Sprintf("AUC %.4f, Adamic–Adar %.4f", *r.AttachedAUC, *r.AttachedAAAUC)
	}
	fmt.Fprintf(out, "\nof the %.0f %% of pairs whose ends both have an edge left: %s\n", 100*r.Attached, attached)
	_, err := fmt.Fprintf(out, "validation AUC %.4f; %d MB at most, %.1f s\n", r.ValAUC, r.PeakRSSMB, r.Seconds)
	return err
}
