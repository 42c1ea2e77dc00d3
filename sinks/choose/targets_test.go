package choose_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// opened counts how often a source is opened.
type opened struct {
	flow.Source
	times int
}

func (o *opened) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	o.times++
	return o.Source.Open(ctx, mem)
}

// rings returns graphs with several targets, some of which are missing: whether a graph has a chord, whether it has more than 8 nodes,
// and one of three colours that most nodes have.
func rings(n int, numbers bool) (items []sources.Item, l record.Layout) {
	r := rand.New(rand.NewPCG(7, 7))
	nan := float32(math.NaN())
	for i := range n {
		size, chord, most := 5+r.IntN(8), r.IntN(2), r.IntN(3)
		var edges []graph.Edge
		for v := range int32(size) {
			edges = append(edges, graph.Edge{U: v, V: (v + 1) % int32(size)})
		}
		if chord == 1 {
			edges = append(edges, graph.Edge{U: 0, V: 2})
		}
		g := must(graph.New(size, false, edges))
		g.NodeCats = 1
		for range size {
			c := most
			if r.IntN(4) == 0 {
				c = r.IntN(3)
			}
			g.NodeCat = append(g.NodeCat, int32(c))
		}
		large := float32(0)
		if size > 8 {
			large = 1
		}
		t := []float32{float32(chord), large, float32(most)}
		if numbers {
			t = []float32{float32(size), float32(g.M() + chord), float32(most)}
		}
		for at := range t {
			if r.IntN(5) == 0 {
				t[at] = nan
			}
		}
		if i%17 == 0 {
			t = []float32{nan, nan, nan}
		}
		items = append(items, sources.Item{Graph: g, Targets: t})
	}
	l = record.Layout{NodeCat: []record.Channel{{Name: "colour", Card: 3}}, Targets: []record.TargetChannel{
		{Name: "chord", Classes: []string{"no", "yes"}}, {Name: "large", Classes: []string{"no", "yes"}}, {Name: "most", Classes: []string{"r", "g", "b"}},
	}}
	for i := range l.Targets {
		if numbers {
			l.Targets[i] = record.TargetChannel{Name: fmt.Sprint("number ", i)}
		}
	}
	return items, l
}

// alone returns the graphs that have one target, which is their only one. Their positions are those among all graphs.
func alone(items []sources.Item, l record.Layout, target int) flow.Source {
	t := l.Targets[target]
	l.Targets, l.Classes, l.Real = nil, t.Classes, t.Classes == nil
	b := record.NewBuilder(memory.DefaultAllocator, l)
	defer b.Release()
	for i, it := range items {
		if x := it.Targets[target]; x == x {
			if err := b.Append(it.Graph, record.Row{ID: int64(i), Pos: int64(i), Class: int32(x), Value: x}); err != nil {
				panic(err)
			}
		}
	}
	return sources.Records{Schema: b.Schema(), Records: []arrow.Record{b.Record()}}
}

// The models of several targets are, byte for byte, those that learn each target alone from the rows that have it; the rows are made
// once; the file does not depend on the workers, and answers as the model does.
func TestTargets(t *testing.T) {
	race.Skip(t)
	defer leak.VerifyNone(t)
	ctx := t.Context()
	for _, numbers := range race.Some([]bool{true, false}) {
		items, l := rings(90, numbers)
		train, valid := items[:60], items[60:]
		var files [][]byte
		var chosen *choose.Chosen
		for _, workers := range []int{1, 3} {
			learn, choosing := &opened{Source: sources.Graphs{Items: train, Layout: l}}, &opened{Source: sources.Graphs{Items: valid, Layout: l}}
			systems := must(choose.Pick(choose.Graphs(l, 9), []string{"linear", "cnn", "words", "trees", "words+trees"}))
			for i := range systems {
				systems[i].Epochs = min(systems[i].Epochs, 2)
			}
			var err error
			if chosen, err = (choose.Choice{Systems: systems, Targets: l.Targets, Train: choose.GraphRows(learn), Valid: choose.GraphRows(choosing), Seed: 1, Workers: workers}).Run(ctx); err != nil {
				t.Fatal(err)
			}
			if learn.times != len(systems) || choosing.times != len(systems) {
				t.Errorf("the rows were made %d and %d times, want once for each of %d systems", learn.times, choosing.times, len(systems))
			}
			var file bytes.Buffer
			if err := sinks.Write(&file, chosen.Net, chosen.Recipe); err != nil {
				t.Fatal(err)
			}
			files = append(files, file.Bytes())
			if workers > 1 && !long {
				continue // the file is compared
			}
			for _, s := range systems {
				several, err := choose.Choice{Systems: []choose.System{s}, Targets: l.Targets, Train: choose.GraphRows(learn), Valid: choose.GraphRows(choosing), Seed: 1, Workers: workers}.Run(ctx)
				if err != nil {
					t.Fatal(err)
				}
				mean := 0.
				for i, target := range l.Targets {
					one, err := choose.Choice{
						Systems: []choose.System{recipeOf(s, target)}, Classes: target.Classes, Train: choose.GraphRows(alone(train, l, i)), Valid: choose.GraphRows(alone(valid, l, i)), Seed: 1, Workers: 2,
					}.Run(ctx)
					if err != nil {
						t.Fatal(err)
					}
					var got, want bytes.Buffer
					if err := several.Net.(*nn.Targets).Nets[i].(nn.Saver).Save(&got); err != nil {
						t.Fatal(err)
					}
					if err := one.Net.Save(&want); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(got.Bytes(), want.Bytes()) {
						t.Errorf("numbers %t, %s, %s: the model is another than that of the target alone", numbers, s.Name, target.Name)
					}
					mean += one.Tried[0].Score / float64(len(l.Targets))
				}
				if math.Abs(mean-several.Tried[0].Score) > 1e-9 {
					t.Errorf("%s: score %v, want the mean %v", s.Name, several.Tried[0].Score, mean)
				}
			}
		}
		if !bytes.Equal(files[0], files[1]) {
			t.Error("the file depends on the workers")
		}
		p := must(sinks.Read(bytes.NewReader(files[0])))
		defer p.Close()
		if !reflect.DeepEqual(p.Targets(), l.Targets) || p.Classes() != nil {
			t.Errorf("the file has the targets %v, want %v", p.Targets(), l.Targets)
		}
		// The measures of a pipeline, of a Predictor graph by graph, and of the Predictors of the targets.
		m := must(choose.Test(ctx, p, nil, graph.IDs{}, choose.GraphRows(sources.Graphs{Items: valid, Layout: l}), "", 2))
		ones := make([]*sinks.Predictor, len(l.Targets))
		by := make([]*choose.Measures, len(ones))
		for i, target := range l.Targets {
			ones[i], by[i] = must(p.Of(i)), choose.NewMeasures(target.Classes)
			defer ones[i].Close()
		}
		unknown := 0
		for _, it := range valid {
			a := must(p.Predict(ctx, it.Graph))
			known := false
			for i := range ones {
				one := must(ones[i].Predict(ctx, it.Graph))
				if !reflect.DeepEqual(one, a.Targets[i]) {
					t.Fatalf("target %d: %+v, want %+v", i, a.Targets[i], one)
				}
				x := it.Targets[i]
				said := sinks.Prediction{Class: one.Index, Probs: one.Probs, Value: one.Value, Target: -1, TargetValue: x}
				if x == x {
					said.Target, known = int(x), true
				}
				if err := by[i].Add(said); err != nil {
					t.Fatal(err)
				}
			}
			if !known {
				unknown++
			}
		}
		if unknown == 0 || m.Unknown != unknown || m.Rows != len(valid)-unknown {
			t.Errorf("%d rows, %d unknown, want %d of %d unknown", m.Rows, m.Unknown, unknown, len(valid))
		}
		measure := map[bool]validation.Measure{false: validation.LogLoss, true: validation.RMSE}[numbers]
		mean := 0.
		for i, one := range by {
			got, want := must(m.Targets[i].By(measure)), must(one.By(measure))
			if got != want || m.Targets[i].Rows != one.Rows || m.Targets[i].Unknown != one.Unknown || one.Unknown == 0 {
				t.Errorf("target %d: %v of %d rows, want %v of %d", i, got, m.Targets[i].Rows, want, one.Rows)
			}
			mean += want / float64(len(by))
		}
		if got := must(m.By(measure)); math.Abs(got-mean) > 1e-12 {
			t.Errorf("%s is %v, want the mean %v", measure, got, mean)
		}
		if _, err := p.Explain(ctx, valid[0].Graph, sinks.ExplainOptions{}); err == nil || !strings.Contains(err.Error(), "Predictor.Of") {
			t.Errorf("explained several targets: %v", err)
		}
	}
}

// recipeOf returns a system whose recipe is for graphs with a single target.
func recipeOf(s choose.System, t record.TargetChannel) choose.System {
	s.Recipe = slices.Clone(s.Recipe)
	e := s.Recipe[0].(operators.Expect)
	e.Layout.Targets, e.Layout.Classes, e.Layout.Real = nil, t.Classes, t.Classes == nil
	s.Recipe[0] = e
	return s
}

// Settings and rows that several targets cannot be learned from are errors that name the target.
func TestTargetsErrors(t *testing.T) {
	items, l := rings(60, false)
	for i := range items[:40] { // which are learned from
		items[i].Targets = slices.Clone(items[i].Targets)
		items[i].Targets[1] = float32(math.NaN())
	}
	two := []string{"no", "yes"}
	for _, test := range []struct {
		c    choose.Choice
		want string
	}{
		{choose.Choice{Targets: l.Targets}, `target "large": there are no rows to learn from`},
		{choose.Choice{Targets: append(slices.Clone(l.Targets), l.Targets[0])}, `target "chord": it is there twice`},
		{choose.Choice{Targets: []record.TargetChannel{{Name: "a", Classes: two}, {Name: "b"}}}, `target "b": it has 0 classes, and the first target 2`},
		{choose.Choice{Targets: l.Targets, Classes: two}, "Classes are set too"},
		{choose.Choice{Targets: l.Targets, Measure: validation.RMSE}, `target "chord": Measure is rmse`},
		{choose.Choice{Targets: l.Targets, Positive: "yes"}, `target "most": the positive class is "yes"`},
	} {
		c := test.c
		c.Systems = must(choose.Pick(choose.Graphs(l, 9), []string{"linear"}))
		c.Train, c.Valid = choose.GraphRows(sources.Graphs{Items: items[:40], Layout: l}), choose.GraphRows(sources.Graphs{Items: items[40:], Layout: l})
		if _, err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

// Progress of several targets goes through all of them, and tells within which Budget a system that was cut off would end.
func TestNeeds(t *testing.T) {
	items, l := rings(120, false)
	systems := must(choose.Pick(choose.Graphs(l, 9), []string{"linear", "words"}))
	at, last, total, begun := 0, 0, 0, ""
	c := choose.Choice{
		Systems: systems[1:], Targets: l.Targets, Workers: 1,
		Train: choose.GraphRows(sources.Graphs{Items: items[:80], Layout: l}), Valid: choose.GraphRows(sources.Graphs{Items: items[80:], Layout: l}),
		Progress: func(system string, done, of int) {
			if system != begun {
				begun, last, total = system, 0, of
			}
			if done < last || of != total || done > of {
				t.Errorf("%s: %d of %d after %d of %d", system, done, of, last, total)
			}
			at, last = at+1, done
		},
	}
	if must(c.Run(t.Context())); at == 0 || total != len(l.Targets)*systems[1].Epochs {
		t.Errorf("%d calls, the last %d of %d", at, last, total)
	}
	begun = ""
	c.Systems = append(c.Systems, systems[0]) // words, without an end
	c.Systems[1].Epochs, c.Systems[1].Patience = 1<<20, 1<<20
	var out *choose.Chosen
	wall := 0.
	for c.Budget = 200 * time.Millisecond; begun != "words"; c.Budget *= 2 { // until an epoch ends within it
		start := time.Now()
		begun = ""
		out = must(c.Run(t.Context()))
		wall = time.Since(start).Seconds()
	}
	if len(out.NotTried) != 1 || begun != "words" || last == 0 {
		t.Fatalf("%+v, %s: %d of %d", out.NotTried, begun, last, total)
	}
	if spent := out.NotTried[0].Needs * float64(last) / float64(total); spent <= 0 || spent > wall {
		t.Errorf("%g s of %g for %d of %d epochs", spent, wall, last, total)
	}
}
