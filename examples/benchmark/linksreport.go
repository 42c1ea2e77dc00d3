package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources/links"
)

// linksReport is the JSON object of -task links.
type linksReport struct {
	cli.Scored
	Dataset string  `json:"dataset"`
	Nodes   int     `json:"nodes"`
	Edges   int     `json:"edges"`
	Hidden  int     `json:"hidden"` // number of edges, and of pairs without an edge
	Share   float64 `json:"share"`
	Repeats int     `json:"repeats"`

	linksFigures         // the means over Splits
	Std          float64 `json:"std"` // of the AUC over Splits
	// Splits are the figures of each repeat or published split.
	Splits []linksSplit `json:"splits"`

	Models    []string `json:"models"` // the chosen system of each of Splits
	PeakRSSMB int64    `json:"peak_rss_mb"`
	Seconds   float64  `json:"seconds"`
	Seed      uint64   `json:"seed"`

	Cells []figureCell `json:"cells"`

	scores, valScores []float64 // by -score, of each of Splits
}

// linksSplit is the figures of a repeat or a split.
type linksSplit struct {
	Name  string `json:"name"`
	Model string `json:"model"` // the system that validation chose
	linksFigures
}

// linksFigures are figures from 0 to 1; null is not defined for the pairs.
type linksFigures struct {
	AUC rating `json:"auc"`
	AP  rating `json:"ap"`
	MRR rating `json:"mrr"` // mean of 1/rank of a link among the test pairs without an edge
	// Baselines on the same pairs: CN is the number of common neighbours; AA the sum of 1/log(degree) over
	// them, of Adamic and Adar; Katz see count.LinkScores; PA the product of the degrees, preferential
	// attachment.
	CNAUC   rating `json:"cn_auc"`
	CNAP    rating `json:"cn_ap"`
	AAAUC   rating `json:"aa_auc"`
	AAAP    rating `json:"aa_ap"`
	KatzAUC rating `json:"katz_auc"`
	KatzAP  rating `json:"katz_ap"`
	PAAUC   rating `json:"pa_auc"`
	PAAP    rating `json:"pa_ap"`

	ValAUC rating `json:"validation_auc"`
	// AttachedAUC is the AUC of the pairs whose ends both have an edge left. An end without one gives a
	// link away where edges are hidden at random: the link may be the edge that it had. It is null where
	// all of these pairs are links, or none is.
	AttachedAUC   rating `json:"attached_auc"`
	AttachedAAAUC rating `json:"attached_aa_auc"`
	Attached      rating `json:"attached"` // the share of these pairs
}

// rating is a number; NaN is null in JSON.
type rating float64

// MarshalJSON implements json.Marshaler.
func (x rating) MarshalJSON() ([]byte, error) {
	if x != x {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// all returns all figures, for the means.
func (f *linksFigures) all() []*rating {
	list := []*rating{&f.MRR, &f.ValAUC, &f.AttachedAUC, &f.AttachedAAAUC, &f.Attached}
	for _, one := range f.rankers() {
		list = append(list, one.auc, one.ap)
	}
	return list
}

// ranker is a ranking of pairs, with its figures.
type ranker struct {
	name, long string
	auc, ap    *rating
}

// rankers are the model and the baselines.
func (f *linksFigures) rankers() [5]ranker {
	return [5]ranker{
		{"model", "model", &f.AUC, &f.AP}, {"cn", "common neighbours", &f.CNAUC, &f.CNAP}, {"aa", "Adamic–Adar", &f.AAAUC, &f.AAAP},
		{"katz", "Katz", &f.KatzAUC, &f.KatzAP}, {"pa", "product of degrees", &f.PAAUC, &f.PAAP},
	}
}

// scored adds the values of -score of a repeat.
func (r *linksReport) scored(by validation.Measure, test, val *sinks.Answers) error {
	if by == validation.MRR {
		r.scores, r.valScores = append(r.scores, rankOfLinks(ranking(test))), append(r.valScores, rankOfLinks(ranking(val)))
		return nil
	}
	x, err := by.Of(&test.Answers)
	if err != nil {
		return err
	}
	y, err := by.Of(&val.Answers)
	r.scores, r.valScores = append(r.scores, x), append(r.valScores, y)
	return err
}

// ranking returns the probability of a link for each pair, and whether the pair is a link.
func ranking(a *sinks.Answers) (score []float64, link []bool) {
	for i, class := range a.Class {
		score, link = append(score, float64(a.Probs[2*i+1])), append(link, class == 1)
	}
	return score, link
}

// rankOfLinks is the mean of 1/rank over the links. The rank of a link among the pairs without an edge is
// 1 + the number of pairs with a higher score + half the number with an equal one. It is NaN without links
// or without others.
func rankOfLinks(score []float64, link []bool) float64 {
	var others []float64
	for i, x := range score {
		if !link[i] {
			others = append(others, x)
		}
	}
	slices.Sort(others)
	sum, links := 0., float64(len(score)-len(others))
	for i, x := range score {
		if !link[i] {
			continue
		}
		from, _ := slices.BinarySearch(others, x)
		to := from + sort.Search(len(others)-from, func(j int) bool { return others[from+j] > x })
		sum += 1 / (1 + float64(len(others)-to) + float64(to-from)/2)
	}
	if len(others) == 0 {
		return math.NaN()
	}
	return sum / links
}

// add adds the figures of a repeat.
func (r *linksReport) add(ctx context.Context, t *links.Trial, name string, test, val *sinks.Answers) error {
	score, link := ranking(test)
	all := [5][]float64{score}
	var left, leftAA []float64 // scores of the pairs of AttachedAUC
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
	one := linksSplit{Name: name, Model: r.Models[len(r.Splits)], linksFigures: linksFigures{
		MRR: rating(rankOfLinks(score, link)), ValAUC: rating(validation.AUC(ranking(val))),
		AttachedAUC: rating(validation.AUC(left, leftLink)), AttachedAAAUC: rating(validation.AUC(leftAA, leftLink)), Attached: rating(len(left)) / rating(len(score)),
	}}
	for i, of := range one.rankers() {
		*of.auc, *of.ap = rating(validation.AUC(all[i], link)), rating(validation.AveragePrecision(all[i], link))
	}
	r.Splits = append(r.Splits, one)
	return nil
}

// close sets the means.
func (r *linksReport) close() {
	for j, mean := range r.all() {
		var values []float64
		for i := range r.Splits {
			if x := *r.Splits[i].all()[j]; x == x {
				values = append(values, float64(x))
			}
		}
		*mean = rating(stat.Mean(values, nil))
	}
	var auc []float64
	for _, one := range r.Splits {
		auc = append(auc, float64(one.AUC))
	}
	if len(auc) > 1 {
		r.Std = stat.StdDev(auc, nil)
	}
	for _, one := range r.rankers() {
		x := float64(*one.auc)
		r.Cells = append(r.Cells, figureCell{r.Dataset, one.name, "auc", &x})
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
	if r.AttachedAUC == r.AttachedAUC {
		attached = fmt.Sprintf("AUC %.4f, Adamic–Adar %.4f", r.AttachedAUC, r.AttachedAAAUC)
	}
	fmt.Fprintf(out, "\nof the %.0f %% of pairs whose ends both have an edge left: %s\n", 100*r.Attached, attached)
	fmt.Fprintf(out, "mean of 1/rank of a link among the pairs that are not joined: %.4f\n", r.MRR)
	_, err := fmt.Fprintf(out, "validation AUC %.4f; %d MB at most, %.1f s\n", r.ValAUC, r.PeakRSSMB, r.Seconds)
	return err
}
