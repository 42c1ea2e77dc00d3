package flow

import (
	"context"
	"fmt"
	"path"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
)

// String lists the stages with their settings, a line each. It opens nothing.
//
//	tu         TU(MUTAG.zip)
//	select     W=18 By=betweenness
//	assemble   K=10
//	normalize  K=10 By=wl
//	train      Net=…
func (p Pipeline) String() string {
	names := namer{}
	var lines []planLine
	for _, v := range p.values() {
		lines = append(lines, planLine{name: names.name(v), settings: Settings(v)})
	}
	return layOut(lines)
}

// Plan is String with the columns that each stage adds or drops.
//
//	tu         TU(MUTAG.zip)             + graph_id pos offsets neighbors node_cat edge_cat target
//	select     W=18 By=betweenness       + roots
//	assemble   K=10                      + hood dist
//	normalize  K=10 By=wl                + members nodes_cat  - offsets neighbors node_cat edge_cat hood dist
//	train      Net=…
//
// Like an EXPLAIN it opens the stages to learn the columns, the source included,
// which may read files until ctx ends, and closes them without asking for a
// record. The sink is not opened, since that may write or overwrite something.
// If a stage does not open, its error is returned, with the plan up to there.
func (p Pipeline) Plan(ctx context.Context) (string, error) {
	r := newRun(ctx, p.opts)
	defer r.cancel(nil)
	o := p.open(r)
	o.close()
	names, n := namer{}, len(o.counts) // number of open stages
	if r.err() == nil {
		n++
	}
	var lines []planLine
	for i, v := range p.values()[:n] {
		line := planLine{name: names.name(v), settings: Settings(v)}
		switch {
		case i == 0 && o.source.schema != nil:
			line.columns = columns(arrow.NewSchema(nil, nil), o.source.schema)
		case i > 0 && i <= len(o.steps):
			line.columns = columns(o.steps[i-1].in, o.steps[i-1].out)
		}
		lines = append(lines, line)
	}
	return layOut(lines), r.err()
}

// Schema returns the columns of the records that reach the sink. It opens and closes all stages
// but the sink, as Plan does. For a source alone
//
//	schema, err := flow.From(src).Schema(ctx)
//	layout, err := record.LayoutOf(schema)
//
// describes its graphs.
func (p Pipeline) Schema(ctx context.Context) (*arrow.Schema, error) {
	r := newRun(ctx, p.opts)
	defer r.cancel(nil)
	o := p.open(r)
	o.close()
	if err := r.err(); err != nil {
		return nil, err
	}
	return o.schema, nil
}

// values returns the source, the operators and the sink.
func (p Pipeline) values() []any {
	values := []any{p.source}
	if p.source == nil {
		values[0] = nothing{}
	}
	for _, op := range p.steps {
		values = append(values, op)
	}
	return append(values, orDiscard(p.sink))
}

// nothing is the placeholder of a missing source.
type nothing struct{}

func (nothing) Name() string { return "no source" }

type planLine struct{ name, settings, columns string }

// layOut returns the lines of a plan as text, with names, settings and columns aligned.
func layOut(lines []planLine) string {
	name, set := 0, 0
	for _, l := range lines {
		name = max(name, utf8.RuneCountInString(l.name))
		set = max(set, utf8.RuneCountInString(l.settings))
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = strings.TrimRight(fmt.Sprintf("%-*s  %-*s  %s", name, l.name, set, l.settings, l.columns), " ")
	}
	return strings.Join(texts, "\n")
}

// columns returns the names of the columns that a stage adds, after +, and drops, after -.
func columns(in, out *arrow.Schema) string {
	list := func(sign string, of, not *arrow.Schema) string {
		var names []string
		for _, f := range of.Fields() {
			if !not.HasField(f.Name) {
				names = append(names, f.Name)
			}
		}
		if names == nil {
			return ""
		}
		return sign + " " + strings.Join(names, " ")
	}
	return strings.TrimSpace(list("+", out, in) + "  " + list("-", in, out))
}

// Name returns the name of a source, operator or sink in plans, errors and statistics: the
// result of its Name method, or else the lower-cased name of its type, such as "select". A type that is called
// Source or Sink, as tu.Source, has the name of its package.
func Name(v any) string {
	if n, ok := v.(interface{ Name() string }); ok {
		return n.Name()
	}
	t := reflect.TypeOf(v)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Name() == "" {
		return "stage"
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	if name == "Source" || name == "Sink" {
		name = path.Base(t.PkgPath())
	}
	return strings.ToLower(name)
}

// Settings lists the exported fields of a source, operator or sink that are not zero, as plans
// show them, or returns the result of its String method.
func Settings(v any) string {
	if s, ok := v.(fmt.Stringer); ok {
		return s.String()
	}
	x := reflect.ValueOf(v)
	for x.Kind() == reflect.Pointer && !x.IsNil() {
		x = x.Elem()
	}
	if x.Kind() != reflect.Struct {
		return ""
	}
	var parts []string
	for i := range x.NumField() {
		f := x.Type().Field(i)
		if !f.IsExported() || x.Field(i).IsZero() {
			continue
		}
		value := x.Field(i).Interface()
		_, prints := value.(fmt.Stringer)
		switch x.Field(i).Kind() {
		case reflect.String:
			parts = append(parts, fmt.Sprintf("%s=%v", f.Name, value))
			continue
		case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
			reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
			prints = true
		}
		if prints {
			parts = append(parts, fmt.Sprintf("%s=%v", f.Name, value))
		} else if x.Field(i).Kind() == reflect.Slice {
			parts = append(parts, fmt.Sprintf("%s=[%d]", f.Name, x.Field(i).Len()))
		} else {
			parts = append(parts, f.Name+"=…")
		}
	}
	return strings.Join(parts, " ")
}

// namer makes the names of stages unique: batch, batch 2, …
type namer map[string]int

func (n namer) name(v any) string {
	name := Name(v)
	if n[name]++; n[name] > 1 {
		return fmt.Sprintf("%s %d", name, n[name])
	}
	return name
}
