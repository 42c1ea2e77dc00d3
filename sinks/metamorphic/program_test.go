package metamorphic

import (
	_ "embed"
	"fmt"
	"go/format"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sources"
)

// shrink leaves out graphs and operators as long as the plan fails.
func shrink(p plan, fails func(plan) bool) plan {
	for again := true; again; {
		again = false
		for i := range p.items {
			q := p
			q.items = slices.Delete(slices.Clone(p.items), i, i+1)
			if fails(q) {
				p, again = q, true
				break
			}
		}
		for i, op := range p.ops {
			switch op.(type) {
			case operators.Select, operators.Chunk, operators.Assemble, operators.Normalize:
				continue // the others need them
			}
			q := p
			q.ops = slices.Delete(slices.Clone(p.ops), i, i+1)
			if fails(q) {
				p, again = q, true
				break
			}
		}
	}
	return p
}

//go:embed refuse_test.go
var refuseSource string

// program writes the plan, run in that way, as a Go program that prints the rows.
// Records in the middle become a file.
func (p plan) program(v variant) string {
	_, own, _ := strings.Cut(refuseSource, "// refuse refuses")
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	for _, path := range []string{"context", "errors", "fmt", "log", "", "github.com/apache/arrow/go/v15/arrow", "",
		"github.com/sanflow/sanflow/flow", "github.com/sanflow/sanflow/flow/flowtest", "github.com/sanflow/sanflow/flow/graph",
		"github.com/sanflow/sanflow/flow/record", "github.com/sanflow/sanflow/operators", "github.com/sanflow/sanflow/operators/field",
		"github.com/sanflow/sanflow/operators/labeling", "github.com/sanflow/sanflow/sinks", "github.com/sanflow/sanflow/sinks/ipc", "github.com/sanflow/sanflow/sources"} {
		if path != "" {
			fmt.Fprintf(&b, "%q", path)
		}
		b.WriteByte('\n')
	}
	b.WriteString("sinkparquet \"github.com/sanflow/sanflow/sinks/parquet\"\n\"github.com/sanflow/sanflow/sources/parquet\"\n")
	b.WriteString(")\n\nvar _ field.Direction\nvar _ labeling.Labeling\nvar _ *graph.Graph\nvar _ ipc.Sink\nvar _ sinkparquet.Sink\nvar _ parquet.Source\n\nfunc main() {\n")
	fmt.Fprintf(&b, "opts := flow.Options{Workers: %d, Buffer: %d, Refused: flow.Skip}\n", v.workers, v.buffer)
	b.WriteString("run := func(p flow.Pipeline) {\nif err := p.With(opts).Run(context.Background()); err != nil {\nlog.Fatal(err)\n}\n}\n")
	fmt.Fprintf(&b, "src := sources.Graphs{Rows: %d, Layout: %s, Items: []sources.Item{\n", v.rows, literal(p.layout))
	for _, it := range p.items {
		fmt.Fprintf(&b, "%s,\n", literal(it))
	}
	b.WriteString("}}\n")
	from, src := 0, "src"
	write := func(to int, sink string) {
		fmt.Fprintf(&b, "run(flow.From(%s).\n", src)
		for _, op := range p.ops[from:to] {
			fmt.Fprintf(&b, "Via(%s).\n", literal(op))
		}
		fmt.Fprintf(&b, "To(%s))\n", sink)
		from = to
	}
	for i, c := range v.cuts {
		if c.format == "records" {
			c.format = "ipc"
		}
		sink, next := ends(c.format, fmt.Sprint("cut", i), v.rows)
		write(c.after, literal(sink))
		src = literal(next)
	}
	b.WriteString("var out sinks.Collect\n")
	write(len(p.ops), "&out")
	b.WriteString("for _, row := range flowtest.Rows(out.Records()...) {\nfmt.Println(row)\n}\n}\n\n// refuse refuses" + own)
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		return fmt.Sprintf("%v in\n%s", err, b.String())
	}
	return string(text)
}

// literal writes a value as Go does in source code, without fields that are zero.
func literal(v any) string {
	if l, ok := v.(labeling.Labeling); ok {
		if _, exported := v.(labeling.WeisfeilerLehman); !exported {
			return fmt.Sprintf("func() labeling.Labeling { l, _ := labeling.Parse(%q); return l }()", l.String())
		}
	}
	if ids, ok := v.(graph.IDs); ok {
		if ids.Kind() == graph.Int64IDs {
			return "graph.IDsOf(" + literal(ids.Ints()) + ")"
		}
		ends, text := ids.Text()
		return fmt.Sprintf("graph.IDsOfText(%s, []byte(%q))", literal(ends), text)
	}
	x := reflect.ValueOf(v)
	name := strings.TrimPrefix(x.Type().String(), "metamorphic.")
	if name == "parquet.Sink" {
		name = "sinkparquet.Sink"
	}
	switch x.Kind() {
	case reflect.Pointer:
		return "&" + literal(x.Elem().Interface())
	case reflect.Slice:
		var parts []string
		for i := range x.Len() {
			parts = append(parts, literal(x.Index(i).Interface()))
		}
		return name + "{" + strings.Join(parts, ", ") + "}"
	case reflect.Struct:
		var parts []string
		for i := range x.NumField() {
			if f := x.Field(i); !f.IsZero() {
				if f.Kind() == reflect.Interface {
					f = f.Elem()
				}
				parts = append(parts, x.Type().Field(i).Name+": "+literal(f.Interface()))
			}
		}
		return name + "{" + strings.Join(parts, ", ") + "}"
	case reflect.String:
		return fmt.Sprintf("%q", v)
	case reflect.Int, reflect.Int32, reflect.Int64:
		return fmt.Sprint(x.Int()) // not what its String says
	case reflect.Uint64, reflect.Float32, reflect.Bool:
		return fmt.Sprint(v)
	}
	panic("no literal of " + name)
}

// What is printed for a seed that fails is a program that compiles.
func TestProgram(t *testing.T) {
	var p plan
	for seed := uint64(0); len(p.ops) < 7 || len(p.items) < 5; seed++ {
		p = draw(rand.New(rand.NewPCG(seed, 7)))
	}
	dir, err := os.MkdirTemp(".", "program") // inside the module
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	v := plainly()
	for i, format := range formats[:min(len(formats), len(p.ops))] {
		v.cuts = append(v.cuts, cut{i, format})
	}
	text := p.program(v)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "vet", "./"+dir).CombinedOutput(); err != nil {
		t.Errorf("%v: %s\n%s", err, out, text)
	}
}

// A plan that fails for one graph and one operator shrinks to these.
func TestShrink(t *testing.T) {
	p := draw(rand.New(rand.NewPCG(1, 7)))
	for len(p.items) < 4 {
		p.items = append(p.items, p.items...)
		p.items = append(p.items, sources.Item{Graph: p.items[0].Graph, Class: 1})
	}
	p.ops = []operator{operators.Batch{Size: 2}, refuse{Every: 2}, operators.Shuffle{}}
	bad := p.items[2].Graph
	q := shrink(p, func(p plan) bool {
		_, refuses := find[refuse](p.ops)
		return refuses && slices.ContainsFunc(p.items, func(it sources.Item) bool { return it.Graph == bad })
	})
	if len(q.items) != 1 || len(q.ops) != 1 {
		t.Errorf("%d graphs and %d operators are left, want 1 and 1", len(q.items), len(q.ops))
	}
}
