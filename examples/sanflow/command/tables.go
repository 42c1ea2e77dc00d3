package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
)

// tables reads -edges and -nodes. For a loaded model it reads the attributes of the training alone, by
// their words.
func (d *data) tables(ctx context.Context) (*sources.TableSet, error) {
	edges, err := sources.OpenTable(ctx, d.edges, d.options())
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("-edges: %w", err))
	}
	spaces, err := sources.ParseIDSpaces(d.Spaces)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("-spaces is %w", err))
	}
	t := sources.Tables{
		Edges:    sources.EdgeTable{Table: edges, Source: d.Source, Target: d.Target, Graph: d.Graph, Type: d.Type, Weight: d.Weight, Time: d.Time, Before: d.before, Spaces: spaces},
		Directed: d.Directed, Workers: d.workers, Missing: d.declared(), KeepRows: d.keeps,
	}
	if d.like != nil && cmp.Or(d.Repeated, "none") != cmp.Or(d.like.Columns.Repeated, "none") {
		return nil, cli.Usage(fmt.Errorf("-repeated is %s, and the model has learned from %s", d.Repeated, cmp.Or(d.like.Columns.Repeated, "none")))
	}
	if t.Edges.Repeated, err = sources.ParseRepeated(d.Repeated); err != nil {
		return nil, cli.Usage(fmt.Errorf("-repeated: %w", err))
	}
	if d.spaced() {
		if err := d.spaces(ctx, &t); err != nil {
			return nil, err
		}
	} else if d.nodes != "" {
		nodes, err := sources.OpenTable(ctx, d.nodes, d.options())
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("-nodes: %w", err))
		}
		if d.Graph == "" || d.HasID {
			t.Nodes = sources.NodeTable{Table: nodes, ID: d.ID, Graph: d.Graph}
		} else {
			d.note(fmt.Sprintf("guessed: the rows of %s are graphs, of which the class or the value is read alone; -id COLUMN makes them nodes, with their columns as attributes", d.nodes))
		}
		if d.Graph == "" {
			t.Nodes.Part = d.Part
		}
		if d.Graph == "" && d.targets {
			t.Nodes.Targets, t.Nodes.Numbers = d.aims()
		}
		if d.like == nil && d.Graph != "" && d.Class+d.Value != "" && d.targetsOf == "" { // the rows are graphs
			if t.Nodes.Ignore, err = d.learned(); err != nil {
				return nil, err
			}
			if d.Part != "" {
				t.Nodes.Ignore = append(t.Nodes.Ignore, d.Part)
			}
		}
	}
	if of := cmp.Or(d.targetsOf, d.nodes); d.Graph != "" && d.targets && d.Class+d.Value != "" && of != "" {
		graphs, err := sources.OpenTable(ctx, of, d.options())
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("-graphs: %w", err))
		}
		t.Graphs = sources.GraphTable{Table: graphs, Graph: d.Graph, Part: d.Part}
		t.Graphs.Targets, t.Graphs.Numbers = d.aims()
	}
	if d.like != nil {
		own := slices.DeleteFunc(slices.Clone(d.like.EdgeAttr), func(c record.Channel) bool {
			_, is := d.like.OfRepeated(c.Name)
			return is
		})
		t.Edges.Attributes, t.Edges.Types = attributes(d.like.EdgeCat, own, d.Columns)
		t.Edges.Offsets, t.Graphs.Offsets = offsets(own, d.Columns), map[string]float64{}
		for _, g := range t.Graphs.Targets {
			t.Graphs.Offsets[g.Name] = g.Offset
		}
		read, rest := t.Edges.Attributes, slices.Concat(d.like.NodeCat, d.like.NodeAttr)
		for _, n := range nodesOf(&t) {
			cat, attr := ofSpace(d.like.NodeCat, n.Space), ofSpace(d.like.NodeAttr, n.Space)
			n.Attributes, n.Types = attributes(cat, attr, record.Columns{})
			n.Offsets = offsets(attr, record.Columns{})
			for _, g := range n.Targets {
				n.Offsets[g.Name] = g.Offset
			}
			read = append(read, n.Attributes...)
			rest = slices.DeleteFunc(rest, func(c record.Channel) bool { return len(ofSpace([]record.Channel{c}, n.Space)) > 0 })
		}
		if len(rest) > 0 {
			names, _ := attributes(nil, rest, record.Columns{})
			return nil, cli.Usage(fmt.Errorf("the model reads %s of nodes: set -nodes", strings.Join(names, ", ")))
		}
		for _, name := range read {
			if slices.Contains(fields(d.Ignore), name) {
				return nil, cli.Usage(fmt.Errorf("-ignore: the model reads the column %q", name))
			}
		}
	}
	all := []declared{{t.Edges.Table, &t.Edges.Ignore, &t.Edges.Types}, {t.Graphs.Table, new([]string), &t.Graphs.Types}}
	for _, n := range nodesOf(&t) {
		all = append(all, declared{n.Table, &n.Ignore, &n.Types})
	}
	found, err := d.declare(ctx, all)
	if err != nil {
		return nil, err
	}
	if target := d.Class + d.Value; d.targets && target != "" && t.Nodes.Table == nil && t.Graphs.Table == nil && d.task != "links" {
		return nil, cli.Usage(fmt.Errorf("of no row the target is known: set %s, the table with the column %q", map[bool]string{true: "-nodes or -graphs", false: "-nodes"}[d.Graph != ""], target))
	}
	if err := d.undeclared(found); err != nil {
		return nil, err
	}
	set, err := t.Read(ctx)
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	d.Repeated, set.Layout.Columns = set.Layout.Columns.Repeated, d.Columns
	if set.Layout.Columns.Repeated = d.Repeated; d.like != nil { // flags rename the columns of the model
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

// spaced reports whether -nodes names a table for each space, SPACE=FILE, and not a file.
func (d *data) spaced() bool {
	_, err := os.Stat(d.nodes)
	return err != nil && strings.Contains(d.nodes, "=")
}

// spaces sets the tables of nodes, one of each space. The targets are in the table with their column. The
// id is in the column -id, or in the column with the name of the space.
func (d *data) spaces(ctx context.Context, t *sources.Tables) error {
	if d.Graph != "" {
		return cli.Usage(errors.New("-nodes has a table of each space, and -graph is a column of many graphs"))
	}
	if d.Spaces == "" {
		t.Edges.Spaces = sources.TwoSpaces
	}
	names, err := d.learned()
	if err != nil {
		return err
	}
	err = d.namedTables(ctx, "nodes", d.nodes, func(space string, table sources.Table) error {
		if space == "" {
			return cli.Usage(fmt.Errorf("-nodes: %q, want SPACE=FILE, a table for each space of ids", d.nodes))
		}
		columns, err := columnNames(ctx, table)
		if err != nil {
			return err
		}
		has := func(column string) bool { return slices.Contains(columns, column) }
		n := sources.NodeTable{Table: table, Space: space, ID: d.ID}
		if !has(n.ID) && has(space) {
			n.ID = space
		}
		if target := d.Class + d.Value; d.targets && target != "" && has(names[0]) {
			n.Targets, n.Numbers = d.aims()
			n.Part = d.Part
		}
		if t.Nodes.Table == nil {
			t.Nodes = n
		} else {
			t.MoreNodes = append(t.MoreNodes, n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	known := func(n *sources.NodeTable) bool { return len(n.Targets) > 0 }
	if d.targets && names[0] != "" && !slices.ContainsFunc(nodesOf(t), known) {
		return cli.Usage(fmt.Errorf("-nodes: no table has the column %q", names[0]))
	}
	return nil
}

// nodesOf returns the tables of nodes.
func nodesOf(t *sources.Tables) (all []*sources.NodeTable) {
	if t.Nodes.Table != nil {
		all = append(all, &t.Nodes)
	}
	for i := range t.MoreNodes {
		all = append(all, &t.MoreNodes[i])
	}
	return all
}

// ofSpace returns the channels of the table of a space, with the names of their columns.
func ofSpace(channels []record.Channel, space string) (own []record.Channel) {
	for _, c := range channels {
		name, is := c.Name, true
		if space != "" {
			name, is = strings.CutPrefix(c.Name, space+": ")
		}
		if c.Name = name; is {
			own = append(own, c)
		}
	}
	return own
}

// columnNames returns the names of the columns of a table.
func columnNames(ctx context.Context, t sources.Table) (names []string, err error) {
	r, err := t.OpenTable(ctx)
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	defer r.Close()
	for _, c := range r.Columns() {
		names = append(names, c.Name)
	}
	return names, nil
}

// declared is a table, or nil, with its columns of -ignore and -types.
type declared struct {
	sources.Table
	ignore *[]string
	types  *map[string]sources.ColumnType
}

// declare sets the columns of -ignore and -types of tables, and returns all columns. For a loaded model no
// column is ignored: it reads its own columns alone.
func (d *data) declare(ctx context.Context, tables []declared) (found map[string]bool, err error) {
	types, err := d.types()
	if err != nil {
		return nil, err
	}
	found = map[string]bool{}
	for _, of := range tables {
		if of.Table == nil {
			continue
		}
		names, err := columnNames(ctx, of.Table)
		if err != nil {
			return nil, err
		}
		declared := map[string]sources.ColumnType{}
		maps.Copy(declared, *of.types)
		for _, name := range names {
			found[name] = true
			if slices.Contains(fields(d.Ignore), name) && d.like == nil {
				*of.ignore = append(*of.ignore, name)
			}
			if typ, ok := types[name]; ok {
				declared[name] = typ
			}
		}
		*of.types = declared
	}
	return found, nil
}

// undeclared returns an error for a column of -ignore or -types that no table has. For a loaded model it
// may be missing.
func (d *data) undeclared(found map[string]bool) error {
	types, err := d.types()
	if err != nil || d.like != nil {
		return err
	}
	for _, name := range fields(d.Ignore) {
		if !found[name] {
			return cli.Usage(fmt.Errorf("-ignore: no table has a column %q", name))
		}
	}
	for name := range types {
		if !found[name] {
			return cli.Usage(fmt.Errorf("-types: no table has a column %q", name))
		}
	}
	return nil
}

// types returns the types of -types.
func (d *data) types() (map[string]sources.ColumnType, error) {
	types := map[string]sources.ColumnType{}
	for _, one := range fields(d.Types) {
		name, typ, _ := strings.Cut(one, "=")
		known := map[string]sources.ColumnType{"string": sources.String, "integer": sources.Integer, "float": sources.Float}[typ]
		if known == sources.Untyped || name == "" {
			return nil, cli.Usage(fmt.Errorf("-types: %q, want COLUMN=string, COLUMN=integer or COLUMN=float", one))
		}
		types[name] = known
	}
	return types, nil
}

// attributes returns the columns of the channels of a model and their types, without those that a flag
// renames.
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

// offsets returns the offsets of the channels of a model, by their columns.
func offsets(attr []record.Channel, other record.Columns) map[string]float64 {
	of := map[string]float64{}
	for _, c := range attr {
		if c.Offset != 0 {
			of[cmp.Or(other.Role(c.Name), c.Name)] = c.Offset
		}
	}
	return of
}
