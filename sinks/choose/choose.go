// Package choose learns by each of a list of systems, in order, and keeps the model that
// is best on validation rows, which also calibrate it (sinks.Temperature). [Deal] deals rows into parts, [Choice] tries the systems of
// [Graphs], [Nodes] or [Links], and [Measures] tests the model. The command sanflow train does the
// same. For the nodes of a graph, where must and check end the program on an error:
//
//	train, valid, test, err := choose.Deal(set.Class, set.Split, 1) // nodes whose class is known
//	check(err)
//	rows := func(part []int32) choose.Rows { return choose.NodeRows(set, part, operators.MaskWords{}) }
//	chosen := must(choose.Choice{
//		Systems: choose.Nodes(set, len(train)), Classes: set.Classes, Train: rows(train), Valid: rows(valid), Seed: 1,
//	}.Run(ctx))
//	known := sinks.KnownNodes(set.Graph, set.IDs, chosen.Recipe.Graphs().NodeSparse.Card, slices.Concat(train, valid)...)
//	check(known.Keep(chosen.Net)) // what the model knows by the ids of nodes
//	check(sinks.Save(path, chosen.Net, chosen.Recipe))
//	p := must(sinks.Load(path))                     // elsewhere, later
//	open := must(p.OpenIDs(ctx, set.Graph, set.IDs)) // smooths answers if the model does
//	m := choose.NewMeasures(set.Classes)
//	check(flow.From(set.Rooted(test)).To(sinks.Predict{Graph: open, Each: m.Add}).Run(ctx))
//	check(errors.Join(open.Close(), p.Close()))
//
// Example has the same for graphs, and ExampleSave_tables of package sinks for the nodes of tables.
//
// The clock decides only how many systems of the list are tried. A Choice of the systems
// that were tried, without a Budget, gives the same model, byte for byte.
package choose

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/links"
)

// System is a recipe with a model and its training settings.
type System struct {
	Name string
	// Recipe makes the rows that the model reads. It begins with an operators.Expect.
	// Continuous channels of fields are scaled behind it, by the moments of the training
	// rows.
	Recipe operators.Recipe
	// set, if set, has the nodes of the Rows of Choice with other attributes, which Recipe reads.
	set *sources.NodeSet
	// New returns an untrained model.
	New func(seed uint64, workers int) nn.Model
	// Learn, if set, replaces Recipe and New: it learns from the nodes of train and chooses by the
	// nodes of valid. It returns a model, its recipe and their predictions for the valid nodes,
	// smoothed if the metadata of the model has a smoothing.
	Learn func(ctx context.Context, c Choice, train, valid []int32) (nn.Saver, operators.Recipe, *sinks.Probabilities, error)
	// Epochs is the most epochs, Patience how many of them without a better score end
	// the training.
	Epochs, Patience int
	// Recommended marks the system that another one must beat by a standard error, where classes are
	// chosen by the accuracy. It has no effect with Choice.Measure or Choice.Balance, or for numbers.
	Recommended bool
}

// Rows applies a recipe to some graphs, nodes or pairs, and returns the rows. GraphRows,
// NodeRows and LinkRows make it.
type Rows func(operators.Recipe) flow.Pipeline

// Choice tries systems on training rows and chooses by validation rows.
type Choice struct {
	Systems []System
	// Train has the training rows, Valid the validation rows. They are run once for each
	// system.
	Train, Valid Rows
	// Classes are the names of the classes of the rows; none for numbers.
	Classes []string
	// Measure, if set, chooses systems and their epochs on the validation rows. The default is the
	// accuracy, or the root mean square error for numbers; a model that holds rows out then
	// chooses its epochs by the loss on these.
	Measure validation.Measure
	// Positive is the class that Measure is about, if that is the AUC or the AP. The default is that
	// of [Positive] for the training rows.
	Positive string
	// Balance keeps the classes of the training rows as a sinks.Prior in each model, so that its
	// answers are for classes that are equally likely. What a Learn chooses is chosen without
	// it. The default of Measure is then validation.Balanced.
	Balance bool
	// Budget bounds the time: a system that would begin or end later does not count, except the
	// first. 0 = no bound.
	Budget time.Duration
	Seed   uint64 // of weights and orders
	// Workers is how many goroutines work; 0 = GOMAXPROCS. Results do not depend on it.
	Workers int
	// Keep stores the systems tried, so that a killed Choice resumes after the last finished
	// system. Dir is the directory of the store, for the models. nil = no store.
	Keep *store.Store
	Dir  string
	// Progress, if set, is called for the epochs of a training.
	Progress func(system string, epoch, epochs int)
}

// Tried is a system that was tried.
type Tried struct {
	Name string `json:"name"`
	// Score is the accuracy on the validation rows in percent, or the root mean square
	// error if numbers are learned, or Choice.Measure.
	Score   float64 `json:"score"`
	Seconds float64 `json:"seconds"`
}

// Chosen is the model that is best on the validation rows.
type Chosen struct {
	Tried  []Tried
	System string // the name of the best
	// Positive is the positive class, "" if there is none. The metadata of Net have it as
	// PositiveNote.
	Positive string
	Net      nn.Saver
	Recipe   operators.Recipe
}

// MaxClasses is the most classes of a Choice: a linear model of 2¹⁷ counts has as many weights for
// them as a model of package nn may have.
const MaxClasses = 1 << 11

// PositiveNote is the key of the positive class in the metadata of a model.
const PositiveNote = "positive"

var errBudget = errors.New("choose: the budget is used up")

// trial is what came of one system.
type trial struct {
	Tried
	Loss   float64 `json:"loss"`
	Rows   int     `json:"rows"`
	SHA256 string  `json:"sha256"` // of the file of the model
	// Positive is the positive class: the training rows decide, so all trials have the same.
	Positive string `json:"positive"`
	net      nn.Saver
	recipe   operators.Recipe
}

// Run tries the systems and returns the best model.
func (c Choice) Run(ctx context.Context) (*Chosen, error) {
	if len(c.Systems) == 0 {
		return nil, errors.New("choose: there is no system to try")
	}
	if n := len(c.Classes); n > MaxClasses {
		return nil, fmt.Errorf("choose: there are %d Classes, want at most %d: are they ids, or numbers to learn?", n, MaxClasses)
	}
	if c.Balance {
		if len(c.Classes) == 0 {
			return nil, errors.New("choose: Balance is for classes, and numbers are learned")
		}
		c.Measure = cmp.Or(c.Measure, validation.Balanced)
	}
	if c.Measure != "" && c.Measure.Numbers() != (len(c.Classes) == 0) {
		return nil, fmt.Errorf("choose: Measure is %s, and there are %d Classes: rmse and mae are for numbers, the others for classes", c.Measure, len(c.Classes))
	}
	if _, err := Positive(c.Classes, c.Positive, make([]int, len(c.Classes))); err != nil {
		return nil, fmt.Errorf("choose: %w", err)
	}
	var all []*trial
	spent := 0.0
	for i, s := range c.Systems {
		step, cancel := ctx, context.CancelFunc(func() {})
		if left := c.Budget - time.Duration(spent*float64(time.Second)); c.Budget > 0 && i > 0 {
			step, cancel = context.WithTimeoutCause(ctx, left, errBudget)
		}
		t, err := c.try(step, s)
		late := step.Err() != nil && ctx.Err() == nil
		cancel()
		if late {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		all, spent = append(all, t), spent+t.Seconds
	}
	best := c.best(all)
	out := &Chosen{System: best.Name, Positive: best.Positive, Net: best.net, Recipe: best.recipe}
	if best.Positive != "" {
		best.net.Metadata()[PositiveNote] = best.Positive
	}
	for _, t := range all {
		out.Tried = append(out.Tried, t.Tried)
	}
	return out, nil
}

// best returns the trial with the best score, the loss decides between equals; the
// recommended one where that is not better by a standard error. A Measure has no such error: the
// best by it counts, the loss decides between equals. With Balance that is the loss of balanced answers.
func (c Choice) best(all []*trial) *trial {
	numbers := len(c.Classes) == 0
	if c.Measure != "" {
		return slices.MinFunc(all, func(s, t *trial) int {
			return cmp.Or(cmp.Compare(c.Measure.Loss(s.Score), c.Measure.Loss(t.Score)), cmp.Compare(s.Loss, t.Loss))
		})
	}
	best := all[0]
	var recommended *trial
	for i, t := range all {
		if numbers && t.Score < best.Score || !numbers && (t.Score > best.Score || t.Score == best.Score && t.Loss < best.Loss) {
			best = t
		}
		if c.Systems[i].Recommended {
			recommended = t
		}
	}
	if recommended != nil && !numbers {
		p := recommended.Score / 100
		if best.Score-recommended.Score <= 100*math.Sqrt(p*(1-p)/float64(recommended.Rows)) {
			return recommended
		}
	}
	return best
}

// try learns by one system, or finds in Keep what came of that.
func (c Choice) try(ctx context.Context, s System) (*trial, error) {
	t := &trial{Tried: Tried{Name: s.Name}}
	model := filepath.Join(c.Dir, s.Name+".safetensors")
	if ok, err := c.Keep.Get(s.Name, t); err != nil {
		return nil, err
	} else if ok {
		return t, t.load(model)
	}
	start := time.Now()
	if err := c.learn(ctx, s, t); err != nil {
		return nil, err
	}
	t.Seconds = time.Since(start).Seconds()
	if c.Keep == nil {
		return t, nil
	}
	if err := sinks.Save(model, t.net, t.recipe); err != nil {
		return nil, err
	}
	var err error
	if t.SHA256, err = sum(model); err != nil {
		return nil, err
	}
	return t, c.Keep.Put(s.Name, t)
}

// load reads a model that was kept.
func (t *trial) load(path string) error {
	if got, err := sum(path); err != nil || got != t.SHA256 {
		return errors.Join(err, fmt.Errorf("%s: %w", path, store.ErrDamaged))
	}
	p, err := sinks.Load(path)
	if err != nil {
		return err
	}
	t.net, t.recipe = p.Net().(nn.Saver), p.Recipe() // it was loaded
	return p.Close()
}

// sum is the SHA-256 of a file.
func sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// learn trains the model of a system, and tests it on the validation rows.
func (c Choice) learn(ctx context.Context, s System, t *trial) error {
	if s.Learn != nil {
		return c.learnNodes(ctx, s, t)
	}
	var train, valid sinks.Collect
	defer train.Release()
	defer valid.Release()
	t.recipe = append(operators.Recipe{}, s.Recipe...)
	if s.set != nil {
		for _, part := range []*Rows{&c.Train, &c.Valid} {
			nodes, err := c.rootsOf(ctx, *part, func([]arrow.Record) error { return nil })
			if err != nil {
				return err
			}
			*part = NodeRows(s.set, nodes, operators.MaskWords{})
		}
	}
	if err := c.rows(c.Train(t.recipe)).To(&train).Run(ctx); err != nil {
		return err
	}
	recs := train.Records()
	if len(recs) == 0 {
		return errors.New("there are no rows to learn from")
	}
	var scale operators.Recipe
	if recs[0].Schema().HasField(record.Nodes) {
		mean, std, err := operators.NodeMoments(recs...)
		if err != nil {
			return err
		}
		scale = operators.Recipe{operators.Standardize{Mean: mean, Std: std}}
		t.recipe = append(t.recipe, scale...)
	}
	if err := c.rows(c.Valid(t.recipe)).To(&valid).Run(ctx); err != nil {
		return err
	}
	if len(valid.Records()) == 0 {
		return errors.New("there are no rows to choose by")
	}
	net := s.New(c.Seed, c.Workers)
	t.net = net
	prior, err := c.learned(t, recs)
	if err != nil {
		return err
	}
	if err := prior.Keep(net); err != nil { // epochs are chosen by balanced answers
		return err
	}
	again := flow.From(flow.Records{Records: valid.Records()}).With(flow.Options{Workers: 1})
	fit := sinks.Fit{
		Net: net, Epochs: s.Epochs, Patience: s.Patience, Seed: c.Seed,
		OnEpoch: func(e sinks.Epoch) error {
			if c.Progress != nil {
				c.Progress(s.Name, e.Number, s.Epochs)
			}
			return ctx.Err()
		},
	}
	if c.Measure != "" || !nn.HoldsOut(net) {
		fit.Valid, fit.Measure = &again, c.Measure
		if len(c.Classes) > 0 && c.Measure == "" { // what counts is the accuracy; the loss decides between equals
			fit.Score = func(r nn.Result) float64 { return r.Loss/1e6 - float64(r.Correct)/float64(r.Rows) }
		}
	}
	if _, err := fit.Run(ctx, scale.Onto(flow.From(flow.Records{Records: recs}).With(flow.Options{Workers: 1}))); err != nil {
		return err
	}
	if err := sinks.Prior(nil).Keep(net); err != nil {
		return err
	}
	m, said := NewMeasures(c.Classes), &sinks.Probabilities{Classes: len(c.Classes), Models: 1}
	each := func(p sinks.Prediction) error {
		said.Append(p)
		return m.Add(p)
	}
	if err := again.To(sinks.Predict{Net: t.net, Each: each}).Run(ctx); err != nil {
		return err
	}
	t.Rows, t.Loss, t.Score = m.Rows, m.Loss(), m.Score()
	if c.Measure != "" {
		var err error
		if t.Score, err = m.By(c.Measure); err != nil {
			return err
		}
	}
	if len(c.Classes) == 0 {
		return nil
	}
	return c.calibrate(t, said, prior)
}

// learned counts the classes of the rows to learn from. It returns their prior, nil without Balance,
// and decides which class is the positive one of t and of Measure.
func (c *Choice) learned(t *trial, learned []arrow.Record) (prior sinks.Prior, err error) {
	rows := make([]int, len(c.Classes))
	for _, rec := range learned {
		if len(rows) == 0 {
			break
		}
		targets, err := record.Values[int32](rec, record.Target)
		if err != nil {
			return nil, err
		}
		for _, class := range targets {
			if class >= 0 && int(class) < len(rows) {
				rows[class]++
			}
		}
	}
	if t.Positive, err = Positive(c.Classes, c.Positive, rows); err != nil {
		return nil, err
	}
	if class := slices.Index(c.Classes, t.Positive); class >= 0 {
		if c.Measure.About(class) != c.Measure && rows[class] == 0 {
			return nil, fmt.Errorf("no training row is of the positive class %q", t.Positive)
		}
		c.Measure = c.Measure.About(class)
	}
	if !c.Balance {
		return nil, nil
	}
	return sinks.PriorOf(len(c.Classes), learned...)
}

// calibrate keeps in a model what makes answers of what it says, of the validation rows said,
// and measures those where there is a prior.
func (c Choice) calibrate(t *trial, said *sinks.Probabilities, prior sinks.Prior) (err error) {
	heat := said.Temperature()
	if err := errors.Join(heat.Keep(t.net), prior.Keep(t.net)); err != nil || prior == nil {
		return err
	}
	answers := &sinks.Probabilities{Classes: said.Classes, Models: 1}
	for row, target := range said.Target {
		if target < 0 {
			continue
		}
		p := sinks.Prediction{Target: target}
		for _, x := range said.Row(row) {
			p.Probs = append(p.Probs, float32(x/said.Models))
		}
		heat.Apply(p.Probs, said.Classes)
		prior.Apply(p.Probs)
		answers.Append(p)
	}
	t.Loss = answers.Loss()
	t.Score, err = answers.By(c.Measure)
	return err
}

// learnNodes is learn by System.Learn.
func (c Choice) learnNodes(ctx context.Context, s System, t *trial) error {
	var prior sinks.Prior
	train, err := c.rootsOf(ctx, c.Train, func(learned []arrow.Record) (err error) {
		prior, err = c.learned(t, learned)
		return err
	})
	if err != nil {
		return err
	}
	valid, err := c.rootsOf(ctx, c.Valid, func([]arrow.Record) error { return nil })
	if err != nil {
		return err
	}
	var said *sinks.Probabilities
	if t.net, t.recipe, said, err = s.Learn(ctx, c, train, valid); err != nil {
		return err
	}
	t.Rows, t.Loss, t.Score = len(said.Target), said.Loss(), said.Accuracy()
	if c.Measure != "" {
		if t.Score, err = said.By(c.Measure); err != nil {
			return err
		}
	}
	return c.calibrate(t, said, prior)
}

// rootsOf returns the nodes that rows are about, and calls each with the rows.
func (c Choice) rootsOf(ctx context.Context, rows Rows, each func([]arrow.Record) error) (nodes []int32, err error) {
	var all sinks.Collect
	defer all.Release()
	if err := rows(justRoots).To(&all).Run(ctx); err != nil {
		return nil, err
	}
	for _, rec := range all.Records() {
		lists, err := record.ListsOf[int32](rec, record.Roots)
		if err != nil {
			return nil, err
		}
		for i := range lists.Len() {
			nodes = append(nodes, lists.Row(i)...)
		}
	}
	return nodes, each(all.Records())
}

// Asked returns the rows of a prediction by p, for sinks.Predict or scores.Sink. If p smooths
// its predictions, or knows nodes by ids that are no features of g, open predicts the nodes of g, and
// the caller closes it. Otherwise open is nil, and p.Net() predicts. ids are those of the nodes.
func Asked(ctx context.Context, p *sinks.Predictor, g *graph.Graph, ids graph.IDs, rows Rows) (asked flow.Pipeline, open *sinks.OpenGraph, err error) {
	if !p.Smoothed() && (g == nil || g.SparseCard == p.Layout().NodeSparse.Card) {
		return rows(p.Recipe()), nil, nil
	}
	open, err = p.OpenIDs(ctx, g, ids)
	return rows(justRoots), open, err
}

// justRoots makes rows of nodes without what a model reads.
var justRoots = operators.Recipe{operators.Roots{Nodes: []int32{-1}}}

// rows cuts the rows that a system reads into records.
func (c Choice) rows(p flow.Pipeline) flow.Pipeline {
	return p.Via(operators.Batch{Size: 256}).With(flow.Options{Workers: c.Workers})
}

// GraphRows returns the rows of graphs. mask hides words from training rows, and is zero for
// others.
func GraphRows(src flow.Source, mask operators.MaskWords) Rows {
	return func(r operators.Recipe) flow.Pipeline {
		p := flow.From(src)
		if mask.Rate > 0 {
			p = p.Via(mask)
		}
		return r.Onto(p)
	}
}

// NodeRows returns a row for each of some nodes of a graph. The nodes replace those of the
// recipe's operators.Roots. The operators before the Roots run once for the graph; an
// operators.Expect maps its words and refuses other attributes and classes. Without an
// operators.PerRoot in the recipe, each node has a row from the start, and mask hides nothing,
// since a linear model has no weight for an unseen word. A row has the id of its node, which
// scores.RootID writes.
func NodeRows(set *sources.NodeSet, nodes []int32, mask operators.MaskWords) Rows {
	return func(r operators.Recipe) flow.Pipeline {
		at := rootsAt(r)
		if _, ok := operators.Find[operators.PerRoot](r); !ok {
			return r[at+1:].Onto(flow.From(rooted{set.Rooted(nodes), r[:max(0, at)]}))
		}
		r = slices.Clone(r)
		r[at] = operators.Roots{Nodes: nodes}
		return GraphRows(set, mask)(r)
	}
}

// LinkRows returns a row for each pair of some folds.
func LinkRows(folds ...links.Fold) Rows {
	return func(r operators.Recipe) flow.Pipeline {
		at := rootsAt(r)
		return r[at+1:].Onto(flow.From(rooted{links.Rows(false, folds...), r[:max(0, at)]}))
	}
}

// rootsAt is where the roots are given, or -1.
func rootsAt(r operators.Recipe) int {
	return slices.IndexFunc(r, func(op flow.Operator) bool { _, ok := op.(operators.Roots); return ok })
}
