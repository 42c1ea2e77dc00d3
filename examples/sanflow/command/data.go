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

// data is the flags that name rows: a collection, or tables.
type data struct {
	task, data   string
	edges, nodes string
	targetsOf    string // the table of graphs, where it is not that of nodes
	rowTables    string
	before       string // the time from which edges are left out
	columns
	skip      bool // molecules that cannot be read
	separator byte // of tables; 0: as the first row tells
	workers   int
	portable  bool // ids of nodes are no attributes

	refused input.Refused
	split   map[int64]sources.Subset // what molecules and graphs of tables are for, by their numbers, as -part says
	names   []string                 // of the graphs of tables
	bare    *graph.Graph             // of the nodes, without ids as features
	told    []string                 // lines about the data
	unknown int                      // graphs without a class, which are left out
	other   int                      // graphs of a class that the model does not have, which are left out too; with a part to test on only those of it, of both
	targets bool                     // are read
	asked
	tested
	// explains: -graph is the number of a graph of -data, and -class the class to explain.
	explains bool
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

// name is what the data are called in reports and models.
func (d *data) name() string {
	if d.data+d.edges+d.rowTables == "" {
		return "generated"
	}
	return cli.DataName(d.data + d.edges + d.rowTables)
}

// in is an error about the data, which names them.
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
		o.Class, o.Value = d.single()
		o.Targets, o.Numbers = d.several()
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
	if o.Class != "" {
		o.Classes = d.classes
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
	return sources.Open(ctx, d.data, o)
}

// options are those by which -data is opened, without targets.
func (d *data) options() sources.Options {
	o := input.Options()
	o.Directed, o.Workers, o.Comma, o.SMILES, o.Ignore, o.Missing, o.Note = d.Directed, d.workers, d.separator, d.SMILES, d.ignored(), d.declared(), d.note
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
	return fields(d.Ignore)
}

// note reports a line about the data, once.
func (d *data) note(line string) {
	if !slices.Contains(d.told, line) {
		d.told = append(d.told, line)
		fmt.Fprintln(os.Stderr, line)
	}
}

// attributed reports whether nodes have attributes by name: those of tables and of node-link JSON.
func (d *data) attributed() bool { return d.edges+d.rowTables != "" || d.format() == "nodelink" }

// leave counts a graph that is left out because of its class.
func (d *data) leave(class string) {
	if class == "" {
		d.unknown++
	} else {
		d.other++
	}
}

// known leaves out graphs without any of several targets, or gives graphs of tables the classes of the model that is asked, and leaves out those
// without a class, or of one that the model does not have.
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
		o.Class, _ = d.single()
		set, err = sources.ReadNodes(ctx, d.data, o)
	}
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	if d.task == "links" && d.attributed() { // no system for links reads attributes
		set.Graph, set.Channels = set.Graph.Bare(), record.Layout{Columns: set.Channels.Columns}
	}
	// A node without attributes is known by its id.
	bare := *set.Graph
	d.bare = &bare
	if g := set.Graph; d.task == "nodes" && d.like == nil && !d.portable && g.SparseCard+g.NodeAttrs+g.NodeCats == 0 {
		err = set.Identify()
	}
	return set, err
}
