package sinks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"gonum.org/v1/gonum/floats"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// filters is a sink of rows of fields that asks what the answers are without each filter.
type filters struct {
	a     *atlas
	net   nn.Filtered
	shape nn.Shape
	all   []*filter
	row   int64
}

// filter is a filter of the first layer, with those that are alike.
type filter struct {
	number         int
	weights        []float64
	alike          []int // numbers, its own first
	alone, rest    nn.Predictor
	word, together []moments
	tally          tally // of what the logarithms of probabilities lose
	graphs         int
	fields         float64
	examples       []fieldExample
}

// fieldExample is a field that excites a filter.
type fieldExample struct {
	graph   int64
	output  float64
	members []int32
	shown   Example
}

func (*filters) Name() string { return "atlas" }

func (s *filters) Open(in *arrow.Schema) (flow.Writer, error) {
	net, shape, _, err := s.a.p.copyFor(in)
	if err != nil {
		return nil, err
	}
	s.net, s.shape = net.(nn.Filtered), shape
	if !in.HasField(record.Members) {
		return nil, errors.New("there is no column members, by which a filter has nodes")
	}
	return s, nil
}

func (*filters) Close(error) error { return nil }

// prepare joins filters whose weights point the same way, and makes the models without them.
func (s *filters) prepare(outputs int) (err error) {
	for i := range outputs {
		f := &filter{number: i, weights: s.net.FilterWeights(i)}
		at := slices.IndexFunc(s.all, func(g *filter) bool {
			return floats.Dot(f.weights, g.weights) > alikeUnits*floats.Norm(f.weights, 2)*floats.Norm(g.weights, 2)
		})
		if at >= 0 {
			s.all[at].alike = append(s.all[at].alike, i)
			continue
		}
		f.alike = []int{i}
		s.all = append(s.all, f)
	}
	for _, f := range s.all {
		if f.alone, err = s.net.WithoutFilters(f.number); err == nil {
			f.rest, err = s.net.WithoutFilters(f.alike...)
		}
		if err != nil {
			return err
		}
		n := max(1, s.shape.Classes)
		f.word, f.together, f.tally.sums = make([]moments, n), make([]moments, n), make([]float64, n)
	}
	return nil
}

func (s *filters) Write(_ context.Context, rec arrow.Record) error {
	rows, classes := int(rec.NumRows()), max(1, s.shape.Classes)
	if rows == 0 {
		return nil
	}
	b, err := batchOf(rec, s.shape, false)
	if err != nil {
		return err
	}
	members, _, err := record.FixedValues[int32](rec, record.Members)
	if err != nil {
		return err
	}
	out, err := s.net.Filters(b)
	if err != nil {
		return err
	}
	maps := len(out) / (rows * s.shape.W)
	out = slices.Clone(out)
	if s.all == nil {
		s.a.All, s.a.Compared = maps, maps
		if err := s.prepare(maps); err != nil {
			return err
		}
	}
	answers := func(net nn.Predictor) ([]float32, error) {
		said, err := net.Predict(b, nil)
		if err != nil {
			return nil, err
		}
		s.a.p.as.direct(said.Float32s(), s.shape.Classes)
		return said.Float32s(), nil
	}
	now, err := answers(s.net)
	if err != nil {
		return err
	}
	for _, f := range s.all {
		alone, err := answers(f.alone)
		if err != nil {
			return err
		}
		rest, err := answers(f.rest)
		if err != nil {
			return err
		}
		for i := range rows {
			best := fieldExample{graph: s.row + int64(i)}
			fields := 0
			for j := range s.shape.W {
				nodes := members[(i*s.shape.W+j)*s.shape.K:][:s.shape.K]
				y := float64(out[(i*s.shape.W+j)*maps+f.number])
				if nodes[0] < 0 || !(y > 0) {
					continue
				}
				if fields++; y > best.output {
					best.output, best.members = y, nodes
				}
			}
			lost := make([]float64, classes)
			for c := range classes {
				x, y := float64(now[i*classes+c]), float64(rest[i*classes+c])
				if lost[c] = x - y; s.shape.Classes > 0 {
					lost[c] = logOf(x) - logOf(y)
				}
			}
			centre(lost)
			f.tally.add(lost)
			if fields == 0 {
				continue
			}
			f.graphs++
			f.fields += float64(fields)
			for c := range classes {
				x := float64(now[i*classes+c])
				f.word[c].add(x - float64(alone[i*classes+c]))
				f.together[c].add(x - float64(rest[i*classes+c]))
			}
			best.members = slices.DeleteFunc(slices.Clone(best.members), func(v int32) bool { return v < 0 })
			f.examples = keepLargest(f.examples, best, s.a.most, func(e fieldExample) float64 { return e.output })
		}
	}
	s.row += int64(rows)
	return nil
}

// filters describes the filters of a network of receptive fields.
func (a *atlas) filters(ctx context.Context) error {
	s := &filters{a: a}
	if err := a.p.recipe.Onto(a.graphs).To(s).Run(ctx); err != nil {
		return err
	}
	if a.Graphs, a.Kind = int(s.row), "filters"; s.row == 0 {
		return errors.New("there are no graphs")
	}
	wanted := map[int64][]*fieldExample{}
	for _, f := range s.all {
		for i := range f.examples {
			e := &f.examples[i]
			wanted[e.graph] = append(wanted[e.graph], e)
		}
	}
	if err := visit(ctx, a, wanted, drawFields); err != nil {
		return err
	}
	n := float64(a.Graphs)
	slices.SortStableFunc(s.all, func(a, b *filter) int { return cmp.Compare(b.tally.deviation(n), a.tally.deviation(n)) })
	for _, f := range s.all[:min(len(s.all), a.motifs)] {
		m := Motif{
			Text: fmt.Sprintf("filter %d", f.number), Alike: len(f.alike), Strength: f.tally.deviation(n), Graphs: f.graphs, Occurrences: f.fields,
			Picture: &Picture{Rows: s.shape.K, Cols: len(f.weights) / s.shape.K, Values: f.weights},
		}
		for c := range f.word {
			m.Effects = append(m.Effects, effectOf(f.word[c], f.together[c]))
		}
		if s.shape.Classes > 0 {
			m.Class = a.p.className(argmax(f.tally.sums))
		}
		for _, e := range f.examples {
			m.Examples = append(m.Examples, e.shown)
		}
		a.Motifs = append(a.Motifs, m)
	}
	return nil
}

// drawFields draws fields into a graph.
func drawFields(ctx context.Context, _ int64, rec arrow.Record, fields []*fieldExample) error {
	view, err := viewCounts(ctx, rec, nil)
	if err != nil {
		return err
	}
	defer view.release()
	for _, e := range fields {
		e.shown = showField(view.in.Graph, view.names.Node, e.members)
		e.shown.Graph, e.shown.Weight = e.graph, e.output
	}
	return nil
}

// showField draws a field, its root first.
func showField(g *graph.Graph, typeOf func(int, int32) string, nodes []int32) Example {
	var edges []graph.Edge
	for _, v := range nodes {
		for _, u := range nodes {
			if g.Entry(v, u) >= 0 {
				edges = append(edges, graph.Edge{U: v, V: u})
			}
		}
	}
	members := slices.Clone(nodes)
	slices.Sort(members)
	return showExample(g, typeOf, members, edges, nodes[:min(1, len(nodes))])
}
