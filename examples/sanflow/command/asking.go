package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// asking is the flags of the commands that read a model.
type asking struct {
	*cli.Command
	data
	model, out string
	p          *sinks.Predictor
	several    *sinks.Predictor // the model of several targets, of which p is that of ofTarget; or nil
	graph      *graph.Graph     // whose nodes are the rows, or nil
	ids        graph.IDs        // of these
	score      validation.Measure
	positive   string
	ofTarget   string
	hub, most  int // of links, see candidatePairs
	copies
	curve     int               // of -curve
	learnRate float64           // of -curve
	wrong     int               // rows to evaluate with a class that the model does not have
	notes     map[string]string // metadata of the model
	trained   columns           // the columns of the training
	given     map[string]string // flags of the command line
}

func newAsking(of *cli.Command) *asking {
	c, f := &asking{Command: of}, of.FlagSet
	of.Inputs("model", "data", "edges", "nodes", "graphs", "rows")
	f.StringVar(&c.model, "model", "sanflow.model", "file of a model that train or sinks.Save has written; it has the flags that name columns, and those that are given take their place")
	c.data.flags(f, "that of the model where it is not given")
	for _, name := range []string{"source", "target", "id"} { // train has other defaults
		one := f.Lookup(name)
		one.DefValue = ""
		one.Usage += "; the default is that of the model"
	}
	return c
}

// load parses the flags and loads the model.
func (c *asking) load(args []string) (err error) {
	f := c.FlagSet
	if err := c.Read(args); err != nil {
		return err
	}
	if err := local("-model", c.model); err != nil {
		return err
	}
	if c.p, err = sinks.Load(c.model); err != nil {
		if strings.Contains(err.Error(), "not a safetensors file") {
			err = fmt.Errorf("%s: not a model file", c.model)
		}
		return err
	}
	c.notes = nn.MetadataOf(c.p.Net())
	c.given = map[string]string{}
	f.Visit(func(one *flag.Flag) { c.given[one.Name] = one.Value.String() })
	var d *data
	if d, c.trained, err = c.dataFor(c.p); err != nil {
		return err
	}
	c.data = *d
	if _, given := c.given["before"]; c.trained.Before != "" && c.edges != "" && !given {
		fmt.Fprintf(os.Stderr, "guessed: edges of all times are read, and the model has learned from those before %s: -before names a time\n", cli.Printable(c.trained.Before))
	}
	return c.check(f, c.notes["task"])
}

// ask loads the model, calls check, which checks the flags beside those of data, and does the work.
func (c *asking) ask(ctx context.Context, args []string, check func() error, work func(context.Context) (cli.Result, error)) error {
	if err := c.load(args); err != nil {
		return err
	}
	defer func() {
		c.p.Close()
		if c.several != nil {
			c.several.Close()
		}
	}()
	defer c.refused.Total()
	if c.explains {
		if err := c.takeTarget(); err != nil {
			return err
		}
	}
	if err := check(); err != nil {
		return err
	}
	if err := c.needsData(); err != nil {
		return err
	}
	return c.Run(ctx, work)
}

// targetFlag adds the flag -of-target, for commands that explain one answer.
func (c *asking) targetFlag() {
	c.explains = true
	c.FlagSet.StringVar(&c.ofTarget, "of-target", "", "of a model of several targets, the name of the one whose answers are explained; by default the first")
}

// takeTarget replaces the model of several targets, which it keeps, by that of one.
func (c *asking) takeTarget() error {
	at := 0
	for i, t := range c.goals {
		if t.Name == c.ofTarget {
			at = i
		}
	}
	switch {
	case c.ofTarget != "" && (c.goals == nil || c.goals[at].Name != c.ofTarget):
		return cli.Usage(fmt.Errorf("-of-target: the model has no target %q, and %d others, as inspect prints them", c.ofTarget, len(c.goals)))
	case c.goals == nil:
		return nil
	case c.ofTarget == "":
		fmt.Fprintf(os.Stderr, "guessed: the target %q, the first, is explained; -of-target names another\n", c.goals[0].Name)
	}
	one, err := c.p.Of(at)
	if err == nil {
		c.several, c.p, c.classes, c.ofTarget = c.p, one, one.Classes(), c.goals[at].Name
	}
	return err
}

// dataFor returns the data of the flags for a model, and the columns of the training. Columns without a flag are these.
func (c *asking) dataFor(p *sinks.Predictor) (d *data, trained columns, err error) {
	d = &data{explains: c.explains}
	f := flag.NewFlagSet("", flag.ContinueOnError)
	d.flags(f, "")
	if trained, err = columnsOf(p); err != nil {
		return nil, trained, fmt.Errorf("%s: %w", c.model, err)
	}
	if d.Offset = trained.Offset; c.attributed() || c.molecules() || c.inTable() {
		source, target, id := cmp.Or(trained.Source, d.Source), cmp.Or(trained.Target, d.Target), cmp.Or(trained.ID, d.ID)
		d.columns = trained
		d.Source, d.Target, d.ID = source, target, id
	}
	for name, value := range c.given {
		if f.Lookup(name) != nil {
			if err := f.Set(name, value); err != nil {
				return nil, trained, err
			}
		}
	}
	if d.rowTables != "" && (d.Windows != trained.Windows || d.Future != trained.Future) {
		return nil, trained, cli.Usage(fmt.Errorf("-windows and -future are settings of train: the model has -windows %q and -future=%t", trained.Windows, trained.Future))
	}
	if _, d.givenID = c.given["id"]; d.rowTables != "" && !d.HasID && !d.givenID { // the number of the row
		d.ID = ""
	}
	layout := p.Layout()
	if nn.MetadataOf(p.Net())["task"] == "rows" {
		layout = choose.RowLayout(layout)
	}
	d.like, d.p, d.classes, d.goals, d.knowledge = &layout, p, p.Classes(), p.Targets(), p.Known()
	if d.task == "" {
		d.task = nn.MetadataOf(p.Net())["task"]
	}
	return d, trained, nil
}

// streamed reports whether a name is the URL of a stream. Messages of a stream are read once.
func streamed(name string) bool {
	return strings.Contains(name, "://") && !sources.InBucket(name) && sources.FormatOf(name, sources.Options{}) != ""
}

// reread refuses a stream for a command that reads its data twice.
func (d *data) reread(command string) error {
	if !streamed(d.data) {
		return nil
	}
	return cli.Usage(fmt.Errorf("-data is a stream, whose messages are read once, and %s reads its data again: write them to files by sanflow export -data URL -graphs -as arrow -out DIR, and set -data DIR", command))
}

// nothingNew reports a stream without messages. This is no error.
func nothingNew(name string, err error) error {
	if !streamed(name) || !errors.Is(err, io.EOF) {
		return err
	}
	fmt.Fprintln(os.Stderr, "no rows: no message came before the stream was idle")
	return nil
}

// needsData returns an error if no data are named, unless the model has learned from generated data.
func (c *asking) needsData() error {
	if c.data.data+c.edges+c.rowTables == "" && c.notes["data"] != "generated" {
		return cli.Usage(errors.New("there are no data: set -edges, -rows or -data"))
	}
	return nil
}

// asked is the properties of a loaded model by which evaluate, predict, explain and serve read data.
type asked struct {
	like      *record.Layout // nil in training
	p         *sinks.Predictor
	classes   []string
	goals     []record.TargetChannel // of a model with several targets
	knowledge *sinks.Known
	unseen    int              // number of words that the model does not have
	word      string           // one of these words, with its column
	once      *sources.NodeSet // result of adapted
	givenID   bool             // -id is given
	foreign   []int32          // nodes with a class that the model does not have
}

// tested is the rows to evaluate from which the model has learned.
type tested struct {
	leaves bool           // the rows are left out
	digest string         // of the rows of the training, whose test part is evaluated
	met    map[uint64]int // number of rows left out, by id
	seen   int            // number of rows left out
	// Of -task rows: the rows to test on, with their history.
	past  *choose.History
	tests []int32
}

// adapt codes a graph of tables by the words of the model, and counts the words that the model does not
// have.
func (d *data) adapt(g **graph.Graph, from record.Layout) error {
	adapted, unseen, err := choose.Adapt(*g, from, *d.like)
	if err == nil {
		*g = adapted
		d.count(unseen, from)
	}
	return err
}

// count counts words of a layout that the model does not have.
func (d *data) count(unseen int, from record.Layout) {
	if d.unseen += unseen; d.unseen > 0 && d.word == "" {
		d.word = cmp.Or(unseenWord(from.NodeCat, d.like.NodeCat, record.Columns{}), unseenWord(from.EdgeCat, d.like.EdgeCat, d.Columns))
	}
}

// unseenWord returns the first word that a model does not have, with its column, or "".
func unseenWord(from, model []record.Channel, columns record.Columns) string {
	for _, c := range model {
		at := slices.IndexFunc(from, func(of record.Channel) bool { return of.Name == c.Name })
		if at < 0 {
			continue
		}
		for _, word := range from[at].Words {
			if !slices.Contains(c.Words, word) {
				return fmt.Sprintf("%.80q of the column %q", word, cmp.Or(columns.Role(c.Name), c.Name))
			}
		}
	}
	return ""
}

// unseenText is the line about words that the model does not have.
func (d *data) unseenText() string {
	text := fmt.Sprintf("%d values are words that the model does not have", d.unseen)
	if d.unseen == 1 {
		text = "1 value is a word that the model does not have"
	}
	if d.word != "" {
		text += ": " + d.word
	}
	return text
}

// adapted returns the set by the words and the classes of the model. The set is read once.
func (d *data) adapted(ctx context.Context) (*sources.NodeSet, error) {
	if d.once != nil {
		return d.once, nil
	}
	set, err := d.set(ctx)
	if err != nil || d.like == nil || d.task != "nodes" {
		d.once = set
		return set, err
	}
	if d.attributed() {
		if err := d.adapt(&set.Graph, set.Channels); err != nil {
			return nil, err
		}
		set.Channels.NodeCat, set.Channels.EdgeCat, set.Channels.NodeAttr, set.Channels.EdgeAttr = d.like.NodeCat, d.like.EdgeCat, d.like.NodeAttr, d.like.EdgeAttr
	}
	d.bare = set.Graph
	var unknown int
	if set.Graph, unknown, err = d.knowledge.Identify(set.Graph, set.IDs); err != nil {
		return nil, err
	}
	if unknown > 0 {
		fmt.Fprintf(os.Stderr, "unknown ids: %d of %d nodes, of which the model has no knowledge of their own\n", unknown, set.Graph.N())
	}
	if d.goals == nil {
		d.foreign = choose.AdaptClasses(set, d.classes)
	}
	d.once = set
	return set, nil
}

// has reports whether the model has learned from a row, and counts the row. Of equal rows it reports as
// many as the model has learned from.
func (d *data) has(id uint64) bool {
	if !d.leaves || d.met[id] >= d.knowledge.Learned(id) {
		return false
	}
	d.met[id]++
	d.seen++
	return true
}

// fresh returns the nodes without those of known target from which the model has learned.
func (d *data) fresh(set *sources.NodeSet, nodes []int32) []int32 {
	return slices.DeleteFunc(nodes, func(v int32) bool {
		return set.Learnable(v) && d.has(sinks.NodeID(set.IDs, v))
	})
}
