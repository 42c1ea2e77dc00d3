package sinks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"gonum.org/v1/gonum/floats"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// Atlas lists the motifs of a model of counts, the strongest first, each with subgraphs of the data
// that contain it. Package sinks/page writes it as a page.
type Atlas struct {
	Classes []string `json:"classes,omitempty"` // none if a number was learned
	Graphs  int      `json:"graphs"`            // of the data
	// All is how many words the data have, and Compared how many of them, the strongest, the
	// motifs were chosen from.
	All      int     `json:"all"`
	Compared int     `json:"compared"`
	Motifs   []Motif `json:"motifs"`
	Whole    []Motif `json:"whole,omitempty"` // words about the whole graph, which have no subgraph
}

// Motif is a word together with alike ones. Of several words at the same nodes of the same graphs,
// the strongest represents all.
type Motif struct {
	Text  string `json:"text"`
	Alike int    `json:"alike"` // number of alike words, itself included
	// Class is the class whose logit, minus the mean of all, it raises most.
	Class string `json:"class,omitempty"`
	// Strength is what the motifs are ordered by: the standard deviation over all graphs of what
	// the words add together, in the unit of WordWeight, over all classes. What adds the same to
	// all answers has none.
	Strength float64 `json:"strength"`
	// Graphs is how many graphs have it, and Occurrences the sum of its counts.
	Graphs      int       `json:"graphs"`
	Occurrences float64   `json:"occurrences"`
	Examples    []Example `json:"examples,omitempty"`

	// Pattern is the nodes and edges that the word depends on, in the first example. A discrete attribute that the word does not depend
	// on is Unread. nil: the word has no subgraph.
	Pattern *Example `json:"-"`
}

// Unread is the value of an attribute of Motif.Pattern that the word does not depend on.
const Unread = -1

// Example is a graph that has a motif, or the part of it around an occurrence.
type Example struct {
	Graph  int64         `json:"graph"`  // its number in the data, from 0
	Weight float64       `json:"weight"` // of the motif there
	Nodes  []ExampleNode `json:"nodes"`
	Edges  []ExampleEdge `json:"edges"`

	Drawn *graph.Graph `json:"-"` // Nodes in their order with all edges, and the attributes; for package page
}

// ExampleNode is a node that is drawn.
type ExampleNode struct {
	ID     int32  `json:"id"`
	Type   string `json:"type,omitempty"` // its first discrete attribute
	Member bool   `json:"member,omitempty"`
	Root   bool   `json:"root,omitempty"` // location of the word; see count.Occurrence
}

// ExampleEdge is an edge between drawn nodes: their places in Nodes.
type ExampleEdge struct {
	Source int32 `json:"source"`
	Target int32 `json:"target"`
	Member bool  `json:"member,omitempty"`
}

// AtlasOptions bound an atlas. The zero value takes the defaults.
type AtlasOptions struct {
	Motifs   int // most motifs, and most words about whole graphs; 0 = 24
	Examples int // most graphs shown of each; 0 = 4
	// Read, if set, is called for each graph of each of the four runs, by one goroutine.
	Read func()
}

// check returns an error for negative numbers, and sets the defaults.
func (o *AtlasOptions) check() error {
	if o.Motifs < 0 || o.Examples < 0 {
		return fmt.Errorf("sinks: atlas: %d motifs with %d examples, want 0 or more, where 0 is the default", o.Motifs, o.Examples)
	}
	if o.Motifs, o.Examples = cmp.Or(o.Motifs, 24), cmp.Or(o.Examples, 4); o.Read == nil {
		o.Read = func() {}
	}
	return nil
}

const (
	mostCandidates = 512     // most words in the comparison
	mostCounted    = 1 << 22 // bound of words × (outputs + 8) in memory; beyond it the weaker words are left out
	mostPresent    = 1 << 12 // most graphs in the comparison of words
	mostShown      = 60      // most nodes of an example
	alikeGraphs    = 0.9     // least overlap (Jaccard) of the graphs of two alike words
	alikeNodes     = 0.5     // least overlap (Jaccard) of their nodes in an example
)

// Atlas finds the motifs of the model in the graphs of a pipeline without operators or sink, whose
// source can be run four times. The model is nn.Additive. The memory does not grow with the number
// of graphs: of millions of words, the weakest half is forgotten.
func (p *Predictor) Atlas(ctx context.Context, graphs flow.Pipeline, o AtlasOptions) (*Atlas, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if len(additives(p.net.Clone())) != 1 { // the clone of an nn.Ensemble is nn.Additive
		return nil, fmt.Errorf("sinks: atlas: a %T has no words: want a model of counts", p.net)
	}
	a := &atlas{
		Atlas: Atlas{Classes: p.Classes()}, p: p, graphs: graphs,
		motifs: o.Motifs, most: o.Examples, read: o.Read,
	}
	for _, step := range []func(context.Context) error{a.rank, a.meet, a.find, a.order} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("sinks: atlas: %w", err)
		}
	}
	return &a.Atlas, nil
}

// atlas is an Atlas under construction.
type atlas struct {
	Atlas
	p            *Predictor
	graphs       flow.Pipeline
	motifs, most int
	read         func()

	words  []*candidate // words that may become motifs, the strongest first
	at     map[uint64]*candidate
	groups []*group
}

// candidate is a word that may become a motif.
type candidate struct {
	id       uint64
	strength float64
	weights  []float64 // sum of the weights over graphs, by class
	graphs   int
	count    float64
	present  []uint64 // bit set of the first mostPresent graphs with the word
	examples []*example
	text     string
	whole    bool
	alike    *group
}

// example is a graph that has a candidate.
type example struct {
	graph  int64
	weight float64
	nodes  []int32 // nodes of all occurrences, ascending
	shown  Example // part of the graph around the first occurrence
	first  *occurrence
}

// group is a list of alike words, the strongest first.
type group struct {
	words []*candidate
	tally tally // tally of the sum of the weights of the words
}

// keepLargest inserts x into a descending list of the most largest values. Equal values keep their order of
// insertion.
func keepLargest[T any](list []T, x T, most int, size func(T) float64) []T {
	at, _ := slices.BinarySearchFunc(list, x, func(have, x T) int { return cmp.Or(cmp.Compare(size(x), size(have)), -1) })
	list = slices.Insert(list, at, x)
	return list[:min(len(list), most)]
}

// additives returns the additive models in a model.
func additives(net nn.Predictor) (all []nn.Additive) {
	nets := []nn.Predictor(nil)
	switch net := net.(type) {
	case nn.Additive:
		return []nn.Additive{net}
	case *nn.Ensemble:
		nets = net.Nets
	case *nn.Targets:
		nets = net.Nets
	}
	for _, one := range nets {
		all = append(all, additives(one)...)
	}
	return all
}

// contributions returns a function for the records of a run, which calls each for each row and each of the additive models of p, with the
// contributions of the counts of the row.
func (p *Predictor) contributions(each func(row int64, c nn.Contributions, values []float64)) func(arrow.Record) error {
	var nets []nn.Additive
	var shape nn.Shape
	row := int64(0)
	return func(rec arrow.Record) error {
		if nets == nil {
			net, of, _, err := p.copyFor(rec.Schema())
			if err != nil {
				return err
			}
			nets, shape = additives(net), of
		}
		if rec.NumRows() == 0 {
			return nil
		}
		b, err := batchOf(rec, shape, false)
		if err != nil {
			return err
		}
		for i := range int(rec.NumRows()) {
			_, values := b.Counts.Row(i)
			for _, net := range nets {
				c, err := net.Contributions(b, i)
				if err != nil {
					return err
				}
				p.as.logits(c)
				each(row, c, values)
			}
			row++
		}
		return nil
	}
}

// pass runs the recipe over all graphs, and calls each with the contributions of each graph.
func (a *atlas) pass(ctx context.Context, each func(row int64, c nn.Contributions, values []float64)) error {
	a.Graphs = 0
	learn := a.p.contributions(func(row int64, c nn.Contributions, values []float64) {
		a.Graphs = int(row) + 1
		a.read()
		each(row, c, values)
	})
	err := a.p.recipe.Onto(a.graphs).To(flow.Each("words", func(_ context.Context, rec arrow.Record) error { return learn(rec) })).Run(ctx)
	if err == nil && a.Graphs == 0 {
		err = errors.New("there are no graphs")
	}
	return err
}

// centre subtracts the mean over the outputs from the weights of one word.
func centre(w []float64) { floats.AddConst(-meanOutput(w), w) }

// tally has the weights of a word, summed over graphs.
type tally struct {
	sums    []float64 // sum of the weights over graphs, by class
	squares float64   // sum of the squared weights, over graphs and classes
	first   int64     // first row with the word, or -1
}

func (t *tally) add(w []float64) {
	t.sums = append(t.sums, make([]float64, max(0, len(w)-len(t.sums)))...)
	for j, x := range w {
		t.sums[j] += x
		t.squares += x * x
	}
}

// deviation returns the root of the variance over the graphs, summed over the classes.
func (t *tally) deviation(graphs float64) float64 {
	v := t.squares / graphs
	for _, x := range t.sums {
		v -= x / graphs * x / graphs
	}
	return math.Sqrt(max(0, v))
}

// rank finds the words with the largest strengths.
func (a *atlas) rank(ctx context.Context) error {
	r := &ranking{tallies: map[uint64]*tally{}, most: mostCounted}
	if err := a.pass(ctx, r.add); err != nil {
		return err
	}
	a.All = r.all
	for _, w := range r.words(false) {
		a.words = append(a.words, &candidate{id: w.ID, strength: w.Strength})
	}
	a.words = slices.Clone(a.words[:min(len(a.words), mostCandidates)])
	a.Compared = len(a.words)
	a.at = make(map[uint64]*candidate, len(a.words))
	for _, w := range a.words {
		a.at[w.id] = w
	}
	return nil
}

// ranking orders the words of rows by their strengths.
type ranking struct {
	tallies map[uint64]*tally
	most    int   // bound of the numbers in memory: beyond it the weaker half of the words is dropped; 0 = no bound
	all     int   // number of words so far, dropped ones included
	row     int64 // last row
}

func (r *ranking) add(row int64, c nn.Contributions, values []float64) {
	r.row = row
	for i, id := range c.IDs {
		w := c.Weights[i*c.Outputs : (i+1)*c.Outputs]
		centre(w)
		t := r.tallies[id]
		if t == nil {
			t = &tally{first: -1}
			r.tallies[id] = t
			r.all++
		}
		if t.first < 0 && i < len(values) { // ids behind the values are words that the row does not have
			t.first = row
		}
		t.add(w)
	}
	if r.most == 0 || len(r.tallies)*(c.Outputs+8) <= r.most {
		return
	}
	all := make([]float64, 0, len(r.tallies))
	for _, t := range r.tallies {
		all = append(all, t.deviation(float64(row+1)))
	}
	slices.Sort(all)
	for id, t := range r.tallies {
		if t.deviation(float64(row+1)) <= all[len(all)/2] {
			delete(r.tallies, id)
		}
	}
}

// words returns all words of the rows, or those with a strength, the strongest first.
func (r *ranking) words(all bool) (words []Word) {
	for id, t := range r.tallies {
		if x := t.deviation(float64(r.row + 1)); t.first >= 0 && (all || x > 0) {
			words = append(words, Word{ID: id, Strength: x, first: t.first})
		}
	}
	slices.SortFunc(words, func(a, b Word) int { return cmp.Or(cmp.Compare(b.Strength, a.Strength), cmp.Compare(a.ID, b.ID)) })
	return words
}

// meet sums the weights and the counts of each word, and keeps the graphs with its largest weights as examples.
func (a *atlas) meet(ctx context.Context) error {
	return a.pass(ctx, func(row int64, c nn.Contributions, values []float64) {
		for i, id := range c.IDs {
			word, ok := a.at[id]
			if !ok || i >= len(values) { // absent words have weights in trees
				continue
			}
			w := c.Weights[i*c.Outputs : (i+1)*c.Outputs]
			centre(w)
			if word.weights == nil {
				word.weights = make([]float64, c.Outputs)
				word.present = make([]uint64, mostPresent/64)
			}
			for j, x := range w {
				word.weights[j] += x
			}
			word.graphs++
			word.count += values[i]
			if row < mostPresent {
				word.present[row/64] |= 1 << (row % 64)
			}
			// The examples are the graphs with the largest weight of the word, the first of equals.
			e := &example{graph: row, weight: floats.Norm(w, math.Inf(1))}
			word.examples = keepLargest(word.examples, e, a.most, func(e *example) float64 { return e.weight })
		}
	})
}

// find adds the occurrences of the words to their examples, in one run over the graphs, and groups alike words.
func (a *atlas) find(ctx context.Context) error {
	wanted := map[int64][]*candidate{}
	for _, w := range a.words {
		for _, e := range w.examples {
			wanted[e.graph] = append(wanted[e.graph], w)
		}
	}
	graphs := int64(0)
	if err := a.graphs.To(flow.Each("atlas", func(ctx context.Context, rec arrow.Record) error {
		pos, err := record.Values[int64](rec, record.Pos)
		if err != nil {
			return err
		}
		for i := range rec.NumRows() {
			if words := wanted[graphs]; len(words) > 0 {
				one := rec.NewSlice(i, i+1)
				err := a.findWords(ctx, graphs, one, words)
				one.Release()
				if err != nil {
					return err
				}
				for _, w := range words { // the number of a graph is its position, which counts graphs that the source left out
					for _, e := range w.examples {
						if e.graph == graphs {
							e.shown.Graph = pos[i]
						}
					}
				}
			}
			graphs++
			a.read()
		}
		return nil
	})).Run(ctx); err != nil {
		return err
	}
	if int(graphs) != a.Graphs {
		return fmt.Errorf("the recipe makes %d rows of %d graphs: want one of each", a.Graphs, graphs)
	}
	for _, w := range a.words {
		if w.text == "" {
			w.text, w.whole = fmt.Sprintf("%#016x", w.id), true
		}
		i := slices.IndexFunc(a.groups, func(g *group) bool { return g.words[0].like(w) })
		if i < 0 {
			i = len(a.groups)
			a.groups = append(a.groups, &group{})
		}
		g := a.groups[i]
		g.words, w.alike = append(g.words, w), g
	}
	return nil
}

// like reports whether two words raise the same class, the Jaccard index of their graphs is at least alikeGraphs, and that of
// their nodes in a common example at least alikeNodes. Words with whole have no nodes to compare.
func (w *candidate) like(x *candidate) bool {
	if w.whole != x.whole || w.class() != x.class() {
		return false
	}
	both, either := 0, 0
	for i := range w.present {
		both += bits.OnesCount64(w.present[i] & x.present[i])
		either += bits.OnesCount64(w.present[i] | x.present[i])
	}
	if float64(both) < alikeGraphs*float64(either) {
		return false
	}
	if w.whole {
		return true
	}
	for _, e := range w.examples {
		for _, f := range x.examples {
			if e.graph == f.graph {
				return overlap(e.nodes, f.nodes) >= alikeNodes
			}
		}
	}
	return false
}

// class returns the output with the largest weight.
func (w *candidate) class() int { return argmax(w.weights) }

// overlap returns the Jaccard index of two ascending lists.
func overlap(a, b []int32) float64 {
	both := 0
	for _, v := range a {
		if _, ok := slices.BinarySearch(b, v); ok {
			both++
		}
	}
	return float64(both) / float64(max(1, len(a)+len(b)-both))
}

// order lists the motifs by the strength of their words together.
func (a *atlas) order(ctx context.Context) error {
	weights := map[*group][]float64{}
	err := a.pass(ctx, func(_ int64, c nn.Contributions, values []float64) {
		clear(weights)
		for i, id := range c.IDs {
			word, ok := a.at[id]
			if !ok || i >= len(values) {
				continue
			}
			all := weights[word.alike]
			if all == nil {
				all = make([]float64, c.Outputs)
				weights[word.alike] = all
			}
			floats.Add(all, c.Weights[i*c.Outputs:(i+1)*c.Outputs])
		}
		for g, w := range weights { // groups are independent, so their order does not matter
			centre(w)
			g.tally.add(w)
		}
	})
	if err != nil {
		return err
	}
	graphs := float64(a.Graphs)
	slices.SortStableFunc(a.groups, func(a, b *group) int { return cmp.Compare(b.tally.deviation(graphs), a.tally.deviation(graphs)) })
	for _, g := range a.groups {
		w := g.words[0]
		if w.whole && len(a.Whole) == a.motifs || !w.whole && len(a.Motifs) == a.motifs {
			continue
		}
		m := Motif{
			Text: w.text, Alike: len(g.words), Graphs: w.graphs, Occurrences: w.count, Strength: g.tally.deviation(graphs),
		}
		if len(w.weights) > 1 {
			m.Class = className(a.p.classes, w.class())
		}
		if w.whole {
			a.Whole = append(a.Whole, m)
			continue
		}
		for _, e := range w.examples {
			m.Examples = append(m.Examples, e.shown)
		}
		if first := w.examples[0].first; first != nil {
			if m.Pattern, err = first.pattern(ctx); err != nil {
				return err
			}
		}
		a.Motifs = append(a.Motifs, m)
	}
	return nil
}
