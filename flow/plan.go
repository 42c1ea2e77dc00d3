package flow

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
)

// String is the plan: a line per stage with its settings and the columns it
// adds or drops.
//
//	tu         Path=MUTAG.zip            + graph_id pos offsets neighbors node_cat target
//	select     W=18 By=betweenness       + roots
//	assemble   K=10                      + hood dist
//	normalize  K=10 By=wl                + members nodes_cat  - offsets neighbors node_cat hood dist
//
// Like an EXPLAIN it opens the stages, the source included, to learn the
// columns, and closes them without reading a graph. The sink is not opened,
// since that may write or overwrite something. What does not open has its error
// instead of columns.
func (p Pipeline) String() string {
	r := newRun(context.Background(), p.opts)
	defer r.cancel(nil)
	o, err := p.open(r)
	if err == nil {
		o.close()
		o.count(orDiscard(p.sink))
	}
	type line struct{ name, settings, columns string }
	var lines []line
	add := func(v any, in, out *arrow.Schema, known bool) {
		l := line{name: o.counts[len(lines)].stage, settings: settings(v)}
		if known {
			l.columns = columns(in, out)
		}
		lines = append(lines, l)
	}
	if o == nil {
		return err.Error()
	}
	none := arrow.NewSchema(nil, nil)
	values := []any{p.source}
	for _, s := range p.steps {
		if s.foreign != nil {
			values = append(values, *s.foreign)
		} else {
			values = append(values, s.op)
		}
	}
	values = append(values, orDiscard(p.sink))
	for i, v := range values[:len(o.counts)] {
		switch {
		case i == 0 && o.spout.schema != nil:
			add(v, none, o.spout.schema, true)
		case i > 0 && i <= len(o.steps):
			add(v, o.steps[i-1].in, o.steps[i-1].out, true)
		default:
			add(v, nil, nil, false)
		}
	}
	nameWidth, setWidth := 0, 0
	for _, l := range lines {
		nameWidth = max(nameWidth, utf8.RuneCountInString(l.name))
		setWidth = max(setWidth, utf8.RuneCountInString(l.settings))
	}
	var b strings.Builder
	for _, l := range lines {
		text := fmt.Sprintf("%-*s  %-*s  %s", nameWidth, l.name, setWidth, l.settings, l.columns)
		fmt.Fprintln(&b, strings.TrimRight(text, " "))
	}
	if err != nil {
		fmt.Fprintln(&b, err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// columns says what changes from one schema to the next.
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

// Name returns the name by which plans, errors and statistics call a source,
// operator or sink: what its Name method says, or else the lower-cased name of
// its type, so Select is "select".
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
	return strings.ToLower(name)
}

// settings lists the exported fields of a struct that are not zero, as plans
// show them.
func settings(v any) string {
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

// namer gives each stage of a pipeline a name of its own: batch, batch 2, …
type namer map[string]int

func (n namer) name(v any) string {
	name := Name(v)
	if n[name]++; n[name] > 1 {
		return fmt.Sprintf("%s %d", name, n[name])
	}
	return name
}
