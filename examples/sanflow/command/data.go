package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// data is the flags that name rows: a collection, or tables.
type data struct {
	task, data   string
	edges, nodes string
	targetsOf    string // the table of graphs, where it is not that of nodes
	columns
	skip      bool // molecules that cannot be read
	separator byte // of tables; 0: as the first row tells
	workers   int

	refused input.Refused
	split   []sources.Subset // what molecules are for, by their numbers, as -part says

	like      *record.Layout   // of a model that is asked; nil where one is to learn
	classes   []string         // of the model
	targets   bool             // are read
	unseen    int              // words that the model does not have
	word      string           // one of them, and its column
	once      *sources.NodeSet // of adapted
	foreign   []int32          // nodes of a class that the model does not have
	knowledge *sinks.Known     // of the model
	leaves    bool             // out the rows that the model has learned from, where rows are evaluated
	digest    string           // of the rows of the model, none of which is left out
	bare      *graph.Graph     // of the nodes, without ids as features
	met       map[uint64]int   // rows that were left out, by id
	seen      int              // rows that were left out
	unknown   int              // graphs without a class, which are left out
	other     int              // graphs of a class that the model does not have, which are left out too; with a part to test on only those of it, of both
	// explains: -graph is the number of a graph of -data, and -class the class to explain.
	explains bool
	names    []string // of the graphs of tables
	told     []string // lines about the data
}

// columns is the flags that say what is in tables. A model keeps them: Columns in the layout of its
// recipe, the others in its metadata.
type columns struct {
	record.Columns                    `json:"-"`
	Class, Value, Ignore, Part, Types string
	SMILES                            string `json:",omitempty"`
	Spaces                            string `json:",omitempty"`
	Directed                          bool
	HasID                             bool    // -id was given
	Offset                            float64 `json:",omitempty"` // of the numbers of Value, as the model learns them
}

// columnsVersion is the version of the metadata "columns" of a model.
const columnsVersion = 2

// columnsNote is the metadata "columns" of a model.
type columnsNote struct {
	Version int
	columns
}

// keep writes the columns to a model.
func (d *data) keep(notes map[string]string, r operators.Recipe) error {
	c := d.columns
	if d.molecules() {
		c.Columns = record.Columns{ID: c.ID}
	}
	text, err := json.Marshal(columnsNote{columnsVersion, c})
	if err != nil {
		return err
	}
	notes["columns"] = string(text)
	for i, op := range r {
		if e, ok := op.(operators.Expect); ok {
			e.Layout.Columns = c.Columns
			r[i] = e
		}
	}
	return nil
}

// columnsOf returns the columns that a model keeps.
func columnsOf(p *sinks.Predictor) (c columns, err error) {
	if text := nn.MetadataOf(p.Net())["columns"]; text != "" {
		var note columnsNote
		if err := json.Unmarshal([]byte(text), &note); err != nil {
			return c, fmt.Errorf("columns: %w", err)
		}
		if note.Version != columnsVersion {
			return c, fmt.Errorf("the columns are of version %d, want %d: train the model again", note.Version, columnsVersion)
		}
		c = note.columns
	}
	c.Columns = p.Layout().Columns
	return c, nil
}

// read returns the columns without those of targets and splits: what a graph that is asked about is read by.
func (c columns) read() columns {
	c.Class, c.Value, c.Part, c.Ignore, c.Offset = "", "", "", "", 0
	return c
}

var tasks = []string{"graphs", "nodes", "links"}

func (d *data) flags(f *flag.FlagSet, task string) {
	f.StringVar(&d.task, "task", "", "what the model classifies or predicts: graphs, nodes or links; "+task)
	f.StringVar(&d.data, "data", "", "data by name or path, generated ones where neither this nor -edges is set: graphs of a TU collection, .g6, .dot, .arrow or .parquet files, or node-link JSON, .jsonl or .json, with -class KEY, or molecules, a table with -smiles, .sdf or .smi, with -class or -value; of nodes or links one graph of node-link JSON, a zip or directory with edges.txt, labels.txt and maybe features.txt and split.txt, or an edge list")
	f.StringVar(&d.SMILES, "smiles", "", "column with SMILES, of a table -data FILE.csv or .tsv, maybe packed: each row is a molecule")
	f.StringVar(&d.edges, "edges", "", "in place of -data, a table of edges: .csv, .tsv, .jsonl, .json or .parquet, maybe packed by gzip or zstd")
	f.StringVar(&d.Source, "source", "source", "column of -edges: the first node")
	f.StringVar(&d.Target, "target", "target", "column of -edges: the second node")
	f.StringVar(&d.Graph, "graph", "", "column of all tables: the graph, where there are many; of explain and atlas with -data the number of a graph, from 0")
	f.StringVar(&d.nodes, "nodes", "", "a table of nodes, whose columns are attributes; with -graph, -class and -value are those of graphs, and its rows are nodes only where -id or -graphs is given")
	f.StringVar(&d.targetsOf, "graphs", "", "with -graph, a table of graphs with the columns -graph and -class or -value, where -nodes does not have these")
	f.StringVar(&d.Type, "type", "", "column of -edges: the type of the edge")
	f.StringVar(&d.Weight, "weight", "", "column of -edges: the weight, an attribute of the edge")
	f.StringVar(&d.Time, "time", "", "column of -edges: time of the edge, an attribute of the edge")
	f.StringVar(&d.ID, "id", "id", "column of -nodes: the id of the node; of molecules a column of -data, where there is no column id the number of the row, or a data item of an SD file, by default the titles, where all molecules have one; -id '' gives numbers")
	f.StringVar(&d.Class, "class", "", "column of -nodes: the class of a node; empty means unknown; of molecules a column of -data, or a data item of an SD file; of explain and atlas the class to explain")
	f.StringVar(&d.Value, "value", "", "in place of -class, the number to learn")
	f.StringVar(&d.Ignore, "ignore", "", "comma-separated columns not to read as attributes; by default each column that no flag names is an attribute")
	f.StringVar(&d.Types, "types", "", "types of columns, COLUMN=string, integer or float, with commas; by default they are inferred from the first 16 384 rows")
	f.StringVar(&d.Part, "part", "", "column of -nodes, of molecules a column of -data or a data item: train, valid or test; none or nothing is in no part")
	f.StringVar(&d.Spaces, "spaces", "", "two: equal ids of -source and -target are different nodes, SOURCE:ID and TARGET:ID; one: they are one node; by default two where the header tells, as user_id,item_id or :START_ID(Person)")
	f.Func("separator", "what separates the values of tables .csv and .tsv: one character, or tab; by default the one of , ; tab | that the first row has most of", func(text string) error {
		if text = strings.NewReplacer("tab", "\t", `\t`, "\t").Replace(text); len(text) != 1 {
			return fmt.Errorf("%q, want one character, or tab", text)
		}
		d.separator = text[0]
		return nil
	})
	f.BoolVar(&d.skip, "skip", false, "leave out molecules that cannot be read, and report them on standard error; without it the first is an error")
	f.BoolVar(&d.Directed, "directed", false, "edges lead from source to target; without it they have no direction")
	cli.Workers(f, &d.workers)
}

// check checks what does not need the files. A task that was not given is that of a model
// if there is one.
func (d *data) check(f *flag.FlagSet, model string) error {
	if d.task == "" {
		if d.task = model; model == "" {
			d.task = "graphs"
			if d.edges != "" && d.Graph == "" {
				d.task = "nodes"
			}
		}
	}
	tables := []string{"source", "target", "graph", "type", "weight", "time", "nodes", "graphs", "id", "class", "value", "ignore", "part", "types", "spaces"}
	given := cli.Given(f)
	switch {
	case !slices.Contains(tasks, d.task):
		return cli.Usage(fmt.Errorf("-task is %q, want %s", d.task, strings.Join(tasks, ", ")))
	case model != "" && d.task != model:
		return cli.Usage(fmt.Errorf("-task is %s, the model is for %s", d.task, model))
	case d.data != "" && d.edges != "":
		return cli.Usage(errors.New("-data and -edges are both set, want one"))
	case d.Class != "" && d.Value != "" && !d.explains: // which takes -class for the class to explain
		return cli.Usage(errors.New("-class and -value are both set, want one"))
	case d.Value != "" && d.task == "links":
		return cli.Usage(errors.New("-value is a number to learn of graphs or nodes; links have two classes"))
	case slices.Contains(given, "smiles") && !d.inTable():
		return cli.Usage(errors.New("-smiles names a column of a table of molecules, -data FILE.csv or .tsv"))
	case d.task != "graphs" && d.molecules():
		return cli.Usage(fmt.Errorf("-task %s is about one graph, and molecules are many", d.task))
	case d.skip && !d.molecules():
		return cli.Usage(errors.New("-skip is for molecules: a table -data with -smiles, or an SD file"))
	case d.task == "graphs" && d.edges != "" && d.Graph == "":
		return cli.Usage(errors.New("-task graphs wants -graph, the column of the graph"))
	case d.task != "graphs" && d.Graph != "":
		return cli.Usage(fmt.Errorf("-task %s is about one graph, and -graph is a column of many", d.task))
	case d.targetsOf != "" && d.Graph == "":
		return cli.Usage(errors.New("-graphs wants -graph, the column of the graph"))
	case d.edges != "":
		d.HasID = d.HasID || slices.Contains(given, "id") || d.targetsOf != ""
		return d.roles()
	case d.molecules():
		d.HasID = d.HasID || slices.Contains(given, "id")
		tables = slices.DeleteFunc(tables, func(name string) bool { return slices.Contains([]string{"class", "value", "id", "part"}, name) })
	}
	for _, name := range tables {
		if slices.Contains(given, name) && (name != "class" && name != "ignore" || d.format() != "nodelink") && !(d.explains && (name == "class" || name == "graph")) {
			hint := ""
			if d.inTable() {
				hint = "; of molecules -smiles names the column"
			} else if name == "class" && d.data != "" {
				hint = "; -data has its own classes, or none, but for node-link JSON and molecules"
			}
			return cli.Usage(fmt.Errorf("-%s names a column of a table, and there is no -edges%s", name, hint))
		}
	}
	return nil
}

// molecules reports whether the data are molecules.
func (d *data) molecules() bool {
	return slices.Contains([]string{"sdf", "smiles"}, d.format())
}

// inTable reports whether -data is a table, in which molecules may be.
func (d *data) inTable() bool {
	return slices.Contains([]string{".csv", ".tsv"}, sources.Ending(d.data))
}

// format is the format of -data, "" of a name to look up.
func (d *data) format() string {
	if d.data == "" {
		return ""
	}
	return sources.FormatOf(d.data, sources.Options{SMILES: d.SMILES})
}

// roles reports a column that is named for two uses in a table.
func (d *data) roles() error {
	use := map[string]string{}
	for _, c := range [][3]string{
		{"edges", "source", d.Source}, {"edges", "target", d.Target}, {"edges", "graph", d.Graph}, {"edges", "type", d.Type}, {"edges", "weight", d.Weight}, {"edges", "time", d.Time},
		{"nodes", "id", d.ID}, {"nodes", "graph", d.Graph}, {"graphs", "graph", d.Graph}, {"nodes", "class", d.Class}, {"nodes", "value", d.Value}, {"nodes", "part", d.Part},
	} {
		table, flag, column := c[0], c[1], c[2]
		if d.targetsOf != "" && (flag == "class" || flag == "value") {
			table = "graphs"
		}
		if column == "" || flag == "id" && d.Graph != "" && !d.HasID {
			continue
		}
		if other := use[table+" "+column]; other != "" {
			return cli.Usage(fmt.Errorf("-%s and -%s both name the column %q of -%s", other, flag, column, table))
		}
		use[table+" "+column] = flag
	}
	return nil
}

// name is what the data are called in reports and models.
func (d *data) name() string {
	if d.data+d.edges == "" {
		return "generated"
	}
	return cli.DataName(d.data + d.edges)
}

// in is an error about the data, which names them.
func (d *data) in(err error) error {
	if file := (*sources.FileError)(nil); d.molecules() && !d.skip && errors.As(err, &file) && file.Line > 1 {
		err = fmt.Errorf("%w; -skip leaves out molecules that cannot be read", err)
	}
	if errors.Is(err, sources.ErrUnknown) {
		return cli.Usage(err)
	}
	for _, path := range []string{d.data, d.edges, d.nodes, d.targetsOf} {
		if path != "" && strings.Contains(err.Error(), path) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", d.name(), err)
}

// graphs returns the source of a collection.
func (d *data) graphs(ctx context.Context) (flow.Source, error) {
	d.unknown, d.other = 0, 0
	switch {
	case d.edges != "":
		set, err := d.tables(ctx)
		if err != nil {
			return nil, err
		}
		d.names = set.Names
		if d.targets && d.Class != "" {
			d.known(set)
		}
		if d.like != nil {
			for i := range set.Items {
				if err := d.adapt(&set.Items[i].Graph, set.Layout); err != nil {
					return nil, err
				}
			}
			set.Layout.NodeCat, set.Layout.EdgeCat, set.Layout.NodeAttr, set.Layout.EdgeAttr = d.like.NodeCat, d.like.EdgeCat, d.like.NodeAttr, d.like.EdgeAttr
		}
		return sources.Graphs{Items: set.Items, Layout: set.Layout}, nil
	case d.data == "":
		return sources.Families{}, nil
	}
	o := d.options()
	if d.targets || !d.molecules() {
		o.Class, o.Value = d.Class, d.Value
	}
	if d.like != nil {
		l := *d.like
		o.Layout = &l
	}
	if !d.targets {
		return sources.Open(ctx, d.data, o)
	}
	if d.like != nil {
		o.Layout.Classes = d.classes
	}
	if d.Class != "" {
		o.Classes = d.classes
	}
	if d.split = nil; d.Part != "" {
		src, err := sources.Open(ctx, d.data, o)
		if err != nil {
			return nil, err
		}
		if d.split, err = src.(interface {
			ReadParts(ctx context.Context, column string) ([]sources.Subset, error)
		}).ReadParts(ctx, d.Part); err != nil {
			return nil, cli.Cause(ctx, err)
		}
		o.Parts = d.split
	}
	tests := slices.Contains(d.split, sources.Test)
	if d.Class+d.Value != "" || !d.molecules() {
		o.Skip = func(row int64, class string) {
			if !tests || d.split[row] == sources.Test {
				d.leave(class)
			}
		}
	}
	return sources.Open(ctx, d.data, o)
}

// options are those by which -data is opened, without targets.
func (d *data) options() sources.Options {
	o := input.Options()
	o.Directed, o.Workers, o.Comma, o.SMILES, o.Ignore, o.Note = d.Directed, d.workers, d.separator, d.SMILES, d.ignored(), d.note
	if !d.targets && d.HasID {
		o.ID = d.ID
	}
	if d.skip {
		d.refused.To = os.Stderr
		o.Refused = d.refused.Add
	}
	return o
}

// ignored are the names of -ignore.
func (d *data) ignored() []string {
	return strings.FieldsFunc(d.Ignore, func(r rune) bool { return r == ',' })
}

// note reports a line about the data, once.
func (d *data) note(line string) {
	if !slices.Contains(d.told, line) {
		d.told = append(d.told, line)
		fmt.Fprintln(os.Stderr, line)
	}
}

// attributed reports whether nodes have attributes by name: those of tables and of node-link JSON.
func (d *data) attributed() bool { return d.edges != "" || d.format() == "nodelink" }

// leave counts a graph that is left out because of its class.
func (d *data) leave(class string) {
	if class == "" {
		d.unknown++
	} else {
		d.other++
	}
}

// known gives graphs of tables the classes of the model that is asked, and leaves out those
// without a class, or of one that the model does not have.
func (d *data) known(set *sources.TableSet) {
	names, items := set.Layout.Classes, set.Items[:0]
	if len(d.classes) > 0 {
		set.Layout.Classes = d.classes
	}
	for _, it := range set.Items {
		class := ""
		if it.Class >= 0 {
			class = names[it.Class]
		}
		if it.Class = sources.ClassIndex(set.Layout.Classes, class); class == "" || it.Class < 0 {
			d.leave(class)
			continue
		}
		items = append(items, it)
	}
	set.Items = items
}

// set reads the graph whose nodes or links are classified.
func (d *data) set(ctx context.Context) (set *sources.NodeSet, err error) {
	bar := cli.NewProgress("reading", -1)
	defer bar.Done()
	switch {
	case d.edges != "":
		var tables *sources.TableSet
		if tables, err = d.tables(ctx); err == nil {
			set, err = tables.NodeSet()
		}
	case d.data == "":
		set = new(sources.NodeSet)
		if set.Graph, set.Class, err = generate.Communities(1000, 5, 5, 2, 1); err == nil {
			set.Classes = []string{"one", "two", "three", "four", "five"}
		}
	default:
		o := d.options()
		o.Class = d.Class
		set, err = sources.ReadNodes(ctx, d.data, o)
	}
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	if d.task == "links" && d.attributed() { // no system for links reads attributes
		set.Graph, set.Channels = &graph.Graph{Offsets: set.Graph.Offsets, Neighbors: set.Graph.Neighbors, Directed: set.Graph.Directed}, record.Layout{Columns: set.Channels.Columns}
	}
	// A node without attributes is known by its id.
	bare := *set.Graph
	d.bare = &bare
	if g := set.Graph; d.task == "nodes" && d.like == nil && g.SparseCard+g.NodeAttrs+g.NodeCats == 0 {
		err = set.Identify()
	}
	return set, err
}

// tables reads -edges and -nodes. Of a model that is asked they have the attributes that
// it has learned from, in words of their own, and other columns are not read.
func (d *data) tables(ctx context.Context) (*sources.TableSet, error) {
	edges, err := sources.OpenTable(ctx, d.edges, d.options())
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("-edges: %w", err))
	}
	spaces, err := sources.ParseIDSpaces(d.Spaces)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("-spaces is %w", err))
	}
	ignore := map[string]bool{} // and whether a table has the column
	for _, name := range d.ignored() {
		ignore[name] = false
	}
	ignored, err := among(ctx, edges, ignore)
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	t := sources.Tables{
		Edges:    sources.EdgeTable{Table: edges, Source: d.Source, Target: d.Target, Graph: d.Graph, Type: d.Type, Weight: d.Weight, Time: d.Time, Ignore: ignored, Spaces: spaces},
		Directed: d.Directed, Workers: d.workers,
	}
	if d.nodes != "" {
		nodes, err := sources.OpenTable(ctx, d.nodes, d.options())
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("-nodes: %w", err))
		}
		if ignored, err = among(ctx, nodes, ignore); err != nil {
			return nil, cli.Cause(ctx, err)
		}
		if d.Graph == "" || d.HasID {
			t.Nodes = sources.NodeTable{Table: nodes, ID: d.ID, Graph: d.Graph, Part: d.Part, Ignore: ignored}
		}
		if d.Graph == "" && d.targets {
			t.Nodes.Class, t.Nodes.Value = d.Class, d.Value
		}
		if d.Graph != "" && d.Class+d.Value != "" && d.targetsOf == "" { // of graphs
			t.Nodes.Ignore = append(t.Nodes.Ignore, d.Class+d.Value)
		}
	}
	if of := cmp.Or(d.targetsOf, d.nodes); d.Graph != "" && d.targets && d.Class+d.Value != "" && of != "" {
		graphs, err := sources.OpenTable(ctx, of, d.options())
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("-graphs: %w", err))
		}
		t.Graphs = sources.GraphTable{Table: graphs, Graph: d.Graph, Class: d.Class, Value: d.Value}
	}
	if target := d.Class + d.Value; d.targets && target != "" && t.Nodes.Table == nil && t.Graphs.Table == nil && d.task != "links" {
		return nil, cli.Usage(fmt.Errorf("of no row the target is known: set %s, the table with the column %q", map[bool]string{true: "-nodes or -graphs", false: "-nodes"}[d.Graph != ""], target))
	}
	for name, has := range ignore {
		if !has && d.like == nil {
			return nil, cli.Usage(fmt.Errorf("-ignore: no table has a column %q", name))
		}
	}
	if d.like != nil {
		t.Edges.Attributes, t.Edges.Types = attributes(d.like.EdgeCat, d.like.EdgeAttr, d.Columns)
		t.Nodes.Attributes, t.Nodes.Types = attributes(d.like.NodeCat, d.like.NodeAttr, record.Columns{})
		t.Edges.Offsets, t.Nodes.Offsets, t.Graphs.Offsets = offsets(d.like.EdgeAttr, d.Columns), offsets(d.like.NodeAttr, record.Columns{}), map[string]float64{}
		if t.Nodes.Value != "" {
			t.Nodes.Offsets[d.Value] = d.Offset
		} else if t.Graphs.Value != "" {
			t.Graphs.Offsets[d.Value] = d.Offset
		}
		t.Edges.Ignore, t.Nodes.Ignore = nil, nil
		if len(t.Nodes.Attributes) > 0 && t.Nodes.Table == nil {
			return nil, cli.Usage(fmt.Errorf("the model reads %s of nodes: set -nodes", strings.Join(t.Nodes.Attributes, ", ")))
		}
		for _, name := range slices.Concat(t.Edges.Attributes, t.Nodes.Attributes) {
			if _, ok := ignore[name]; ok {
				return nil, cli.Usage(fmt.Errorf("-ignore: the model reads the column %q", name))
			}
		}
	}
	if err := d.declare(ctx, &t); err != nil {
		return nil, err
	}
	set, err := t.Read(ctx)
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	set.Layout.Columns = d.Columns
	if d.like != nil { // flags that are given rename its columns
		set.Layout.Columns = d.like.Columns
	} else {
		d.Offset = set.Offset
		for _, c := range set.Columns {
			fmt.Fprintln(os.Stderr, cli.Escape(c))
		}
	}
	for _, note := range set.Notes {
		d.note(note)
	}
	return set, nil
}

// adapt gives a graph of tables the words of the model that is asked, and counts those
// that this does not have.
func (d *data) adapt(g **graph.Graph, from record.Layout) error {
	adapted, unseen, err := choose.Adapt(*g, from, *d.like)
	if err == nil {
		*g = adapted
		if d.unseen += unseen; d.unseen > 0 && d.word == "" {
			d.word = cmp.Or(unseenWord(from.NodeCat, d.like.NodeCat, record.Columns{}), unseenWord(from.EdgeCat, d.like.EdgeCat, d.Columns))
		}
	}
	return err
}

// unseenWord returns the first word of a table that a model does not have, with its column, or "".
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

// unseenText says how many words the model does not have.
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

// adapted is set with the words and the classes of the model that is asked. It is read once.
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
	d.foreign = classesOf(set, d.classes)
	d.once = set
	return set, nil
}

// has reports whether the model has learned from a row, and counts it. Of equal rows as many are as the
// model has learned from.
func (d *data) has(id uint64) bool {
	if !d.leaves || d.met[id] >= d.knowledge.Learned(id) {
		return false
	}
	d.met[id]++
	d.seen++
	return true
}

// fresh returns the nodes but for those whose target is known and from which the model has learned.
func (d *data) fresh(set *sources.NodeSet, nodes []int32) []int32 {
	return slices.DeleteFunc(nodes, func(v int32) bool {
		unknown := set.Value == nil && set.Class != nil && set.Class[v] < 0 || set.Value != nil && set.Value[v] != set.Value[v]
		return !unknown && d.has(sinks.NodeID(set.IDs, v))
	})
}

// among returns the columns of a table that are among some, and marks these.
func among(ctx context.Context, t sources.Table, some map[string]bool) (names []string, err error) {
	r, err := t.OpenTable(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for _, c := range r.Columns() {
		if _, ok := some[c.Name]; ok {
			names, some[c.Name] = append(names, c.Name), true
		}
	}
	return names, nil
}

// attributes are the columns of the channels of a model, and their types, except those
// that have a column of another name.
func attributes(cat, attr []record.Channel, other record.Columns) (names []string, types map[string]sources.ColumnType) {
	names, types = []string{}, map[string]sources.ColumnType{}
	for i, c := range slices.Concat(cat, attr) {
		if other.Role(c.Name) != "" {
			continue
		}
		if names, types[c.Name] = append(names, c.Name), sources.Float; i < len(cat) {
			types[c.Name] = sources.String
		}
	}
	return names, types
}

// offsets are those of the channels of a model, by their columns.
func offsets(attr []record.Channel, other record.Columns) map[string]float64 {
	of := map[string]float64{}
	for _, c := range attr {
		if c.Offset != 0 {
			of[cmp.Or(other.Role(c.Name), c.Name)] = c.Offset
		}
	}
	return of
}
