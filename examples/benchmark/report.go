package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/nn/validation"
)

// report is the JSON object of -json.
type report struct {
	Protocol string `json:"protocol"` // of Behind
	Folds    int    `json:"folds"`
	Repeats  int    `json:"repeats"`
	Inner    bool   `json:"inner,omitempty"` // no test graph was used
	Seed     uint64 `json:"seed"`
	Given    bool   `json:"given,omitempty"` // the splits are those of -splits or -parts
	Refit    bool   `json:"refit,omitempty"`

	Score       validation.Measure `json:"score,omitempty"` // "" = the accuracy in percent
	Collections []graphs           `json:"collections"`
	Cells       []*cell            `json:"cells"`

	*oneReport // of one model
}

// File is the picture of -out, or the model of -model.
func (r *report) File(flag, path string) ([]byte, error) {
	if flag == "model" {
		return r.model, nil
	}
	return r.draw(path)
}

// graphs describes a collection.
type graphs struct {
	Name         string  `json:"name"`
	Graphs       int     `json:"graphs"`
	Classes      int     `json:"classes"`
	AverageNodes float64 `json:"average_nodes"`
	LargestClass float64 `json:"largest_class"` // share in percent
}

func collectionOf(d *collection) graphs {
	of, most := make([]int, len(d.Layout.Classes)), 0
	for _, class := range d.Class {
		of[class]++
		most = max(most, of[class])
	}
	return graphs{d.Name, len(d.Class), len(d.Layout.Classes), d.Nodes, 100 * float64(most) / float64(len(d.Class))}
}

// result sets the figures of a cross-validation.
func (one *cell) result(c *config, s *system, p *plan, all *validated) {
	count, most := map[string]int{}, 0
	if p.chosen != nil {
		for _, choice := range all.nested {
			words := p.chosen(choice.variant, choice.step)
			if count[words]++; count[words] > most {
				one.Chosen, most = words, count[words]
			}
		}
		one.Chosen += fmt.Sprintf(" (%d of %d folds)", most, len(all.nested))
	}
	if p.bounded != nil {
		one.Bounded = p.bounded(len(all.missing))
	}
	for _, variant := range all.missing {
		one.Missing = append(one.Missing, p.missing(variant))
	}
	if c.onGiven() {
		one.onGiven(c, s, all)
		return
	}
	for i, choice := range all.nested {
		one.Folds = append(one.Folds, c.value(choice))
		one.PaperFold = append(one.PaperFold, c.value(all.paper[i]))
	}
	nested, std := stat.MeanStdDev(one.Folds, nil)
	paper, paperStd := stat.MeanStdDev(one.PaperFold, nil)
	one.Nested, one.Std, one.Paper, one.PaperStd = &nested, &std, &paper, &paperStd
}

// figures sets the figure of the paper.
func (one *cell) figures(r *report) {
	f, ok := paper[one.System][paperNames[one.Dataset]]
	if r.Given || r.Score != "" {
		return
	}
	if one.Note = f.note; ok && f.note == "" {
		one.Figure, one.Spread = &f.value, &f.std
	}
}

// by returns the figures of a cell that is done by a protocol.
func (one *cell) by(protocol string) (mean, std float64, folds []float64) {
	if protocol == "paper" {
		return *one.Paper, *one.PaperStd, one.PaperFold
	}
	return *one.Nested, *one.Std, one.Folds
}

// compare sets the distance of each cell to the best of its collection. All cells have the same folds, so
// the differences are paired. Their standard error is corrected for training folds that overlap: see
// validation.Corrected.
func (r *report) compare() error {
	for _, of := range r.Collections {
		var best []float64 // by fold
		least := math.Inf(1)
		finished := slices.DeleteFunc(r.row(of.Name), func(one *cell) bool { return one.Status != done })
		for _, one := range finished {
			if mean, _, folds := one.by(r.Protocol); best == nil || r.Score.Loss(mean) < least {
				best, least = folds, r.Score.Loss(mean)
			}
		}
		for _, one := range finished {
			differences := slices.Clone(best)
			_, _, folds := one.by(r.Protocol)
			for i, x := range folds {
				differences[i] -= x
			}
			mean, se, err := validation.Corrected(differences, 1/r.learned())
			if err != nil {
				return fmt.Errorf("%s %s: %w", one.Dataset, one.System, err)
			}
			one.Behind, one.BehindSE = &mean, &se
		}
	}
	return nil
}

// learned is the ratio of training rows to test rows of a trial.
func (r *report) learned() float64 {
	if r.Inner { // one fold is left out, and one of the others is the test part
		return float64(max(1, r.Folds-2))
	}
	return float64(max(1, r.Folds-1))
}

// row returns the cells of a collection.
func (r *report) row(name string) (cells []*cell) {
	for _, one := range r.Cells {
		if one.Dataset == name {
			cells = append(cells, one)
		}
	}
	return cells
}

// failed returns an error that names the cells that failed.
func (r *report) failed() error {
	var bad []string
	for _, one := range r.Cells {
		if text, ok := strings.CutPrefix(one.Status, "error: "); ok {
			bad = append(bad, fmt.Sprintf("%s on %s: %s", one.System, one.Dataset, text))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return errors.New(strings.Join(bad, "; "))
}
