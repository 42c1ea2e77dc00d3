package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
	"github.com/sanflow/sanflow/sources/molecules"
)

// data is the flags that name data: a collection, tables, or rows.
type data struct {
	task, data   string
	edges, nodes string
	targetsOf    string // the table of graphs, if it is not that of nodes
	rowTables    string
	before       string // edges of this time and later are left out
	columns
	skip      bool // leave out molecules that cannot be read
	separator byte // of tables; 0: guessed by the first row
	workers   int
	portable  bool // ids of nodes are not attributes

	refused input.Refused
	split   map[int64]sources.Subset // the parts of -part, by the numbers of molecules and of graphs of tables
	names   []string                 // of the graphs of tables
	keeps   bool                     // rows of tables are kept, for a graph that changes
	bare    *graph.Graph             // the graph without ids as attributes
	told    []string                 // lines of note
	unknown int                      // number of graphs without a class
	other   int                      // number of graphs with a class that the model does not have; of data with a test part both numbers count that part alone
	targets bool                     // targets are read
	asked
	tested
	// explains is set where -graph is the number of a graph of -data, and -class the class to explain.
	explains bool
}

// molecules reports whether the data are molecules.
func (d *data) molecules() bool {
	return slices.Contains([]string{"sdf", "smiles"}, d.format())
}

// inTable reports whether -data is a table, which may hold molecules.
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

// name is the name of the data in reports and models.
func (d *data) name() string {
	if d.data+d.edges+d.rowTables == "" {
		return "generated"
	}
	return cli.DataName(d.data + d.edges + d.rowTables)
}

// in returns an error with the name of the data.
func (d *data) in(err error) error {
	if file := (*sources.FileError)(nil); d.molecules() && !d.skip && errors.As(err, &file) && file.Line > 1 {
		err = fmt.Errorf("%w; -skip leaves out molecules that cannot be read", err)
	}
	if errors.Is(err, sources.ErrUnknown) {
		return cli.Usage(err)
	}
	paths := []string{d.data, d.edges, d.nodes, d.targetsOf}
	for _, one := range append(fields(d.nodes), fields(d.rowTables)...) {
		_, path, _ := strings.Cut(one, "=")
		paths = append(paths, cmp.Or(path, one))
	}
	for _, path := range paths {
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
		d.names, d.split = set.Names, nil
		if set.Parts != nil {
			d.split = map[int64]sources.Subset{}
			for i, p := range set.Parts {
				d.split[set.Items[i].ID] = p
			}
		}
		if d.targets && d.Class+d.Value != "" {
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
		o.Class, _ = d.single()
		o.Targets, o.Numbers = d.aims()
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
	if len(o.Targets) == 1 && !o.Numbers {
		o.Targets[0].Classes = d.classes
	}
	if d.split = nil; d.Part != "" {
		src, err := sources.Open(ctx, d.data, o)
		if err != nil {
			return nil, err
		}
		if o.Parts, err = molecules.ReadParts(ctx, src.(molecules.Source).Table, d.Part, d.declared()...); err != nil {
			return nil, cli.Cause(ctx, err)
		}
		d.split = map[int64]sources.Subset{}
		for row, p := range o.Parts {
			d.split[int64(row)] = p
		}
	}
	tests := slices.Contains(o.Parts, sources.Test)
	if d.Class+d.Value != "" || !d.molecules() {
		o.Skip = func(row int64, class string) {
			if !tests || !d.leaves || o.Parts[row] == sources.Test {
				d.leave(class)
			}
		}
	}
	src, err := sources.Open(ctx, d.data, o)
	if err != nil || d.like != nil {
		return src, err
	}
	names, err := d.unnamed(ctx, src)
	if len(names) > 0 {
		d.note(fmt.Sprintf("ignored columns %q of %s: a model of molecules reads their structure alone; -class or -value names what is learned, -id the ids", names, d.name()))
	}
	return src, err
}

// unnamed returns the columns of a table of molecules that no flag names.
func (d *data) unnamed(ctx context.Context, src flow.Source) ([]string, error) {
	of, ok := src.(molecules.Source)
	if !ok || !d.inTable() {
		return nil, nil
	}
	names, err := columnNames(ctx, of.Table)
	if err != nil {
		return nil, err
	}
	used, err := d.learned()
	used = append(used, d.SMILES, d.Part, d.ID)
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(used, name) }), err
}

// options are the options of sources.Open without targets.
func (d *data) options() sources.Options {
	o := input.Options()
	o.Directed, o.Workers, o.Comma, o.SMILES, o.Ignore, o.Missing, o.Note = d.Directed, d.workers, d.separator, d.SMILES, fields(d.Ignore), d.declared(), d.note
	if !d.targets && d.HasID {
		o.ID = d.ID
	}
	if d.skip {
		d.refused.To = os.Stderr
		o.Refused = d.refused.Add
	}
	return o
}

// note prints a line about the data once.
func (d *data) note(line string) {
	if !slices.Contains(d.told, line) {
		d.told = append(d.told, line)
		fmt.Fprintln(os.Stderr, line)
	}
}

// attributed reports whether attributes have names: those of tables and of node-link JSON.
func (d *data) attributed() bool { return d.edges+d.rowTables != "" || d.format() == "nodelink" }

// leave counts a graph that is left out because of its class.
func (d *data) leave(class string) {
	if class == "" {
		d.unknown++
	} else {
		d.other++
	}
}

// known leaves out graphs of tables without a target. It codes classes by those of the loaded model, and
// leaves out graphs with other classes.
func (d *data) known(set *sources.TableSet) {
	if set.Layout.Real {
		return
	}
	names, items := set.Layout.Classes, set.Items[:0]
	if len(d.classes) > 0 {
		set.Layout.Classes = d.classes
	}
	for _, it := range set.Items {
		class := ""
		if len(set.Layout.Targets) > 0 {
			if slices.ContainsFunc(it.Targets, func(x float32) bool { return x == x }) {
				items = append(items, it)
			} else {
				d.leave("")
			}
			continue
		}
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
		o.Class, _ = d.single()
		set, err = sources.ReadNodes(ctx, d.data, o)
	}
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	if d.task == "links" && d.attributed() { // systems for links read no attributes
		set.Graph, set.Channels = set.Graph.Bare(), record.Layout{Columns: set.Channels.Columns}
	}
	// A node without attributes has its id as an attribute.
	bare := *set.Graph
	d.bare = &bare
	if g := set.Graph; d.task == "nodes" && d.like == nil && !d.portable && g.SparseCard+g.NodeAttrs+g.NodeCats == 0 {
		err = set.Identify()
	}
	return set, err
}
