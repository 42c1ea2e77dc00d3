package metamorphic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/graph"
	parted "github.com/sanflow/sanflow/flow/part"
	"github.com/sanflow/sanflow/internal/propagation"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/ipc"
	parquetsink "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sinks/prequential"
	"github.com/sanflow/sanflow/sinks/scores"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/dot"
	"github.com/sanflow/sanflow/sources/events"
	"github.com/sanflow/sanflow/sources/generate"
	"github.com/sanflow/sanflow/sources/graph6"
	"github.com/sanflow/sanflow/sources/molecules"
	"github.com/sanflow/sanflow/sources/nodelink"
	"github.com/sanflow/sanflow/sources/parquet"
	"github.com/sanflow/sanflow/sources/tu"
)

// use is a struct of settings and what is done with it.
type use struct {
	settings any // a struct
	run      func(ctx context.Context, settings any) error
}

// by makes a use of settings of type T.
func by[T any](settings T, run func(ctx context.Context, settings T) error) use {
	return use{settings, func(ctx context.Context, s any) error { return run(ctx, s.(T)) }}
}

// uses are the structs that have a number a user sets, except those that need a broker
// or the net.
func uses(t *testing.T) []use {
	families := flow.From(sources.Families{Graphs: 12})
	fields := families.Via(operators.Select{W: 2}).Via(operators.Assemble{K: 3}).Via(operators.Normalize{})
	words := families.Via(operators.Count{Of: count.Standard()})
	g, err := generate.PreferentialAttachment(300, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			fmt.Fprintln(&lines, u, v)
		}
	}
	edges := lines.String()
	const nodeLink = `{"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b"}]}` + "\n"
	node := fstest.MapFS{
		"edges.txt":  {Data: []byte(edges)},
		"labels.txt": {Data: bytes.Repeat([]byte("a\nb\n"), g.N()/2)},
	}
	collection := fstest.MapFS{
		"T_A.txt":                {Data: []byte("1, 2\n2, 1\n3, 4\n4, 3\n")},
		"T_graph_indicator.txt":  {Data: []byte("1\n1\n2\n2\n")},
		"T_graph_labels.txt":     {Data: []byte("1\n2\n")},
		"T_graph_attributes.txt": {Data: []byte("1\n2\n")},
	}
	arrows, tables := filepath.Join(t.TempDir(), "graphs.arrow"), filepath.Join(t.TempDir(), "graphs.parquet")
	for _, to := range []flow.Sink{ipc.Sink{Path: arrows}, parquetsink.Sink{Path: tables}} {
		if err := families.To(to).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	divided := &parted.Job{
		Plan: parted.Plan{Recipe: "fields", Input: "families", Parts: parted.Cut(12, 3)}, Out: file.Dir{Path: t.TempDir()},
		Pipeline: func(in parted.Input) flow.Pipeline {
			return flow.From(parted.Rows{Source: sources.Families{Graphs: 12}, Input: in})
		},
		Sink: func(w io.Writer) flow.Sink { return parquetsink.Sink{W: w} },
	}
	if err := divided.Run(t.Context(), parted.Shard{}, nil); err != nil {
		t.Fatal(err)
	}
	counts := &nn.Counts{}
	var class, rows []int32
	for i := range uint64(20) {
		counts.Append([]uint64{i % 7, 10 + i%2, 30 + i}, []float64{1, 2, 3})
		class, rows = append(class, int32(i%2)), append(rows, int32(i))
	}
	gram, err := graphkernel.GramOf(t.Context(), counts, nn.Linear, 1)
	if err != nil {
		t.Fatal(err)
	}
	set, err := sources.Nodes{FS: node}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	train := []int32{0, 1}
	source := func(ctx context.Context, s flow.Source) error { return flow.From(s).Run(ctx) }
	from := func(p flow.Pipeline) func(context.Context, flow.Operator) error {
		return func(ctx context.Context, op flow.Operator) error { return p.Via(op).Run(ctx) }
	}
	of := func(p flow.Pipeline, op flow.Operator) use {
		return use{op, func(ctx context.Context, s any) error { return from(p)(ctx, s.(flow.Operator)) }}
	}
	src := func(s flow.Source) use {
		return use{s, func(ctx context.Context, s any) error { return source(ctx, s.(flow.Source)) }}
	}
	counter := func(c count.Counter) use {
		return use{c, func(ctx context.Context, s any) error {
			return families.Via(operators.Count{Of: []count.Counter{s.(count.Counter)}}).Run(ctx)
		}}
	}
	label := func(l labeling.Labeling) use {
		return use{l, func(ctx context.Context, s any) error {
			return s.(labeling.Labeling).Label(labeling.Input{Graph: g, Context: ctx}, make([]float64, g.N()))
		}}
	}
	sink := func(s flow.Sink) use {
		return use{s, func(ctx context.Context, s any) error {
			path := reflect.New(reflect.TypeOf(s)).Elem()
			path.Set(reflect.ValueOf(s))
			path.FieldByName("Path").SetString(filepath.Join(t.TempDir(), "out"))
			return families.To(path.Interface().(flow.Sink)).Run(ctx)
		}}
	}
	learn := func(p flow.Pipeline, m nn.Model) use {
		return use{reflect.ValueOf(m).Elem().Interface(), func(ctx context.Context, s any) error {
			m := reflect.New(reflect.TypeOf(s))
			m.Elem().Set(reflect.ValueOf(s))
			_, err := sinks.Fit{Net: m.Interface().(nn.Model), Epochs: 2}.Run(ctx, p)
			return err
		}}
	}
	optimizer := func(o nn.Optimizer) use {
		return use{o, func(ctx context.Context, s any) error {
			_, err := sinks.Fit{Net: &nn.PSLR{Optimizer: s.(nn.Optimizer)}, Epochs: 2}.Run(ctx, fields)
			return err
		}}
	}
	pretrain := func(c nn.Encoder) use {
		return use{reflect.ValueOf(c).Elem().Interface(), func(ctx context.Context, s any) error {
			c := reflect.New(reflect.TypeOf(s))
			c.Elem().Set(reflect.ValueOf(s))
			return families.Via(operators.Select{}).Via(operators.Chunk{Size: 1}).Via(operators.Assemble{K: 3}).
				Via(operators.Normalize{Edges: true}).To(sinks.Pretrain{Net: c.Interface().(nn.Encoder)}).Run(ctx)
		}}
	}
	return []use{
		by(flow.Options{}, func(ctx context.Context, o flow.Options) error { return fields.With(o).Run(ctx) }),

		of(families, operators.Select{W: 2}),
		of(families, operators.Replay{Epochs: 2}),
		of(families, operators.Shuffle{Size: 3}),
		of(families, operators.MaskWords{}),
		of(families.Via(operators.Select{}), operators.Chunk{Size: 3}),
		of(families, operators.Describe{}),
		of(families.Via(operators.Select{}), operators.Assemble{K: 3}),
		of(families.Via(operators.Select{W: 2}).Via(operators.Assemble{K: 3}), operators.Normalize{}),
		of(fields, operators.Batch{Size: 3}),
		of(flow.From(sources.Nodes{FS: node}), operators.Propagate{}),
		by(propagation.Walk{}, func(ctx context.Context, w propagation.Walk) error {
			return w.Rows(ctx, g, make([]float32, g.N()), 1)
		}),
		by(field.Normalizer{K: 3, By: labeling.WL}, func(ctx context.Context, n field.Normalizer) error {
			if n.K < 1 || n.K > field.MaxK { // members has that length
				return nil
			}
			n.Context = ctx
			var walk field.Assembler
			ix := field.NewIndex(g, field.Both)
			hood, dist := walk.Assemble(ix, 0, n.K)
			return n.Normalize(ix, hood, dist, nil, make([]int32, n.K))
		}),
		counter(count.Paths{}), counter(count.WL{}),
		by(count.Around{}, func(ctx context.Context, c count.Around) error {
			return flow.From(set.Rooted(train)).Via(operators.Count{Of: []count.Counter{c}}).Run(ctx)
		}),
		label(labeling.Betweenness), label(labeling.PageRankCentrality{}), label(labeling.WeisfeilerLehman{}),
		label(labeling.SampledBetweenness{Sources: 10}),
		label(labeling.Attribute{}),

		src(sources.Families{Graphs: 12}),
		src(sources.Graphs{Items: []sources.Item{{Graph: g}}}),
		src(sources.Seq{Iter: func(yield func(sources.Item, error) bool) { yield(sources.Item{Graph: g}, nil) }}),

		by(parted.Source{}, func(ctx context.Context, s parted.Source) error {
			s.Plan, s.From = divided.Plan, divided.Out
			s.Read = func(o file.Object) flow.Source { return parquet.Source{ReaderAt: o, Size: o.Size()} }
			return source(ctx, s)
		}),
		by(sources.EdgeList{}, func(ctx context.Context, s sources.EdgeList) error {
			s.Reader = strings.NewReader(edges)
			return source(ctx, s)
		}),
		by(graph6.Source{}, func(ctx context.Context, s graph6.Source) error {
			s.Reader = strings.NewReader("A_\nBw\n")
			return source(ctx, s)
		}),
		by(dot.Source{}, func(ctx context.Context, s dot.Source) error {
			s.Reader = strings.NewReader("graph { a -- b }")
			return source(ctx, s)
		}),
		by(nodelink.Source{}, func(ctx context.Context, s nodelink.Source) error {
			s.FS, s.Path = fstest.MapFS{"a.jsonl": {Data: []byte(nodeLink)}}, "a.jsonl"
			return source(ctx, s)
		}),
		by(sources.Tables{}, func(ctx context.Context, s sources.Tables) error {
			s.Edges.Table = sources.CSV{Path: "edges.csv", Reader: strings.NewReader("source,target,kind\na,b,x\nb,c,y\n")}
			return source(ctx, s)
		}),
		by(molecules.Source{}, func(ctx context.Context, s molecules.Source) error {
			s.Table = sources.CSV{Path: "molecules.csv", Reader: strings.NewReader("smiles\nCCO\nc1ccccc1\n")}
			return source(ctx, s)
		}),
		by(molecules.Source{}, func(ctx context.Context, s molecules.Source) error {
			s.Table = molecules.SDF{Path: "a.sdf", Reader: strings.NewReader("a\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 C   0  0\nM  END\n$$$$\n")}
			return source(ctx, s)
		}),
		by(events.Source{Order: events.Sort}, func(ctx context.Context, s events.Source) error {
			s.Table = sources.CSV{Path: "edges.csv", Reader: strings.NewReader("source,target,time\na,b,2\nb,c,1\n")}
			stream, err := s.Open(ctx)
			if err != nil {
				return err
			}
			for _, err := range stream.All() {
				if err != nil {
					return errors.Join(err, stream.Close())
				}
			}
			return stream.Close()
		}),
		src(sources.Nodes{FS: node}),
		src(tu.Source{FS: collection}),
		src(sources.IPC{Path: arrows}),
		src(parquet.Source{Path: tables}),
		by(sources.Builder{}, func(ctx context.Context, b sources.Builder) error {
			b.Edge(0, 1)
			b.Edge(5, 1<<21)
			_, err := b.Graph()
			return err
		}),

		by(operators.Evolve{Normalize: operators.Normalize{K: 3}}, func(ctx context.Context, o operators.Evolve) error {
			o.Events, o.Layout.NodeClasses = events.Generated(20, 1), strings.Split("abcdef", "")
			return flow.From(o).Run(ctx)
		}),
		by(prequential.Links{}, func(ctx context.Context, l prequential.Links) error {
			_, err := l.Run(ctx, events.Generated(40, 1))
			return err
		}),
		by(nn.Ranker{}, func(ctx context.Context, m nn.Ranker) error {
			if err := m.Init(2); err != nil {
				return err
			}
			_, err := m.Learn(nn.Question{X: []float32{1, 2, 3, 4}})
			return err
		}),

		src(set.Rooted(train)),

		sink(ipc.Sink{}), sink(parquetsink.Sink{}),
		by(scores.Columns{IDs: graph.StringIDs, Classes: sources.FamilyNames}, func(ctx context.Context, c scores.Columns) error {
			net := &nn.PSLR{}
			if _, err := (sinks.Fit{Net: net, Epochs: 1}).Run(ctx, fields); err != nil {
				return err
			}
			return fields.Via(scores.Rows{Net: net, Columns: c, Bare: true}).To(scores.Text{W: io.Discard}).Run(ctx)
		}),
		by(sinks.Pretrain{}, func(ctx context.Context, p sinks.Pretrain) error {
			p.Net = &nn.RBM{}
			return families.Via(operators.Select{}).Via(operators.Chunk{Size: 1}).Via(operators.Assemble{K: 3}).
				Via(operators.Normalize{Edges: true}).To(p).Run(ctx)
		}),
		by(sinks.Fit{Epochs: 2}, func(ctx context.Context, f sinks.Fit) error {
			f.Net = &nn.PSLR{}
			_, err := f.Run(ctx, fields)
			return err
		}),
		by(choose.Choice{}, func(ctx context.Context, c choose.Choice) error {
			c.Systems = []choose.System{{
				Name: "linear", Recipe: operators.Recipe{operators.Count{Of: []count.Counter{count.WL{}}, DropGraph: true}}, Epochs: 1,
				New: func(_ uint64, workers int) nn.Saver { return &nn.Logistic{Width: 64, Workers: workers} },
			}}
			c.Train = choose.GraphRows(sources.Families{Graphs: 12})
			c.Valid = c.Train
			_, err := c.Run(ctx)
			return err
		}),
		by(sinks.Checkpoint{}, func(ctx context.Context, c sinks.Checkpoint) error {
			c.File = filepath.Join(t.TempDir(), "state")
			_, err := sinks.Fit{Net: &nn.PSLR{}, Epochs: 2, Checkpoint: c}.Run(ctx, fields)
			return err
		}),

		learn(fields, &nn.CNN{}), learn(fields, &nn.PSLR{}), learn(fields, &nn.Pooled{}), learn(fields, &nn.GRU{}),
		learn(words, &nn.Logistic{Width: 64}),

		by(trees.Model{}, func(ctx context.Context, m trees.Model) error {
			_, err := sinks.FitTrees(ctx, &m, words, nil)
			return err
		}),
		optimizer(nn.Adam{}), optimizer(nn.AdaGrad{}), optimizer(nn.RMSprop{}),
		pretrain(&nn.RBM{Hidden: 4}), pretrain(&nn.Autoencoder{Hidden: 4}),
		by(graphkernel.SVM{}, func(ctx context.Context, m graphkernel.SVM) error { return m.Fit(ctx, gram, rows, class) }),
		by(nn.Shape{W: 2, K: 3, Classes: 2}, func(_ context.Context, s nn.Shape) error { return (&nn.CNN{}).Init(s) }),
		by(nn.Shape{Sparse: 1, Classes: 2}, func(_ context.Context, s nn.Shape) error { return (&nn.Logistic{Width: 64}).Init(s) }),
	}
}

// extremes are what a number of a type is set to.
func extremes(kind reflect.Value) (all []reflect.Value) {
	add := func(x any) {
		v := reflect.ValueOf(x).Convert(kind.Type())
		if back := v.Convert(reflect.TypeOf(x)); back.Equal(reflect.ValueOf(x)) || reflect.TypeOf(x).Kind() == reflect.Float64 {
			all = append(all, v)
		}
	}
	switch kind.Kind() {
	case reflect.Int, reflect.Int64, reflect.Int32:
		for _, x := range []int64{math.MinInt64, -1, 0, 1, 1<<31 - 1, 1 << 31, 1 << 32, 1 << 62, math.MaxInt64} {
			add(x)
		}
	case reflect.Uint64:
		add(uint64(0))
		add(uint64(math.MaxUint64))
	case reflect.Float64, reflect.Float32:
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1, 1e-300, 1e300} {
			add(x)
		}
	}
	return all
}

// A setting may be any number: it is refused or used, without a panic, within little
// memory, and a context that ends is heard.
func TestAnyNumber(t *testing.T) {
	race.Skip(t)
	for _, u := range uses(t) {
		kind := reflect.TypeOf(u.settings)
		for i := range kind.NumField() {
			if !kind.Field(i).IsExported() {
				continue
			}
			for _, x := range extremes(reflect.ValueOf(u.settings).Field(i)) {
				set := reflect.New(kind).Elem()
				set.Set(reflect.ValueOf(u.settings))
				set.Field(i).Set(x)
				name := fmt.Sprintf("%v.%s = %v", kind, kind.Field(i).Name, x)
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				start := time.Now()
				panicked, err := attempt(func() error { return u.run(ctx, set.Interface()) })
				took := time.Since(start)
				cancel()
				runtime.ReadMemStats(&after)
				var p *flow.PanicError
				switch {
				case panicked != nil:
					t.Errorf("%s: %v", name, panicked)
				case errors.As(err, &p), err != nil && strings.Contains(err.Error(), "panic"):
					t.Errorf("%s: %v", name, err)
				case after.TotalAlloc-before.TotalAlloc > 1<<30:
					t.Errorf("%s: %d MB allocated, %v", name, (after.TotalAlloc-before.TotalAlloc)>>20, err)
				case took > 5*time.Second:
					t.Errorf("%s: %v", name, took)
				}
			}
		}
	}
}

// attempt returns the value and the place of a panic of f, and the error of f.
func attempt(f func() error) (panicked any, err error) {
	defer func() {
		if p := recover(); p != nil {
			buf := make([]byte, 1<<14)
			at := bytes.Split(buf[:runtime.Stack(buf, false)], []byte("\n"))
			panicked = fmt.Sprintf("panic: %v at %s", p, at[min(len(at)-1, 10)])
		}
	}()
	return nil, f()
}

// Every exported struct that is opened, run or fitted, and has a number, is in uses. What
// needs a broker has a test of its own.
func TestUsesAreAll(t *testing.T) {
	known := map[string]bool{}
	for _, u := range uses(t) {
		kind := reflect.TypeOf(u.settings)
		known[path.Base(kind.PkgPath())+"."+kind.Name()] = true
	}
	runs := []string{"Open", "Run", "Label", "Count", "Init", "Fit", "Gram", "resolve"}
	for _, root := range []string{"flow", "operators", "sinks", "sources", "nn"} {
		err := filepath.WalkDir(filepath.Join("..", "..", root), func(dir string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || !d.IsDir():
				return err
			case slices.Contains([]string{"internal", "testdata", "message", "flowtest", "arrow18"}, d.Name()):
				return fs.SkipDir
			}
			for _, name := range settingsOf(t, dir, runs) {
				if name = filepath.Base(dir) + "." + name; !known[name] {
					t.Errorf("%s has numbers to set and is not in uses", name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// settingsOf returns the exported structs of a package that have an exported number and
// one of some methods.
func settingsOf(t *testing.T, dir string, methods []string) (names []string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	numbers, has := map[string]bool{}, map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if st, ok := n.Type.(*ast.StructType); ok && n.Name.IsExported() {
					for _, f := range st.Fields.List {
						kind, _ := f.Type.(*ast.Ident)
						if kind != nil && len(f.Names) > 0 && f.Names[0].IsExported() && slices.Contains([]string{"int", "int64", "float64"}, kind.Name) {
							numbers[n.Name.Name] = true
						}
					}
				}
			case *ast.FuncDecl:
				if n.Recv != nil && slices.Contains(methods, n.Name.Name) {
					of := n.Recv.List[0].Type
					if star, ok := of.(*ast.StarExpr); ok {
						of = star.X
					}
					if id, ok := of.(*ast.Ident); ok {
						has[id.Name] = true
					}
				}
				return false
			}
			return true
		})
	}
	for name := range numbers {
		if has[name] {
			names = append(names, name)
		}
	}
	return names
}
