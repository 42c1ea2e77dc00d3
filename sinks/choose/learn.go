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

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// rows has the training and validation rows of a view.
type rows struct {
	view
	set          *sources.NodeSet // set of the nodes; nil if rows are no nodes
	nodes        []int32          // training nodes
	train, valid sinks.Collect
	scale        operators.Recipe // fitted on the training rows, at the end of the recipe
	believed     *beliefs         // beliefs about the classes of the nodes; nil if the recipe reads none
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
	return c.keepKnown(ctx, s, made[0], t)
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

// collect makes the training and validation rows of a view, and fits its scale on the training rows.
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
			if i < len(s.reused) && c.tried[s.reused[i]] != nil { // a trained model of an earlier system
				m.Nets[i] = c.tried[s.reused[i]]
				continue
			}
			if !ok {
				return fmt.Errorf("a %T of an ensemble cannot learn", m.Nets[i])
			}
			maps.Copy(one.Metadata(), m.Metadata()) // the metadata have the prior, which the scores of epochs need
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
		if len(c.Classes) > 0 && c.Measure == "" { // of epochs with equal accuracy, the least loss
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
		_, rows, _ := m.positive()
		t.Error = math.Sqrt(t.Score * (1 - t.Score) / float64(max(1, min(rows[class], m.Rows-rows[class])))) // upper bound for an AUC (Van Dantzig)
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

// rootsOf returns the root nodes of rows, in the order of the rows.
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
