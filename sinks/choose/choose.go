// Package choose learns by each of a list of systems, in order, and keeps the model that
// is best on validation rows, which also calibrate it (sinks.Temperature). [Deal] deals rows into parts, [Choice] tries the systems of
// [Graphs], [Nodes] or [Links], and [Measures] tests the model. The command sanflow train does the
// same. For the nodes of a graph, where must and check end the program on an error:
//
//	train, valid, test, err := choose.Deal(set, 1) // nodes whose class is known
//	check(err)
//	rows := func(part []int32) choose.Rows { return choose.NodeRows(set, part) }
//	chosen := must(choose.Choice{
//		Systems: choose.Nodes(set, len(train)), Classes: set.Classes, Train: rows(train), Valid: rows(valid), Seed: 1,
//	}.Run(ctx))
//	check(sinks.Save(path, chosen.Net, chosen.Recipe))
//	p := must(sinks.Load(path)) // elsewhere, later
//	m := must(choose.Test(ctx, p, set.Graph, set.IDs, rows(test), "", 0))
//	check(p.Close())
//
// Example has the same for graphs, and ExampleSave_tables of package sinks for the nodes of tables.
//
// The clock decides only how many systems of the list are tried. A Choice of the systems
// that were tried, without a Budget, gives the same model, byte for byte.
package choose

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
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
	// New returns an untrained model: an nn.Model, a *trees.Model, which learns at once, or an *nn.Ensemble of such.
	New func(seed uint64, workers int) nn.Saver
	// Epochs is the most epochs, Patience how many of them without a better score end
	// the training; of no use to trees.
	Epochs, Patience int
	// Recommended marks the system that another one must beat by a standard error, where classes are
	// chosen by the accuracy; of the rows of a History, and of pairs, also by the AUC or the AP. It has no effect with other values of
	// Choice.Measure, with Choice.Balance, or for numbers.
	Recommended bool
	// LeftOut, if it is set, says by what bound the data are too much for the system: a Choice does not try it.
	LeftOut string

	rows  bool             // rows are of a History, or pairs
	of    []string         // systems of the same recipe whose trained models the ensemble reuses
	nodes *sources.NodeSet // set of the nodes, if rows are nodes of a graph; else nil
	named *sources.NodeSet // replaces nodes, with the ids that Recipe reads as attributes; or nil
	views []view           // replaces Recipe and New; the validation rows choose one
	nets  int              // number of averaged models of a view; 0 = 1
	base  *System          // system whose answers the operators.Beliefs of a stacked system reads; or nil
	// smooth tries to propagate answers over the edges, and keeps that if it is better.
	smooth bool
	// local is set if the system reads ids of nodes, so that it answers about one graph only.
	local bool
}

// view is a recipe with candidate models.
type view struct {
	name   string // in reports
	recipe operators.Recipe
	models []model
	// local is set if the view reads known classes of nodes. Its recipe is appended to that of the view
	// before.
	local bool
}

// model is a named constructor of a model, unique in its view.
type model struct {
	name string
	new  func(seed uint64, workers int) nn.Saver
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
	// Targets, in place of Classes, are several targets of the rows, all of them classes or all numbers: those of the
	// column targets. The rows are made once for a system, and a model learns each target from the rows that have it,
	// as if it were the only one. A system counts by the mean over the targets. The model is an *nn.Targets.
	Targets []record.TargetChannel
	// Measure, if set, chooses systems and their epochs on the validation rows. The default is the
	// accuracy, or the root mean square error for numbers; a model that holds rows out then
	// chooses its epochs by the loss on these.
	Measure validation.Measure
	// Positive is the class that Measure is about, if that is the AUC or the AP. The default is that
	// of [Positive] for the training rows.
	Positive string
	// Balance keeps the classes of the training rows as a sinks.Prior in each model, so that its
	// answers are for classes that are equally likely. The default of Measure is then
	// validation.Balanced.
	Balance bool
	// Portable leaves out what answers about the nodes of one graph alone: features that are ids of
	// nodes, and known classes of the nodes around one. Without them, accuracy can be lower.
	Portable bool
	// Budget bounds the time: a system that would begin or end later does not count, except the
	// first. 0 = no bound.
	Budget time.Duration
	Seed   uint64 // of weights and orders
	// Workers is how many goroutines work; 0 = GOMAXPROCS. Results do not depend on it.
	Workers int
	// Keep stores the systems tried, with their models beside its entries, so that a killed Choice resumes
	// after the last finished system. nil = no store.
	Keep *store.Store
	// Progress, if set, is called for the epochs of a training, or the trainings of a system with several,
	// from any goroutine.
	Progress func(system string, done, total int)
	// Each, if set, is called with each system that was tried.
	Each func(Tried)

	tried map[string]nn.Saver // models of earlier systems
}

// Tried is a system that was tried.
type Tried struct {
	Name string `json:"name"`
	// Score is the accuracy on the validation rows in percent, or the root mean square
	// error if numbers are learned, or Choice.Measure.
	Score   float64 `json:"score"`
	Seconds float64 `json:"seconds"`
	// Took is what the validation rows have chosen within the system: "" if there is nothing to choose.
	Took string `json:"took,omitempty"`
}

// NotTried is a system that was not tried, with the reason.
type NotTried struct {
	Name        string `json:"name"`
	Why         string `json:"why"`
	Late        bool   `json:"late,omitempty"` // a longer Choice.Budget reaches it
	Recommended bool   `json:"recommended,omitempty"`
	// Needs is of a system that was begun the Choice.Budget, in seconds, that it would end within, by the share of its epochs that were done.
	Needs float64 `json:"needs_seconds,omitempty"`
}

// Chosen is the model that is best on the validation rows.
type Chosen struct {
	Tried    []Tried
	NotTried []NotTried // the other systems
	System   string     // the name of the best
	Net      nn.Saver
	Recipe   operators.Recipe
}

// MaxClasses is the most classes of a Choice: a linear model of 2¹⁷ counts has as many weights for
// them as a model of package nn may have.
const MaxClasses = 1 << 11

// positiveNote is the key of the positive class in the metadata of a model.
const positiveNote = "positive"

var errBudget = errors.New("choose: the budget is used up")

// trial is the result of one system.
type trial struct {
	Tried
	Loss   float64 `json:"loss"`
	Error  float64 `json:"error,omitempty"` // the standard error of an AUC or AP
	Rows   int     `json:"rows"`
	SHA256 string  `json:"sha256"` // digest of the model file
	// Positive is the positive class: the training rows decide, so all trials have the same.
	Positive string `json:"positive"`
	net      nn.Saver
	recipe   operators.Recipe
	heat     sinks.Temperature // fitted on the validation rows
	classes  bool              // known classes propagate
}

// Run tries the systems and returns the best model.
func (c Choice) Run(ctx context.Context) (*Chosen, error) {
	out := new(Chosen)
	c.Systems = slices.DeleteFunc(slices.Clone(c.Systems), func(s System) bool {
		why := s.LeftOut
		if why == "" && c.Portable && s.local {
			why = "it answers about the nodes of one graph alone, and the model is to be portable"
		}
		if why != "" {
			out.NotTried = append(out.NotTried, NotTried{Name: s.Name, Why: why, Recommended: s.Recommended})
		}
		return why != ""
	})
	if len(c.Systems) == 0 {
		return nil, errors.New("choose: there is no system to try")
	}
	if c.Balance {
		c.Measure = cmp.Or(c.Measure, validation.Balanced)
	}
	if len(c.Targets) == 0 {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("choose: %w", err)
		}
	}
	for i, t := range c.Targets {
		err := c.of(t).check()
		switch first := c.Targets[0]; {
		case len(c.Classes) > 0:
			err = errors.New("Classes are set too, want one of them and Targets")
		case slices.ContainsFunc(c.Targets[:i], func(of record.TargetChannel) bool { return of.Name == t.Name }):
			err = errors.New("it is there twice")
		case (len(t.Classes) > 0) != (len(first.Classes) > 0):
			err = fmt.Errorf("it has %d classes, and the first target %d: want classes of all, or numbers", len(t.Classes), len(first.Classes))
		}
		if err != nil {
			return nil, fmt.Errorf("choose: target %q: %w", t.Name, err)
		}
	}
	var all []*trial
	c.tried = map[string]nn.Saver{}
	spent := 0.0
	var share atomic.Value // of the epochs of a system that are done
	told := c.Progress
	c.Progress = func(system string, done, total int) {
		if share.Store(float64(done) / float64(total)); told != nil {
			told(system, done, total)
		}
	}
	for i, s := range c.Systems {
		share.Store(0.)
		start := time.Now()
		step, cancel := ctx, context.CancelFunc(func() {})
		if left := c.Budget - time.Duration(spent*float64(time.Second)); c.Budget > 0 && i > 0 {
			step, cancel = context.WithTimeoutCause(ctx, left, errBudget)
		}
		t, err := c.try(step, s)
		late := step.Err() != nil && ctx.Err() == nil
		cancel()
		if late {
			needs, why := 0., "the budget ended before it did"
			if done := share.Load().(float64); done > 0 {
				needs = spent + time.Since(start).Seconds()/done
			}
			for _, s := range c.Systems[i:] {
				out.NotTried = append(out.NotTried, NotTried{Name: s.Name, Why: why, Late: true, Recommended: s.Recommended, Needs: needs})
				needs, why = 0, "the budget was used up"
			}
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		c.tried[s.Name] = t.net
		all, spent = append(all, t), spent+t.Seconds
		c.forget(all)
		if c.Each != nil {
			c.Each(t.Tried)
		}
	}
	best := c.best(all)
	out.System, out.Net, out.Recipe = best.Name, best.net, best.recipe
	if best.Positive != "" {
		best.net.Metadata()[positiveNote] = best.Positive
	}
	for _, t := range all {
		out.Tried = append(out.Tried, t.Tried)
	}
	return out, nil
}

// of returns the Choice of one of several targets.
func (c Choice) of(t record.TargetChannel) Choice {
	c.Classes, c.Targets = t.Classes, nil
	return c
}

// check checks the settings of a single target.
func (c Choice) check() error {
	if n := len(c.Classes); n > MaxClasses {
		return fmt.Errorf("there are %d Classes, want at most %d: are they ids, or numbers to learn?", n, MaxClasses)
	}
	if c.Balance && len(c.Classes) == 0 {
		return errors.New("Balance is for classes, and numbers are learned")
	}
	if c.Measure != "" && c.Measure.Numbers() != (len(c.Classes) == 0) {
		return fmt.Errorf("Measure is %s, and there are %d Classes: rmse and mae are for numbers, the others for classes", c.Measure, len(c.Classes))
	}
	_, err := Positive(c.Classes, c.Positive, make([]int, len(c.Classes)))
	return err
}

// best returns the best trial of the systems, in their order.
func (c Choice) best(all []*trial) *trial {
	if len(c.Targets) > 0 { // pick needs only the kind of targets, which is the same for all
		c = c.of(c.Targets[0])
	}
	recommended := -1
	for i := range all {
		if c.Systems[i].Recommended {
			recommended = i
		}
	}
	return c.pick(all, recommended)
}

// forget releases the models of trials that cannot win and that no later system reuses.
func (c Choice) forget(all []*trial) {
	best := c.best(all)
	for i, t := range all {
		later := slices.ContainsFunc(c.Systems[len(all):], func(s System) bool { return slices.Contains(s.of, t.Name) })
		if t != best && !c.Systems[i].Recommended && !later {
			t.net = nil
			delete(c.tried, t.Name)
		}
	}
}

// pick returns the trial with the best score; the loss decides between equals. The trial with the index recommended, unless negative,
// is kept if the best is not better by a standard error. There is such an error for the accuracy, and for the AUC and the AP of rows of a
// History and of pairs. With Balance the loss is that of balanced answers.
func (c Choice) pick(all []*trial, recommended int) *trial {
	loss := func(t *trial) float64 { return -t.Score }
	if len(c.Classes) == 0 {
		loss = func(t *trial) float64 { return t.Score }
	}
	if c.Measure != "" {
		loss = func(t *trial) float64 { return c.Measure.Loss(t.Score) }
	}
	best := slices.MinFunc(all, func(s, t *trial) int { return cmp.Or(cmp.Compare(loss(s), loss(t)), cmp.Compare(s.Loss, t.Loss)) })
	if recommended >= 0 && c.Measure == "" && len(c.Classes) > 0 {
		t := all[recommended]
		p := t.Score / 100
		if best.Score-t.Score <= 100*math.Sqrt(p*(1-p)/float64(t.Rows)) {
			return t
		}
	}
	if recommended >= 0 && c.Systems[recommended].rows && best.Score-all[recommended].Score <= all[recommended].Error {
		return all[recommended]
	}
	return best
}

// try trains one system, or reads its result from Keep.
func (c Choice) try(ctx context.Context, s System) (*trial, error) {
	t := &trial{Tried: Tried{Name: s.Name}}
	model := ""
	if c.Keep != nil {
		model = strings.TrimSuffix(c.Keep.Path(s.Name), ".json") + ".safetensors"
	}
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
	if t.SHA256, err = manifest.Sum(model); err != nil {
		return nil, err
	}
	return t, c.Keep.Put(s.Name, t)
}

// load reads a model of Keep.
func (t *trial) load(path string) error {
	if got, err := manifest.Sum(path); err != nil || got != t.SHA256 {
		return errors.Join(err, fmt.Errorf("%s: %w", path, store.ErrDamaged))
	}
	p, err := sinks.Load(path)
	if err != nil {
		return err
	}
	t.net, t.recipe = p.Net().(nn.Saver), p.Recipe() // a loaded model is an nn.Saver
	return p.Close()
}

// rows has the training and validation rows of a view.
type rows struct {
	view
	set          *sources.NodeSet // set of the nodes, or nil
	nodes        []int32          // training nodes
	train, valid sinks.Collect
	scale        operators.Recipe // fitted on the training rows, at the end of the recipe
	believed     *beliefs         // beliefs about the nodes; or nil
}

// candidate is a model, or several with different seeds that are averaged.
type candidate struct {
	trial
	rows *rows
	new  func(seed uint64, workers int) nn.Saver
	nets []nn.Saver
}

// learn makes the rows of a system, and trains it.
func (c Choice) learn(ctx context.Context, s System, t *trial) (err error) {
	made, err := c.rows(ctx, s)
	defer release(made)
	switch {
	case err != nil:
		return err
	case len(c.Targets) > 0:
		err = c.several(ctx, s, made, t)
	default:
		err = c.train(ctx, s, made, t)
	}
	if err != nil || made[0].set == nil {
		return err
	}
	return c.know(ctx, s, made[0], t)
}

// several trains a model for each target. A target with one class among its validation rows is chosen by the accuracy, and does not
// count in the mean.
func (c Choice) several(ctx context.Context, s System, made []*rows, t *trial) error {
	all, n := new(nn.Targets), 0.0
	one := trial{Tried: t.Tried}
	met, err := valuesOf(made[0].valid.Records(), c.Targets)
	if err != nil {
		return err
	}
	for i, target := range c.Targets {
		of, err := rowsOf(ctx, made, i)
		one = trial{Tried: t.Tried}
		counts := len(target.Classes) == 0 || len(met[i]) > 1
		if err == nil {
			alone := c.of(target)
			if !counts {
				alone.Measure = ""
			}
			alone.Progress = func(system string, done, total int) { c.Progress(system, i*total+done, len(c.Targets)*total) }
			alone.tried = map[string]nn.Saver{}
			for name, net := range c.tried { // an earlier model has one model for each target
				alone.tried[name] = net.(*nn.Targets).Nets[i].(nn.Saver)
			}
			err = alone.train(ctx, s, of, &one)
		}
		release(of)
		if err == nil {
			if one.Positive != "" {
				one.net.Metadata()[positiveNote] = one.Positive
			}
			one.net, err = settled(one.net)
		}
		if err != nil {
			return fmt.Errorf("target %q: %w", target.Name, err)
		}
		all.Nets = append(all.Nets, one.net)
		if t.Rows += one.Rows; counts || c.Measure == "" {
			t.Score, t.Loss, n = t.Score+one.Score, t.Loss+one.Loss, n+1
		}
	}
	if n == 0 {
		return errors.New("the rows to choose by are of one class, of each target")
	}
	t.Score, t.Loss = t.Score/n, t.Loss/n
	t.Rows /= len(c.Targets) // the standard error needs the number of different rows
	t.net, t.recipe, t.Took = all, one.recipe, ""
	return nil
}

// settled returns a trained model without the state of training, such as that of the optimizer.
func settled(net nn.Saver) (nn.Saver, error) {
	var file bytes.Buffer
	if err := net.Save(&file); err != nil {
		return nil, err
	}
	return nn.LoadPredictor(&file)
}

// rows makes the rows of the views of a system. The caller releases the result, also after an error.
func (c Choice) rows(ctx context.Context, s System) (made []*rows, err error) {
	views := s.views
	if views == nil {
		views = []view{{recipe: s.Recipe, models: []model{{new: s.New}}}}
	}
	for _, v := range views {
		if c.Portable && v.local {
			continue
		}
		r := &rows{view: v}
		if made = append(made, r); v.local {
			err = r.extend(ctx, made[len(made)-2])
		} else {
			err = c.collect(ctx, s, r)
		}
		if err != nil {
			break
		}
	}
	return made, err
}

// train trains the models of a system, and chooses among them by the validation rows.
func (c Choice) train(ctx context.Context, s System, made []*rows, t *trial) error {
	prior, err := c.learned(t, made[0].train.Records())
	if err != nil {
		return err
	}
	var all []*candidate
	for _, r := range made {
		for _, m := range r.models {
			one := &candidate{trial: *t, rows: r, new: m.new}
			one.Took = strings.Trim(r.name+", "+m.name, ", ")
			all = append(all, one)
		}
	}
	nets, epochs := max(1, s.nets), s.Epochs
	if len(all) > 1 && len(all[0].rows.nodes) > few { // choose a candidate after a few epochs
		if err := c.grow(ctx, s, all, 1, min(glance, epochs), prior); err != nil {
			return err
		}
		all = []*candidate{c.bestOf(all)}
	}
	if err := c.grow(ctx, s, all, nets, epochs, prior); err != nil {
		return err
	}
	best := c.bestOf(all)
	*t = best.trial
	if s.smooth && len(c.Classes) > 0 {
		if err := c.smoothed(ctx, best.rows, t, prior); err != nil {
			return err
		}
	}
	if len(c.Classes) == 0 {
		return nil
	}
	return errors.Join(t.heat.Keep(t.net), prior.Keep(t.net))
}

// bestOf returns the candidate with the best score.
func (c Choice) bestOf(all []*candidate) *candidate {
	trials := make([]*trial, len(all))
	for i, one := range all {
		trials[i] = &one.trial
	}
	return all[slices.Index(trials, c.pick(trials, -1))]
}

// collect makes the rows of a view.
func (c Choice) collect(ctx context.Context, s System, r *rows) (err error) {
	train, valid := c.Train, c.Valid
	if r.set = s.nodes; r.set != nil {
		if r.nodes, err = c.rootsOf(ctx, train); err != nil {
			return err
		}
	}
	if s.named != nil {
		nodes, err := c.rootsOf(ctx, valid)
		if err != nil {
			return err
		}
		r.set, train, valid = s.named, NodeRows(s.named, r.nodes), NodeRows(s.named, nodes)
	}
	if s.base != nil {
		if r.believed, err = c.believe(ctx, *s.base); err != nil {
			return fmt.Errorf("%s: %w", s.base.Name, err)
		}
	}
	r.recipe = slices.Clone(r.recipe)
	intervals := r.binned()
	learn := r.knowing(folds)
	if _, fields := operators.Find[operators.PerRoot](learn); fields || rootsAt(learn) < 0 { // counts around roots need no weight for unseen words
		mask := operators.MaskWords{Rate: masked, Seed: c.Seed}
		if !fields && s.nodes == nil { // a row is a graph
			mask.Rate, mask.Rows = maskedInGraphs, maskedGraphs
		}
		learn = append(operators.Recipe{mask}, learn...)
	}
	if r.believed == nil {
		err = c.cut(train(learn)).To(&r.train).Run(ctx)
	}
	if all := r.nodes; r.believed != nil { // the beliefs in a row are of models that have not learned from its node
		r.nodes = nil
		for f := 0; f < folds && err == nil; f++ {
			if nodes := r.believed.of(f, all); len(nodes) > 0 {
				r.nodes = append(r.nodes, nodes...)
				err = c.cut(NodeRows(r.set, nodes)(r.knowing(f))).To(&r.train).Run(ctx)
			}
		}
	}
	if err != nil {
		return err
	}
	recs := r.train.Records()
	if len(recs) == 0 {
		return errors.New("there are no rows to learn from")
	}
	schema := recs[0].Schema()
	if s.views == nil && (schema.HasField(record.Nodes) || schema.HasField(record.Edges) && len(r.recipe.Graphs().EdgeAttr) > 0) { // views have their own scales
		scale, err := operators.StandardizeOf(recs...)
		if err != nil {
			return err
		}
		r.scale = operators.Recipe{scale}
		r.recipe = append(r.recipe, r.scale...)
	}
	if intervals {
		s, err := operators.IntervalsOf(recs...)
		if err != nil {
			return err
		}
		r.scale = operators.Recipe{s}
		r.recipe = append(r.recipe, s)
	}
	if err := c.cut(valid(r.knowing(folds))).To(&r.valid).Run(ctx); err != nil {
		return err
	}
	if len(r.valid.Records()) == 0 {
		return errors.New("there are no rows to choose by")
	}
	return nil
}

// binned gives the counters of the recipe the quantiles of the nodes to learn from. It takes an operators.Intervals from the end of
// the recipe, and returns whether there was one.
func (r *rows) binned() (intervals bool) {
	for i, op := range r.recipe {
		counter, ok := op.(operators.Count)
		if !ok {
			continue
		}
		counter.Of = slices.Clone(counter.Of)
		for j, of := range counter.Of {
			if around, ok := of.(count.Around); ok && r.set != nil {
				around.Bins = count.BinsOf(r.set.Graph, r.nodes)
				for range around.Beliefs {
					around.Bins.Nodes = append(around.Bins.Nodes, count.Sixteenths())
				}
				counter.Of[j] = around
			}
		}
		r.recipe[i] = counter
	}
	if last := len(r.recipe) - 1; last >= 0 {
		if _, intervals = r.recipe[last].(operators.Intervals); intervals {
			r.recipe = r.recipe[:last]
		}
	}
	return intervals
}

// extend derives the rows of a view from the rows of the previous view.
func (r *rows) extend(ctx context.Context, before *rows) error {
	r.set, r.nodes = before.set, before.nodes
	more := r.knowing(folds)
	r.recipe = slices.Concat(before.recipe, r.recipe)
	if err := more.Onto(inMemory(&before.train)).To(&r.train).Run(ctx); err != nil {
		return err
	}
	return more.Onto(inMemory(&before.valid)).To(&r.valid).Run(ctx)
}

// knowing returns the recipe with the classes of the training nodes if it reads them, or with the beliefs of models that have not learned from a fold.
func (r *rows) knowing(fold int) operators.Recipe {
	recipe := slices.Clone(r.recipe)
	for i, op := range recipe {
		switch op := op.(type) {
		case operators.KnownClasses:
			op.Class = r.classes()
			recipe[i] = op
		case operators.Beliefs:
			op.Probs = r.believed.probs[fold]
			recipe[i] = op
		}
	}
	return recipe
}

// classes returns the class of each training node, and -1 of the others.
func (r *rows) classes() []int32 {
	class := slices.Repeat([]int32{-1}, len(r.set.Class))
	for _, v := range r.nodes {
		class[v] = r.set.Class[v]
	}
	return class
}

func release(made []*rows) {
	for _, r := range made {
		r.train.Release()
		r.valid.Release()
	}
}

// inMemory returns a pipeline of collected rows.
func inMemory(rows *sinks.Collect) flow.Pipeline {
	return flow.From(flow.Records{Records: rows.Records()}).With(flow.Options{Workers: 1})
}

// grow trains the models of candidates in parallel, and scores them.
func (c Choice) grow(ctx context.Context, s System, all []*candidate, nets, epochs int, prior sinks.Prior) error {
	jobs, workers := len(all)*nets, c.Workers
	if jobs > 1 {
		workers = 1
	}
	progress := func(done, total int) { c.Progress(s.Name, done, total) }
	for _, one := range all {
		one.nets = make([]nn.Saver, nets)
	}
	var done atomic.Int64
	err := pool.Each(ctx, cmp.Or(c.Workers, runtime.GOMAXPROCS(0)), jobs, func(ctx context.Context, _, job int) error {
		one, seed := all[job/nets], c.Seed
		if i := job % nets; i > 0 {
			seed = validation.Seed(c.Seed, uint64(i))
		}
		net := one.new(seed, workers)
		one.nets[job%nets] = net
		if err := prior.Keep(net); err != nil { // epochs are scored by balanced answers
			return err
		}
		valid := inMemory(&one.rows.valid)
		if err := c.fit(ctx, s, net, one.rows.scale.Onto(inMemory(&one.rows.train)), &valid, epochs, seed, func(done, total int) {
			if jobs == 1 {
				progress(done, total)
			}
		}); err != nil {
			return err
		}
		if jobs > 1 {
			progress(int(done.Add(1)), jobs)
		}
		return sinks.Prior(nil).Keep(net)
	})
	if err != nil {
		return err
	}
	for _, one := range all {
		one.recipe = one.rows.recipe
		one.net = one.nets[0]
		if nets > 1 {
			together := new(nn.Ensemble)
			for _, net := range one.nets {
				together.Nets = append(together.Nets, net)
			}
			one.net = together
		}
		if err := c.ask(ctx, &one.trial, inMemory(&one.rows.valid), prior); err != nil {
			return err
		}
	}
	return nil
}

// fit trains a model. The validation rows choose the number of epochs or trees.
func (c Choice) fit(ctx context.Context, s System, net nn.Saver, train flow.Pipeline, valid *flow.Pipeline, epochs int, seed uint64, progress func(done, total int)) error {
	var learner nn.Model
	switch m := net.(type) {
	case *trees.Model:
		m.Progress = progress
		_, err := sinks.FitTrees(ctx, m, train, valid) // no part has rows without a target
		return err
	case *nn.Ensemble:
		for i := range m.Nets {
			one, ok := m.Nets[i].(nn.Saver)
			if i < len(s.of) && c.tried[s.of[i]] != nil { // already trained
				m.Nets[i] = c.tried[s.of[i]]
				continue
			}
			if !ok {
				return fmt.Errorf("a %T of an ensemble cannot learn", m.Nets[i])
			}
			maps.Copy(one.Metadata(), m.Metadata()) // the prior
			if err := c.fit(ctx, s, one, train, valid, epochs, seed, progress); err != nil {
				return err
			}
		}
		return nil
	case nn.Model:
		learner = m
	default:
		return fmt.Errorf("a %T cannot learn, want an nn.Model, a trees.Model, or an nn.Ensemble of a system", net)
	}
	fit := sinks.Fit{
		Net: learner, Epochs: epochs, Patience: s.Patience, Seed: seed,
		OnEpoch: func(e sinks.Epoch) error {
			progress(e.Number, s.Epochs)
			return ctx.Err()
		},
	}
	if c.Measure != "" || !nn.HoldsOut(learner) {
		fit.Valid, fit.Measure = valid, c.Measure
		if len(c.Classes) > 0 && c.Measure == "" { // the accuracy, then the loss
			fit.Score = func(r nn.Result) float64 { return r.Loss/1e6 - float64(r.Correct)/float64(r.Rows) }
		}
	}
	_, err := fit.Run(ctx, train)
	return err
}

// ask predicts the validation rows with the model of a trial, and scores the predictions.
func (c Choice) ask(ctx context.Context, t *trial, valid flow.Pipeline, prior sinks.Prior) error {
	var said []sinks.Prediction
	each := func(p sinks.Prediction) error {
		p.Probs = slices.Clone(p.Probs)
		said = append(said, p)
		return nil
	}
	if err := valid.To(sinks.Predict{Net: t.net, Each: each}).Run(ctx); err != nil {
		return err
	}
	return c.score(t, said, prior)
}

// score sets the score and the loss of a trial from predictions for the validation rows. With a prior, it
// applies the temperature and the prior first.
func (c Choice) score(t *trial, said []sinks.Prediction, prior sinks.Prior) (err error) {
	m := NewMeasures(c.Classes)
	if len(c.Classes) > 0 {
		var all sinks.Answers
		for _, p := range said {
			if err := all.Add(p); err != nil {
				return err
			}
		}
		t.heat = all.Temperature()
	}
	for _, p := range said {
		if prior != nil {
			p.Probs = slices.Clone(p.Probs)
			t.heat.Apply(p.Probs, len(c.Classes))
			prior.Apply(p.Probs)
		}
		if err := m.Add(p); err != nil {
			return err
		}
	}
	loss := validation.LogLoss
	if t.Rows, t.Score = m.Rows, m.Accuracy(); len(c.Classes) == 0 {
		loss = validation.RMSE
	}
	if t.Loss, err = m.By(loss); err != nil {
		return err
	}
	if len(c.Classes) == 0 {
		t.Score = t.Loss
	}
	if c.Measure != "" {
		t.Score, err = m.By(c.Measure)
	}
	if class := slices.Index(c.Classes, t.Positive); class >= 0 && (c.Measure == validation.ROC.About(class) || c.Measure == validation.Precision.About(class)) {
		positive := 0
		for _, n := range m.Confusion[class] {
			positive += n
		}
		t.Error = math.Sqrt(t.Score * (1 - t.Score) / float64(max(1, min(positive, m.Rows-positive)))) // upper bound for an AUC (Van Dantzig)
	}
	return err
}

// learned counts the classes of the training rows. It returns their prior, nil without Balance, and sets the
// positive class of t and of Measure.
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

// rootsOf returns the roots of rows.
func (c Choice) rootsOf(ctx context.Context, rows Rows) (nodes []int32, err error) {
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
	return nodes, nil
}

// Asked returns the rows of a prediction by p, for sinks.Predict or scores.Sink. If p smooths
// its predictions, or knows nodes by ids that are no features of g, open predicts the nodes of g, and
// the caller closes it. Otherwise open is nil, and p.Net() predicts. ids are those of the nodes.
func Asked(ctx context.Context, p *sinks.Predictor, g *graph.Graph, ids graph.IDs, rows Rows) (asked flow.Pipeline, open *sinks.OpenGraph, err error) {
	if !p.Smoothed() && (g == nil || g.SparseCard == p.Layout().NodeSparse.Card) {
		if g != nil {
			of := p
			if p, err = p.Knowing(g.N(), ids); err != nil {
				return asked, nil, err
			}
			if p != of {
				defer p.Close() // only its recipe is used
			}
		}
		return rows(p.Recipe()), nil, nil
	}
	open, err = p.OpenIDs(ctx, g, ids)
	return rows(justRoots), open, err
}

// Test returns the measures of the answers of a model for rows. The positive class is positive if that is set, else
// that of the model, if a Choice made it; see Measures. g is the graph of nodes and ids are their ids, as for Asked. workers is
// flow.Options.Workers.
func Test(ctx context.Context, p *sinks.Predictor, g *graph.Graph, ids graph.IDs, rows Rows, positive string, workers int) (*Measures, error) {
	asked, open, err := Asked(ctx, p, g, ids, rows)
	if err != nil {
		return nil, err
	}
	m := NewMeasures(p.Classes(), p.Targets()...)
	m.Positive = cmp.Or(positive, nn.MetadataOf(p.Net())[positiveNote])
	if several, ok := p.Net().(*nn.Targets); ok {
		for i, net := range several.Nets {
			m.Targets[i].Positive = cmp.Or(positive, nn.MetadataOf(net)[positiveNote])
		}
	}
	to := sinks.Predict{Net: p.Net(), Each: m.Add}
	if open != nil {
		defer open.Close()
		to.Net, to.Graph = nil, open
	}
	return m, asked.Via(operators.Batch{Size: 64}).With(flow.Options{Workers: workers}).To(to).Run(ctx)
}

// justRoots makes rows of roots alone.
var justRoots = operators.Recipe{operators.Roots{Nodes: []int32{-1}}}

// cut makes records of 256 rows.
var cut = operators.Batch{Size: 256}

// cut makes the records of the rows of a system.
func (c Choice) cut(p flow.Pipeline) flow.Pipeline {
	return p.Via(cut).With(flow.Options{Workers: c.Workers})
}

// GraphRows returns the rows of graphs.
func GraphRows(src flow.Source) Rows {
	return func(r operators.Recipe) flow.Pipeline { return r.Onto(flow.From(src)) }
}

// NodeRows returns a row for each of some nodes of a graph. The nodes replace those of the
// recipe's operators.Roots. The operators before the Roots run once for the graph; an
// operators.Expect maps its words and refuses other attributes and classes. Without an
// operators.PerRoot in the recipe, each node has a row from the start. A row has the id of its
// node, which scores.RootID writes.
func NodeRows(set *sources.NodeSet, nodes []int32) Rows {
	return func(r operators.Recipe) flow.Pipeline {
		at := rootsAt(r)
		if _, ok := operators.Find[operators.PerRoot](r); !ok {
			return r[at+1:].Onto(flow.From(rooted{set.Rooted(nodes), r[:max(0, at)]}))
		}
		r = slices.Clone(r)
		r[at] = operators.Roots{Nodes: nodes}
		return r.Onto(flow.From(set))
	}
}

// LinkRows returns a row for each pair of some folds.
func LinkRows(folds ...links.Fold) Rows {
	return func(r operators.Recipe) flow.Pipeline {
		at := rootsAt(r)
		return r[at+1:].Onto(flow.From(rooted{links.Rows(folds...), r[:max(0, at)]}))
	}
}

// rootsAt returns the index of the operators.Roots, or -1.
func rootsAt(r operators.Recipe) int {
	return slices.IndexFunc(r, func(op flow.Operator) bool { _, ok := op.(operators.Roots); return ok })
}
