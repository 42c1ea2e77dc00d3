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
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/manifest"
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

	rows   bool             // rows are of a History, or pairs
	reused []string         // systems of the same recipe whose trained models the ensemble reuses
	nodes  *sources.NodeSet // set of the nodes, if rows are nodes of a graph; else nil
	named  *sources.NodeSet // replaces nodes, with the ids that Recipe reads as attributes; or nil
	views  []view           // replaces Recipe and New; the validation rows choose one
	nets   int              // number of averaged models of a view; 0 = 1
	base   *System          // system whose answers the operators.Beliefs of a stacked system reads; or nil
	// smooth tries to propagate answers over the edges, and keeps that if it is better.
	smooth bool
	// local is set if the system reads ids of nodes, so that it answers about one graph only.
	local bool
}

// view is a recipe with candidate models.
type view struct {
	name   string // name of the view in Tried.Took
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

	tried map[string]nn.Saver // models of earlier systems, by name of the system
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
	heat     sinks.Temperature // temperature that was fitted on the validation rows
	classes  bool              // the smoothing propagates the classes of training nodes
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
	var share atomic.Value // share of the epochs of the current system that are done, a float64
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
		later := slices.ContainsFunc(c.Systems[len(all):], func(s System) bool { return slices.Contains(s.reused, t.Name) })
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

// load reads the model of a trial from Keep, and checks its digest.
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

// Asked returns the rows of a prediction by p, for sinks.Predict or scores.Rows. If p smooths
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

// justRoots computes no features: its rows say only which nodes are the roots.
var justRoots = operators.Recipe{operators.Roots{Nodes: []int32{-1}}}

// cut sets the size of the records of rows that are held in memory.
var cut = operators.Batch{Size: 256}

// cut puts the rows of a system into records of the size of the variable cut, by c.Workers.
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
		if _, ok := operators.Find[operators.PerRoot](r); !ok {
			return rootedRows(set.Rooted(nodes), r)
		}
		r = slices.Clone(r)
		r[rootsAt(r)] = operators.Roots{Nodes: nodes}
		return r.Onto(flow.From(set))
	}
}

// LinkRows returns a row for each pair of some folds.
func LinkRows(folds ...links.Fold) Rows {
	return func(r operators.Recipe) flow.Pipeline { return rootedRows(links.Rows(folds...), r) }
}

// rootedRows applies a recipe to rows that share graphs. The operators before its roots run once for each graph, not for each row.
func rootedRows(rows sources.Rooted, r operators.Recipe) flow.Pipeline {
	at := rootsAt(r)
	rows.Once = r[:max(0, at)]
	return r[at+1:].Onto(flow.From(rows))
}

// rootsAt returns the index of the operators.Roots, or -1.
func rootsAt(r operators.Recipe) int {
	return slices.IndexFunc(r, func(op flow.Operator) bool { _, ok := op.(operators.Roots); return ok })
}
