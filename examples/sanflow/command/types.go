package command

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/sources"
)

// declare declares the types of -types to the tables that have the columns.
func (d *data) declare(ctx context.Context, t *sources.Tables) error {
	types, found := map[string]sources.ColumnType{}, map[string]bool{}
	for _, one := range strings.FieldsFunc(d.Types, func(r rune) bool { return r == ',' }) {
		name, typ, _ := strings.Cut(one, "=")
		known := map[string]sources.ColumnType{"string": sources.String, "integer": sources.Integer, "float": sources.Float}[typ]
		if known == sources.Untyped || name == "" {
			return cli.Usage(fmt.Errorf("-types: %q, want COLUMN=string, COLUMN=integer or COLUMN=float", one))
		}
		types[name], found[name] = known, false
	}
	if len(types) == 0 {
		return nil
	}
	for _, table := range []struct {
		sources.Table
		types *map[string]sources.ColumnType
	}{{t.Edges.Table, &t.Edges.Types}, {t.Nodes.Table, &t.Nodes.Types}, {t.Graphs.Table, &t.Graphs.Types}} {
		if table.Table == nil {
			continue
		}
		names, err := among(ctx, table.Table, found)
		if err != nil {
			return cli.Cause(ctx, err)
		}
		all := maps.Clone(*table.types)
		if all == nil {
			all = map[string]sources.ColumnType{}
		}
		for _, name := range names {
			all[name] = types[name]
		}
		*table.types = all
	}
	for name, has := range found {
		if !has && d.like == nil {
			return cli.Usage(fmt.Errorf("-types: no table has a column %q", name))
		}
	}
	return nil
}
