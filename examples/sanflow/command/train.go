package command

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/ipc"
	"github.com/sanflow/sanflow/sinks/live"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/links"
)

// revision is raised with every change that changes the result of a training with equal settings.
const revision = 8

// training is the flags of train.
type training struct {
	*cli.Command
	data
	out      string
	budget   time.Duration
	systems  string
	score    validation.Measure
	positive string
	balance  bool
	liveOnly bool
	seed     uint64
	named    bool // -systems is given
	start    time.Time
}

// parts is the rows to learn from, to choose by and to test on.
type parts struct {
	systems            []choose.System
	classes            []string               // none of numbers
	targets            []record.TargetChannel // of several targets, in place of classes
	rows               int                    // number of rows of all parts, or of edges
	train, valid, test choose.Rows
	graph              *graph.Graph    // whose nodes are the rows, or nil
	ids                graph.IDs       // of its nodes
	known              *sinks.Known    // the rows to learn from and to choose by; nil of nodes, which Choice stores
	digest             string          // of the rows and their parts
	split              bool            // the data name the test part
	same               bool            // the model has learned from equal data
	foreign            int             // number of test rows with a class that the model does not have
	history            *choose.History // of -task rows; asked returns the test rows for a model with its history
	asked              func(*sinks.Predictor) (choose.Rows, error)
	copies
	release func()
}

// parseTrain parses the flags and checks them as far as possible without the data.
func parseTrain(args []string) (*training, error) {
	c := &training{start: time.Now(), Command: cli.NewCommand("sanflow train", about("train")+"\nThe systems, in order: of graphs words, trees, words+trees,\nlinear, forest, words+forest, cnn, cnn-edges; of nodes linear, neighbours, cnn,\ncnn-edges, words, trees, words-smoothed, ensemble, stacked-trees, stacked-twice; of links linear, words, trees, words+trees; of rows trees, words,\ntrees-words: trees read numbers of earlier rows by key, the others the graph of the latest rows before. linear is a linear model of counts;\nneighbours one of the ids of the nodes around a node, where nodes have columns; cnn a network on receptive fields; cnn-edges one that reads edges too, where they have\ncolumns; words the most accurate linear model; trees boosted trees on the same words, or of molecules on fewer; forest bagged trees; words+trees and words+forest the means with words; words-smoothed one whose answers are smoothed over the edges;\nensemble networks on nodes, on their features propagated over the edges, or with the known classes around them, whose answers may be smoothed;\nstacked-trees trees that read what trees say of the nodes around a node, and stacked-twice what stacked-trees says.\nThe best on the validation part is chosen. Of classes without -score and -balance, words,\nensemble, or of rows trees-words and of links words+trees, also with -score auc and ap, is chosen unless another is better by a standard error. A system that does not finish within -budget is discarded, except the first, of graphs the recommended one.")}
	f := c.FlagSet
	c.Inputs("data", "edges", "nodes", "graphs", "rows")
	f.StringVar(&c.out, "out", "sanflow.model", "file for the model; until training ends, FILE.train holds the progress; run the same command to resume")
	f.StringVar(&c.out, "model", c.out, "the same as -out")
	cli.Duration(f, &c.budget, "budget", time.Minute, 0, "time for reading and for trying systems; 0 = all are tried; the default for generated data is 13s")
	f.StringVar(&c.systems, "systems", "", "comma-separated systems to try, regardless of -budget; the systems named in a report reproduce its model byte for byte")
	cli.Score(f, &c.score, "what systems and their epochs are chosen by on the validation part, and is reported beside the others; without it the accuracy, of links auc, or rmse of numbers")
	positiveFlag(f, &c.positive, "the rarer one of the training rows, of equals that with the greater name, and of links the link")
	f.BoolVar(&c.balance, "balance", false, "answer as if all classes were equally frequent, for classes that are not: more of each class is right on average, less of all rows; the model keeps the shares of its classes, and evaluate, predict and serve balance by them; -score is then balanced unless it is given")
	f.BoolVar(&c.portable, "portable", false, "of nodes, try only models that also answer about other graphs: none that reads ids of nodes, or the known classes of the nodes around one")
	f.BoolVar(&c.liveOnly, "live-only", false, "of nodes, try only systems whose answers depend on a bounded number of nodes, for serve -events")
	f.Uint64Var(&c.seed, "seed", 1, "seed of parts, weights and orders")
	c.flags(f, "graphs where -data is set or -graph, else nodes")
	if err := c.Read(args); err != nil {
		return nil, err
	}
	given := cli.Given(f)
	if slices.Contains(given, "out") && slices.Contains(given, "model") {
		return nil, cli.Usage(errors.New("-out and -model both name the file for the model: set one"))
	}
	if err := cli.Distinct(f, []string{"out", "json"}, []string{"data", "edges", "nodes", "graphs", "rows"}); err != nil {
		return nil, err
	}
	if err := cli.Regular(c.out); err != nil { // the file is read again, and FILE.train is beside it
		return nil, err
	}
	if err := c.check(f, ""); err != nil {
		return nil, err
	}
	if err := c.reread("train"); err != nil {
		return nil, err
	}
	if c.task == "rows" && c.Class+c.Value == "" {
		return nil, cli.Usage(errors.New("-task rows wants -class, the column of -rows to learn, or -value"))
	}
	if c.edges != "" && c.Class+c.Value == "" && c.task != "links" {
		return nil, cli.Usage(fmt.Errorf("-task %s wants -class, the column of %s to learn", c.task, map[bool]string{true: "-graphs", false: "-nodes"}[c.targetsOf != ""]))
	}
	if c.molecules() && c.Class+c.Value == "" {
		return nil, cli.Usage(errors.New("molecules want -class or -value, what is to be learned of them"))
	}
	if c.liveOnly && c.task != "nodes" {
		return nil, cli.Usage(errors.New("-live-only is for -task nodes: all systems of rows answer with serve -events, and none of graphs and links"))
	}
	if c.balance {
		if c.Value != "" || c.task == "links" {
			return nil, cli.Usage(errors.New("-balance is for classes of graphs or nodes: numbers have none, and links are dealt in halves"))
		}
		c.score = cmp.Or(c.score, validation.Balanced)
	}
	if c.task == "links" {
		c.score = cmp.Or(c.score, validation.ROC)
	}
	if c.positive != "" && c.Value != "" {
		return nil, cli.Usage(errors.New("-positive is a class, and -value is a number to learn"))
	}
	if c.Value+c.Class != "" || c.task == "links" { // the classes of other data are known after reading
		if err := cli.CheckScore(c.score, c.Value != ""); err != nil {
			return nil, err
		}
	}
	if c.targets, c.named = true, slices.Contains(given, "systems"); c.generated() && !slices.Contains(given, "budget") {
		c.budget = 13 * time.Second
	}
	return c, nil
}

// generated reports whether the data are generated.
func (c *training) generated() bool { return c.data.data+c.edges+c.rowTables == "" }

func train(ctx context.Context, args []string) error {
	c, err := parseTrain(args)
	if err != nil {
		return err
	}
	defer c.refused.Total()
	c.Also(c.out)
	return c.Run(ctx, c.trained)
}

// trained chooses the model, writes it and reports.
func (c *training) trained(ctx context.Context) (cli.Result, error) {
	p, err := c.learnable(ctx)
	if err != nil {
		return nil, c.in(err)
	}
	defer p.release()
	if c.unknown > 0 {
		all, what := c.unknown+p.rows, "graphs"
		if c.task == "rows" {
			all, what = p.rows, "rows"
		}
		fmt.Fprintf(os.Stderr, "left out: %d of %d %s of %s have no class or value to learn\n", c.unknown, all, what, c.name())
	}
	if c.edges+c.rowTables == "" { // tables report it themselves
		for _, t := range p.each(c.Class) {
			for _, note := range sources.DoubtfulWords(t.Classes, t.Name, c.data.data) {
				fmt.Fprintln(os.Stderr, note)
			}
		}
	}
	if err := c.settle(p); err != nil {
		return nil, err
	}
	keep, err := c.store(c.out+".train", p.digest)
	if err != nil {
		return nil, err
	}
	defer keep.Close()
	chosen, err := c.choose(ctx, p, keep)
	if err != nil {
		return nil, err
	}
	m, err := c.measure(ctx, p, chosen)
	if err != nil {
		return nil, err
	}
	if err := c.note(p, chosen); err != nil {
		return nil, err
	}
	if err := c.Files.Page(c.out, func(w io.Writer) error { return sinks.Write(w, chosen.Net, chosen.Recipe) }); err != nil {
		return nil, err
	}
	if err := errors.Join(keep.Close(), os.RemoveAll(c.out+".train")); err != nil {
		return nil, err
	}
	r := newReport(c.task, chosen.System, c.name(), chosen.Tried, m, c.score, c.start)
	r.copies, r.balanced, r.Future = p.copies, c.balance, c.Future
	r.NotTried = chosen.NotTried
	c.tell(r, p)
	r.ModelSHA256, err = manifest.Sum(c.out)
	return r, err
}

// learnable returns the parts of the data. Targets that cannot be learned are left out, and the data are
// read again without them.
func (c *training) learnable(ctx context.Context) (*parts, error) {
	p, err := c.parts(ctx, c.seed)
	if err != nil || len(p.targets) == 0 {
		return p, err
	}
	why, err := choose.Unlearnable(ctx, p.targets, p.train, p.valid)
	if err != nil || len(why) == 0 {
		return p, err
	}
	var rest []string
	for i, t := range p.targets {
		if text, ok := why[i]; ok {
			fmt.Fprintf(os.Stderr, "left out: the target %q: %s\n", t.Name, text)
		} else {
			rest = append(rest, t.Name)
		}
	}
	if p.release(); len(rest) == 0 {
		return nil, errors.New("no target can be learned")
	}
	if c.Class != "" {
		c.Class = rowOf(rest)
	} else {
		c.Value = rowOf(rest)
	}
	return c.parts(ctx, c.seed)
}

// settle checks the flags that need the data, and reports systems that are left out.
func (c *training) settle(p *parts) (err error) {
	for _, t := range p.each(c.Class) {
		if err := cli.CheckScore(c.score, len(t.Classes) == 0); err != nil {
			return err
		}
		switch n := len(t.Classes); {
		case n > choose.MaxClasses:
			return fmt.Errorf("%s: the column %q has %d classes of %d rows, want at most %d: name another column by -class; -value learns a number", c.name(), t.Name, n, p.rows, choose.MaxClasses)
		case p.targets != nil && n < 2 && c.Value == "":
			return fmt.Errorf("%s: the column %q has the classes %q alone; there is nothing to classify: leave it out of -class", c.name(), t.Name, t.Classes)
		}
		if err := checkPositive(c.positive, t.Classes); err != nil {
			return err
		}
	}
	for i := range p.systems {
		if s := &p.systems[i]; c.liveOnly && s.LeftOut == "" {
			if err := s.Live(); err != nil {
				s.LeftOut = fmt.Sprintf("%v (-live-only)", err)
			}
		}
	}
	if c.named {
		c.budget = 0
		if p.systems, err = choose.Pick(p.systems, strings.Split(c.systems, ",")); err != nil {
			return cli.Usage(fmt.Errorf("-systems: %w", err))
		}
	}
	for _, s := range p.systems {
		if s.LeftOut != "" {
			fmt.Fprintf(os.Stderr, "left out: the system %s: %s\n", s.Name, s.LeftOut)
		}
	}
	return nil
}

// choose tries the systems.
func (c *training) choose(ctx context.Context, p *parts, keep *store.Store) (*choose.Chosen, error) {
	s, systems := &status{score: cmp.Or(c.score, map[bool]validation.Measure{true: validation.RMSE, false: validation.Accuracy}[c.Value != ""])},
		len(slices.DeleteFunc(slices.Clone(p.systems), func(one choose.System) bool { return one.LeftOut != "" }))
	ended := flow.Announce(ctx, s)
	if c.budget > 0 { // reading has used a part of the budget
		s.until = c.start.Add(c.budget)
		c.budget = max(1, c.budget-time.Since(c.start))
	}
	chosen, err := choose.Choice{
		Systems: p.systems, Classes: p.classes, Targets: p.targets, Train: p.train, Valid: p.valid, Measure: c.score, Positive: c.positive, Balance: c.balance, Portable: c.portable, Budget: c.budget, Seed: c.seed, Workers: c.workers,
		Keep: keep, Each: s.tried, Progress: func(system string, epoch, epochs int) {
			cli.Stages(system, int64(epoch), int64(epochs))
			s.at(system, systems, epoch, epochs, time.Now())
		},
	}.Run(ctx)
	cli.Stages("", 0, 0)
	ended(err)
	if err != nil && errors.Is(context.Cause(ctx), cli.ErrInterrupted) {
		fmt.Fprintf(os.Stderr, "%s.train holds the progress: the same command resumes\n", c.out)
	}
	return chosen, err
}

// status is what the page of -live says of a training: a flow.Observed without stages.
type status struct {
	score validation.Measure
	until time.Time // the end of -budget, if there is one

	mu     sync.Mutex
	system string    // that trains
	began  time.Time // of the first epoch that was told
	first  int
	facts  []live.Fact
	scores []live.Fact // of the systems that were tried
}

func (*status) String() string    { return "training" }
func (*status) Stats() flow.Stats { return flow.Stats{Read: -1, Done: -1} }
func (*status) Report() []any     { return nil }

// About says which system trains, of how many, the time that is left, and the scores so far.
func (s *status) About() live.About {
	s.mu.Lock()
	defer s.mu.Unlock()
	return live.About{Facts: slices.Concat(s.facts, s.scores)}
}

// tried adds a score.
func (s *status) tried(t choose.Tried) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scores = append(s.scores, live.Fact{Name: fmt.Sprintf("%s of %s, validation", s.score, t.Name), Text: cli.ScoreText(s.score, t.Score)})
}

// at says how far a system is, after those that were tried.
func (s *status) at(system string, systems, epoch, epochs int, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.system != system {
		s.system, s.began, s.first = system, now, epoch
	}
	s.facts = []live.Fact{{Name: "system", Text: fmt.Sprintf("%s, %d of %d", system, len(s.scores)+1, systems)}, {Name: "epoch", Text: fmt.Sprintf("%d of %d", epoch, epochs)}}
	if epoch > s.first {
		left := now.Sub(s.began).Seconds() / float64(epoch-s.first) * float64(epochs-epoch)
		s.facts = append(s.facts, live.Fact{Name: "left for it, about", X: live.Number(left), Unit: "s"})
	}
	if !s.until.IsZero() {
		s.facts = append(s.facts, live.Fact{Name: "left of -budget", X: live.Number(max(0, s.until.Sub(now).Seconds())), Unit: "s"})
	}
}

// measure tests the chosen model.
func (c *training) measure(ctx context.Context, p *parts, chosen *choose.Chosen) (*choose.Measures, error) {
	if p.known != nil { // of rows also those without a part
		if err := p.known.Keep(chosen.Net); err != nil {
			return nil, err
		}
	}
	if p.history != nil {
		if err := p.history.Keep(chosen.Net); err != nil {
			return nil, err
		}
	}
	asked, err := sinks.NewPredictor(chosen.Net, chosen.Recipe)
	if err != nil {
		return nil, err
	}
	defer asked.Close()
	if p.history != nil {
		if p.test, err = p.asked(asked); err != nil {
			return nil, err
		}
	}
	return choose.Test(ctx, asked, p.graph, p.ids, p.test, "", c.workers)
}

// note sets the metadata of the model that the other commands read.
func (c *training) note(p *parts, chosen *choose.Chosen) error {
	notes := chosen.Net.Metadata()
	notes["task"], notes["system"], notes["systems"] = c.task, chosen.System, triedOf(chosen.Tried)
	if c.attributed() || c.molecules() {
		if err := c.keep(notes, chosen.Recipe); err != nil {
			return err
		}
	}
	if c.generated() { // the name of a data file is not stored: equal rows give equal models
		notes["data"] = "generated"
	}
	if c.score != "" {
		notes["score"] = string(c.score)
	}
	notes["rows"], notes["seed"], notes["digest"] = strconv.Itoa(p.rows), strconv.FormatUint(c.seed, 10), p.digest
	return nil
}

// triedOf returns the names of systems, separated by commas.
func triedOf(tried []choose.Tried) string {
	var names []string
	for _, s := range tried {
		names = append(names, s.Name)
	}
	return strings.Join(names, ",")
}

// tell sets the texts of the report: the description of the rows, of generated data, and the next command.
func (c *training) tell(r *report, p *parts) {
	if c.generated() {
		r.head = map[string]string{
			"graphs": fmt.Sprintf("The data are generated: %d graphs of %d kinds. The class of a graph is its kind.\n\n", p.rows, len(p.classes)),
			"nodes":  fmt.Sprintf("The data are generated: a graph of %d nodes. The class of a node is its community.\n\n", p.rows),
			"links":  fmt.Sprintf("The data are generated: a graph of communities with %d edges, of which some are hidden.\n\n", p.rows),
		}[c.task]
		r.next = fmt.Sprintf("\nnext: sanflow predict -model %s -out scores.csv; of your own data, sanflow train -h\n", c.out)
	}
	more := ""
	if c.positive != "" {
		more += fmt.Sprintf(" -positive %q", c.positive)
	}
	if c.balance {
		more += " -balance"
	}
	if c.score != "" && !(c.balance && c.score == validation.Balanced) {
		more += " -score " + string(c.score)
	}
	if c.portable {
		more += " -portable"
	}
	r.what, r.part = fmt.Sprintf("-task %s, measured on the test part; -systems %s -seed %d%s makes %s again", c.task, triedOf(r.Systems), c.seed, more, c.out), "validation"
}

// store opens the directory with the progress of the training.
func (c *training) store(dir, rows string) (*store.Store, error) {
	s, err := store.Open(nil, dir)
	if err != nil {
		return nil, err
	}
	settings := []store.Setting{
		cli.Setting("-task", c.task), cli.Setting("-data", c.name()), cli.Setting("-seed", c.seed), cli.Setting("columns", fmt.Sprintf("%+v", c.columns)), cli.Setting("-nodes", c.nodes), cli.Setting("data with SHA-256", rows), cli.Setting("revision", revision),
	}
	for _, more := range []struct{ flag, value string }{{"-graphs", c.targetsOf}, {"-score", string(c.score)}, {"-positive", c.positive}, {"-balance", given(c.balance)}, {"-portable", given(c.portable)}} {
		if more.value != "" {
			settings = append(settings, cli.Setting(more.flag, more.value))
		}
	}
	err = s.Begin(settings, true)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s holds the progress of a train with other data or settings; remove %[1]s to begin anew: %w", dir, err), s.Close())
	}
	return s, nil
}

// given is the text of a flag that is set, or "".
func given(set bool) string {
	if set {
		return "true"
	}
	return ""
}

// digestRows is the SHA-256 of records and of row numbers.
func digestRows(ctx context.Context, of []flow.Source, rows ...[]int32) (string, error) {
	h := sha256.New()
	for _, src := range of {
		if err := flow.From(src).With(flow.Options{Workers: 1}).To(ipc.Sink{W: h}).Run(ctx); err != nil {
			return "", err
		}
	}
	fmt.Fprint(h, rows) // a hash returns no error
	return hex.EncodeToString(h.Sum(nil)), nil
}

// digestOf is the SHA-256 of values.
func digestOf(values ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", values))
	return hex.EncodeToString(sum[:])
}

// each returns the targets. A single target has the column name.
func (p *parts) each(name string) []record.TargetChannel {
	if p.targets != nil {
		return p.targets
	}
	return []record.TargetChannel{{Name: name, Classes: p.classes}}
}

// parts reads the rows and deals them to parts.
func (d *data) parts(ctx context.Context, seed uint64) (*parts, error) {
	switch d.task {
	case "graphs":
		return d.graphParts(ctx, seed)
	case "rows":
		return d.rowParts(ctx, seed)
	}
	set, err := d.adapted(ctx)
	if err != nil {
		return nil, err
	}
	p := &parts{classes: set.Classes, rows: set.Graph.N(), release: func() {}}
	if set.Value() == nil {
		p.targets = set.Channels.Targets
	}
	if d.task == "links" {
		return p, d.linkParts(ctx, p, set, seed)
	}
	if set.Channels.Targets == nil && len(set.Classes) < 2 {
		return nil, fmt.Errorf("the nodes are of %d classes, want two or more: name the column by -class", len(set.Classes))
	}
	train, valid, test, err := choose.Deal(set, seed)
	if err != nil {
		return nil, err
	}
	d.noteParts(set.Split, len(valid), len(test))
	if g := set.Graph; g.Directed && d.like == nil {
		ends := 0
		for v := range int32(g.N()) {
			if g.Degree(v) == 0 {
				ends++
			}
		}
		d.note(fmt.Sprintf("left out: -directed lets a node see the edges that leave it alone, and %d of %d nodes have none: words and trees read no edge to a node; leave -directed out, or give each edge twice, the second with exchanged ends and a type of its own", ends, g.N()))
	}
	bare := *set
	bare.Graph = d.bare
	if p.digest, err = digestRows(ctx, []flow.Source{&bare}, train, valid, test); err != nil {
		return nil, err
	}
	if p.targets != nil { // bare has no targets
		p.digest = digestOf(p.digest, p.targets, set.Targets)
	}
	if p.same = p.digest == d.digest; d.leaves && !p.same {
		test = d.fresh(set, test)
	}
	p.systems, p.graph, p.ids, p.split = choose.Nodes(set, len(train)), set.Graph, set.IDs, slices.Contains(set.Split, sources.Test)
	for _, v := range d.foreign {
		if p.split && set.Split[v] == sources.Test {
			p.foreign++
		}
	}
	p.train, p.valid, p.test = choose.NodeRows(set, train), choose.NodeRows(set, valid), choose.NodeRows(set, test)
	return p, nil
}

// noteParts reports the parts that a split lacks, to which rows to learn from are dealt.
func (d *data) noteParts(split []sources.Subset, valid, test int) {
	if split == nil || d.leaves {
		return
	}
	if !slices.Contains(split, sources.Val) {
		d.note(fmt.Sprintf("guessed: no row is of the part valid: %d of the rows to learn from are dealt to it by -seed", valid))
	}
	if !slices.Contains(split, sources.Test) {
		d.note(fmt.Sprintf("guessed: no row is of the part test: %d of the rows to learn from are dealt to it by -seed", test))
	}
}

// linkParts hides edges to predict.
func (d *data) linkParts(ctx context.Context, p *parts, set *sources.NodeSet, seed uint64) error {
	t, err := links.Split{MaxEdges: 20000, MaxTest: 5000}.Hide(ctx, set.Graph, rand.New(rand.NewPCG(seed, 0)))
	if err != nil {
		return err
	}
	if p.digest, err = digestRows(ctx, []flow.Source{set}); err != nil {
		return err
	}
	var learned []uint64
	for _, f := range t.Folds {
		for _, pair := range f.Pairs {
			learned = append(learned, sinks.PairID(set.IDs, pair[0], pair[1]))
		}
	}
	p.known = sinks.KnownRows(learned)
	if d.leaves && p.digest != d.digest {
		var left links.Fold
		left.Graph = t.Test.Graph
		for i, pair := range t.Test.Pairs {
			if !d.has(sinks.PairID(set.IDs, pair[0], pair[1])) {
				left.Pairs, left.Link = append(left.Pairs, pair), append(left.Link, t.Test.Link[i])
			}
		}
		t.Test = left
	}
	p.classes, p.systems, p.rows = links.Classes(), choose.Links(set.Graph), set.Graph.M()
	p.train, p.valid, p.test = choose.LinkRows(t.Folds[1:]...), choose.LinkRows(t.Folds[0]), choose.LinkRows(t.Test)
	return nil
}

// graphParts deals graphs to parts. Of graphs to evaluate it returns those to test on alone.
func (d *data) graphParts(ctx context.Context, seed uint64) (*parts, error) {
	src, err := d.graphs(ctx)
	if err != nil {
		return nil, err
	}
	from := flow.From(src)
	if d.like != nil { // by the words of the model
		l := *d.like
		l.Classes, l.Targets = d.classes, d.goals
		from = from.Via(operators.Expect{Layout: l})
	}
	all, err := choose.Collect(ctx, from)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	p := &parts{systems: choose.Graphs(all.Layout, all.Nodes), classes: all.Layout.Classes, targets: all.Layout.Targets, rows: len(all.Class), split: slices.Contains(slices.Collect(maps.Values(d.split)), sources.Test)}
	var split []sources.Subset
	if d.split != nil {
		for _, id := range all.ID {
			split = append(split, d.split[id])
		}
	}
	train, valid, test, err := all.Deal(split, seed)
	if err != nil && !d.leaves {
		return nil, err
	}
	d.noteParts(split, len(valid), len(test))
	p.Graphs = len(all.Class)
	p.Repeated, p.Seen = all.Repeated(test, slices.Concat(train, valid))
	h, l := sha256.New(), all.Layout
	fmt.Fprint(h, l.Classes, l.Real, l.Directed, l.NodeCat, l.NodeAttr, l.NodeSparse, l.EdgeCat, l.EdgeAttr, all.Hash, train, valid, test)
	p.digest = hex.EncodeToString(h.Sum(nil))
	if p.targets != nil {
		p.digest = digestOf(p.digest, p.targets)
	}
	if d.leaves {
		train, valid, test = nil, nil, d.left(p, all.Hash, split, test)
	}
	var learned []uint64
	for _, row := range slices.Concat(train, valid) {
		learned = append(learned, all.Hash[row])
	}
	p.known = sinks.KnownRows(learned)
	var held []flow.Records
	p.release = func() {
		for _, recs := range held {
			choose.Release(recs)
		}
	}
	for i, rows := range [][]int32{train, valid, test} {
		recs, err := all.Rows(rows)
		if err != nil {
			p.release()
			return nil, err
		}
		held = append(held, recs)
		*[]*choose.Rows{&p.train, &p.valid, &p.test}[i] = choose.GraphRows(recs)
	}
	return p, nil
}

// left returns the graphs to evaluate: the test part if the model has learned from equal data; else the
// test part that the data name, or all graphs, without those from which the model has learned.
func (d *data) left(p *parts, ids []uint64, split []sources.Subset, dealt []int32) (test []int32) {
	if p.same = d.other == 0 && p.digest == d.digest; p.same {
		return dealt
	}
	tests := func(row int) bool { return !p.split || split[row] == sources.Test }
	for row, id := range ids {
		if !tests(row) { // the model may have learned from this graph, and not from its copies
			d.met[id]++
		}
	}
	for row, id := range ids {
		if tests(row) && !d.has(id) {
			test = append(test, int32(row))
		}
	}
	return test
}
