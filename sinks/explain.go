package sinks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
)

// Explanation splits the evidence for a class, or the predicted number, into weights of words,
// nodes and edges. Weights are in nats, those of a logit minus the mean of the logits of all
// classes, or in the unit of the number. All sums are
//
//	Bias + Σ Words + Σ Columns = Bias + Graph + Σ Nodes + Σ Edges + Σ Columns = Sum
//
// but for rounding.
//
// Of a model that is nn.Additive, such as nn.Best, the weights are exact: Sum is the output of the
// model, and the weight of a word is the contribution of its count. The weight of a word is split
// equally among its occurrences, and that of an occurrence among the nodes and edges that the word
// is about (count.Occurrence): the root of a colour, the ends of a path. Then each node passes half
// of its weight to its edges, equally; a node without edges keeps all. What is about the whole
// graph is Graph. Trees also decide by words that are not there: these are one word, AbsentWords, in Graph.
//
// For a row of roots, the nodes are the nodes of the words. A word that is about the roots alone,
// such as a field, is split among all its members.
//
// Of any other model the weight of a node or of an edge is by how much the same sum, of logarithms of
// probabilities, falls without it (occlusion; Zeiler and Fergus, 2014). There are no words and no bias, and
// Graph is the remainder. This costs a prediction for each node and each edge. Of a row of roots the nodes are
// up to 64 that are nearest to them, and the edges those among them and the roots, which are not removed.
//
// Of answers that are smoothed the weight of a node is by how much the sum falls where the
// model says the same of each class about it (votes). There are no edges; the nodes are the
// 256 with the largest weights.
type Explanation struct {
	Class     string    `json:"class"`     // that is explained, "" if a number was learned
	Predicted string    `json:"predicted"` // the class that the model answers
	Classes   []string  `json:"classes,omitempty"`
	Probs     []float32 `json:"probs,omitempty"` // of each class
	Value     float32   `json:"value"`           // if a number was learned
	Roots     []int32   `json:"roots,omitempty"` // the nodes that the answer is about, if it is not about the graph
	Method    string    `json:"method"`          // "exact", "occlusion" or "votes"

	Bias  float64      `json:"bias"`
	Graph float64      `json:"graph"`
	Sum   float64      `json:"sum"`
	Words []WordWeight `json:"words"` // those with a weight, the largest without sign first
	// Columns are the numbers that the model reads beside words, in its order. The weight of one that it reads as words of
	// intervals (operators.Intervals) is the sum of those of the words, which are not among Words.
	Columns []ColumnWeight `json:"columns"`
	Nodes   []NodeWeight   `json:"nodes"` // all nodes of a graph, or for roots the nodes of words
	Edges   []EdgeWeight   `json:"edges"` // those between Nodes
}

// AbsentWords is the text of all words that are not there and have a weight.
const AbsentWords = "words that are not there"

// ColumnWeight is the contribution of a number.
type ColumnWeight struct {
	Name   string   `json:"name"`
	Value  *float64 `json:"value"` // nil = missing
	Weight float64  `json:"weight"`
}

// WordWeight is the contribution of the count of a word.
type WordWeight struct {
	// Text is the word, and its id if its counter is no count.Finder.
	Text        string  `json:"text"`
	Weight      float64 `json:"weight"`
	Occurrences float64 `json:"occurrences"` // its count
	// Members are the nodes of its occurrences, the first ones if Capped.
	Members [][]int32 `json:"members"`
	Capped  bool      `json:"capped,omitempty"`
	// Shared reports that the word, or a level of its count, shares a weight in the table of the
	// model with another word of this graph.
	Shared bool `json:"shared,omitempty"`
}

// NodeWeight is the weight of a node.
type NodeWeight struct {
	ID     int32    `json:"id"` // its number
	Weight float64  `json:"weight"`
	Name   graph.ID `json:"name,omitzero"` // of a graph with ids, by ExplainOptions.IDs
}

// EdgeWeight is the weight of an edge, the smaller node first, or of an arc.
type EdgeWeight struct {
	Source int32   `json:"source"`
	Target int32   `json:"target"`
	Weight float64 `json:"weight"`
}

// ExplainOptions are the settings of Predictor.Explain. The zero value explains the predicted
// class.
type ExplainOptions struct {
	Class string // to explain; "" = the predicted one
	// Members is how many occurrences of a word are listed. 0 = 8; a negative number lists
	// none.
	Members int
	// IDs, if set, are the ids of the nodes of the graph. They become NodeWeight.Name, and words
	// about a certain node have them in place of its number.
	IDs graph.IDs
}

// named sets the names of the nodes of an explanation, and wraps an error.
func (o ExplainOptions) named(e *Explanation, err error) (*Explanation, error) {
	if err != nil {
		return nil, explained(err)
	}
	for i := range e.Nodes {
		e.Nodes[i].Name = o.IDs.At(e.Nodes[i].ID)
	}
	return e, nil
}

// check compares the number of ids with that of the nodes.
func (o ExplainOptions) check(nodes int) error {
	if n := o.IDs.Len(); n > 0 && n != nodes {
		return fmt.Errorf("there are %d ids, want one for each of the %d nodes", n, nodes)
	}
	return nil
}

// mostOccluded bounds the predictions that an explanation by occlusion takes.
const mostOccluded = 1 << 14

// Explain explains the predicted class or number, or the class of the options, by words, nodes and
// edges of the graph. The recipe makes one row of a graph.
func (p *Predictor) Explain(ctx context.Context, g *graph.Graph, o ExplainOptions) (e *Explanation, err error) {
	if g != nil { // a nil graph is an error below
		if err := o.check(g.N()); err != nil {
			return nil, explained(err)
		}
	}
	err = p.work(ctx, &p.workers, func(w *worker) error {
		rec, err := p.record(ctx, w.graphs, g)
		if err != nil {
			return err
		}
		defer rec.Release()
		e, err = w.explain(ctx, p, rec, p.recipe, false, o)
		return err
	})
	if err == nil && e.Method == "" {
		if n := g.N() + g.M(); n > mostOccluded {
			return nil, explained(fmt.Errorf("the graph has %d nodes and edges, and a model that is not linear is asked without each: want at most %d", n, mostOccluded))
		}
		err = e.occlude(ctx, g, numbersTo(g.N()), nil, p.PredictAll)
	}
	return o.named(e, err)
}

func explained(err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "sinks: predictor: ") {
		return err
	}
	return fmt.Errorf("sinks: predictor: explain: %w", err)
}

// explain explains the answer for roots. For a model that is not additive, Method is "" and the result has the
// answer alone.
func (o *OpenGraph) explain(ctx context.Context, options ExplainOptions, roots []int32) (e *Explanation, err error) {
	if o.said != nil {
		return nil, errors.New("the answers are smoothed: want Predictor.ExplainRoots")
	}
	if len(roots) != max(1, o.width) {
		return nil, fmt.Errorf("there are %d nodes, want %d", len(roots), max(1, o.width))
	}
	if err := errors.Join(o.has(roots), options.check(o.nodes)); err != nil {
		return nil, err
	}
	at := slices.IndexFunc(o.p.recipe, func(op flow.Operator) bool { _, ok := op.(operators.Roots); return ok })
	err = o.p.work(ctx, &o.workers, func(w *worker) error {
		rec, err := o.about(ctx, &o.graph, roots)
		if err != nil {
			return err
		}
		defer rec.Release()
		e, err = w.explain(ctx, o.p, rec, o.p.recipe[at+1:], true, options)
		return err
	})
	return e, err
}

// explain explains the answer for a record of one row, the input of ops. For a model that is not additive,
// Method is "" and the result has the answer alone.
func (w *worker) explain(ctx context.Context, p *Predictor, rec arrow.Record, ops operators.Recipe, rooted bool, o ExplainOptions) (*Explanation, error) {
	if p.targets != nil {
		return nil, errors.New("the model has several targets: explain one of them, by Predictor.Of")
	}
	rows, err := w.fields.Process(ctx, rec)
	p.count(w.fields, &w.unseen)
	if err != nil {
		return nil, err
	}
	defer record.Release(rows)
	if len(rows) != 1 || rows[0].NumRows() != 1 {
		return nil, errors.New("the recipe does not make one row of a graph: Predictor.ExplainRoots explains the answers about its nodes")
	}
	answers, err := w.answer(nil, p, rows[0])
	if err != nil {
		return nil, err
	}
	a := answers[0]
	e := &Explanation{Predicted: a.Class, Probs: a.Probs, Value: a.Value, Words: []WordWeight{}, Columns: []ColumnWeight{}, Nodes: []NodeWeight{}, Edges: []EdgeWeight{}}
	class, err := p.explainedClass(a, o.Class, len(a.Probs))
	if err != nil {
		return nil, err
	}
	if class >= 0 {
		e.Class, e.Classes = className(p.classes, class), p.classNames(len(e.Probs))
	}
	additive, ok := w.net.(nn.Additive)
	if !ok {
		return e, nil
	}
	b, err := batchOf(rows[0], w.shape, false)
	if err != nil {
		return nil, err
	}
	c, err := additive.Contributions(b, 0)
	if err != nil {
		return nil, err
	}
	p.as.logits(c)
	e.Method = "exact"
	intervals, read := operators.Find[operators.Intervals](ops)
	if len(c.Columns) > 0 || read {
		if err := e.numbers(rows[0]); err != nil {
			return nil, err
		}
	}
	for i := 0; i < len(c.Columns); i += c.Outputs {
		e.Columns[i/c.Outputs].Weight = centred(c.Columns[i:i+c.Outputs], max(0, class))
	}
	words := map[uint64]int{} // the column of each word of an interval
	if read {
		row, _, err := record.FixedValues[float32](rows[0], record.RowColumns)
		if err != nil {
			return nil, err
		}
		intervals.Words(row, func(column int, word uint64) { words[word] = column })
	}
	if b.Counts == nil {
		e.Bias, e.Sum = centred(c.Bias, max(0, class)), centred(c.Sum(), max(0, class))
		return e, nil
	}
	return e, e.exact(ctx, rec, ops, c, b.Counts, words, max(0, class), rooted, o)
}

// numbers lists the numbers of a row as columns, without weights yet.
func (e *Explanation) numbers(row arrow.Record) error {
	values, _, err := record.FixedValues[float32](row, record.RowColumns)
	if err != nil {
		return err
	}
	for i, c := range record.Channels(row.Schema())[record.RowColumns] {
		column := ColumnWeight{Name: c.Name}
		if x := float64(values[i]) + c.Offset; x == x {
			column.Value = &x
		}
		e.Columns = append(e.Columns, column)
	}
	return nil
}

// classNames returns the names of n classes, or their numbers if classes have no names.
func (p *Predictor) classNames(n int) (names []string) {
	for i := range n {
		names = append(names, className(p.classes, i))
	}
	return names
}

// explainedClass returns the index of the class to explain, -1 for a model of numbers.
func (p *Predictor) explainedClass(a Answer, name string, classes int) (int, error) {
	if a.Index < 0 {
		if name != "" {
			return 0, fmt.Errorf("there is no class %q: the model has learned a number", name)
		}
		return -1, nil
	}
	if name == "" {
		return a.Index, nil
	}
	if i := slices.Index(p.classNames(classes), name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("the model has no class %.40q", name)
}

// centred returns output c minus the mean of all outputs, or the only output.
func centred(x []float64, c int) float64 { return x[c] - meanOutput(x) }

// meanOutput returns the mean of the outputs, 0 for one output.
func meanOutput(x []float64) (mean float64) {
	if len(x) == 1 {
		return 0
	}
	for _, y := range x {
		mean += y / float64(len(x))
	}
	return mean
}

// exact sets the contributions of the counts to the output of a class.
func (e *Explanation) exact(ctx context.Context, rec arrow.Record, ops operators.Recipe, c nn.Contributions, counts *nn.Counts, columns map[uint64]int, class int, rooted bool, o ExplainOptions) error {
	members := cmp.Or(o.Members, 8)
	e.Bias = centred(c.Bias, class)
	_, values := counts.Row(0)
	words, at, absent := make([]WordWeight, len(values)), make(map[uint64]int, len(values)), 0.0
	for i, id := range c.IDs {
		weight := centred(c.Weights[i*c.Outputs:(i+1)*c.Outputs], class)
		if i >= len(values) {
			absent += weight
			continue
		}
		if column, ok := columns[id]; ok {
			e.Columns[column].Weight += weight
			continue
		}
		at[id] = i
		words[i] = WordWeight{Weight: weight, Occurrences: values[i], Members: [][]int32{}, Shared: c.Shared[i]}
	}
	s := newShares()
	found := make([]float64, len(words)) // sum of the found counts
	view, err := eachWord(ctx, rec, ops, o.IDs, func(view *countView, o count.Occurrence) {
		j, ok := at[o.ID]
		if !ok {
			return
		}
		w := &words[j]
		if w.Weight == 0 {
			return
		}
		found[j] += o.Count
		if w.Text == "" {
			w.Text = o.Text()
		}
		if len(w.Members) < members && len(o.Nodes)+len(o.Edges) > 0 {
			w.Members = append(w.Members, membersOf(o))
		} else if len(o.Nodes)+len(o.Edges) > 0 {
			w.Capped = true
		}
		if rooted && o.Members != nil && len(o.Nodes) > 0 && among(view.in.Roots, o.Nodes) {
			o.Nodes, o.Edges = o.Members()
		}
		s.add(w.Weight*o.Count/w.Occurrences, o)
	})
	if err != nil {
		return err
	}
	if view == nil && len(values) > 0 && len(columns) == 0 {
		return errors.New("the recipe has no operators.Count, from which the words of the model could be named")
	}
	if view == nil { // all words are intervals of columns
		if view, err = viewCounts(ctx, rec, nil); err != nil {
			return err
		}
	}
	defer view.release()
	for j := range words {
		w := &words[j]
		if w.Weight == 0 {
			continue
		}
		s.graph += w.Weight * (1 - found[j]/w.Occurrences) // the part of counters without occurrences, and rounding
		if w.Text == "" {
			w.Text = fmt.Sprintf("%#016x", c.IDs[j])
		}
		e.Words = append(e.Words, *w)
	}
	if absent != 0 {
		s.graph += absent
		e.Words = append(e.Words, WordWeight{Text: AbsentWords, Weight: absent, Members: [][]int32{}})
	}
	slices.SortStableFunc(e.Words, func(a, b WordWeight) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)), cmp.Compare(a.Text, b.Text))
	})
	if rooted {
		e.Roots = view.in.Roots
	}
	s.share(view.in.Graph, !rooted, e)
	e.Sum = centred(c.Sum(), class)
	return nil
}

// identity returns the first sparse index of the ids that sources.NodeSet.Identify appends, or -1 without
// such ids.
func identity(g *graph.Graph) (first int32) {
	if first = int32(g.SparseCard - g.N()); first < 0 {
		return -1
	}
	for v := range int32(g.N()) {
		set := g.Sparse(v)
		if n := len(set); n == 0 || set[n-1] != first+v || n > 1 && set[n-2] >= first {
			return -1
		}
	}
	return first
}

// among reports whether all nodes are roots.
func among(roots, nodes []int32) bool {
	return !slices.ContainsFunc(nodes, func(v int32) bool { return !slices.Contains(roots, v) })
}

// membersOf returns the members of an occurrence, in its order.
func membersOf(o count.Occurrence) []int32 {
	nodes, edges := o.Nodes, o.Edges
	if o.Members != nil {
		nodes, _ = o.Members()
		edges = nil
	}
	all := slices.Clone(nodes)
	for _, e := range edges {
		all = append(all, e.U, e.V)
	}
	return all
}

// sortedMembers returns the members of an occurrence, ascending, none twice.
func sortedMembers(o count.Occurrence) []int32 {
	all := membersOf(o)
	slices.Sort(all)
	return slices.Compact(all)
}

// countView is the input of an operators.Count for one graph.
type countView struct {
	rows  []arrow.Record
	in    count.Input
	names count.Dictionary
	of    count.Counter // of the occurrence, in eachWord
}

func (v *countView) release() { record.Release(v.rows) }

// viewCounts applies the operators before a Count to a record of one row.
func viewCounts(ctx context.Context, rec arrow.Record, before []flow.Operator) (v *countView, err error) {
	v = &countView{}
	if len(before) == 0 {
		rec.Retain()
		v.rows = []arrow.Record{rec}
	} else {
		d, err := flow.OpenDirect(rec.Schema(), flow.Options{}, before...)
		if err != nil {
			return nil, err
		}
		v.rows, err = d.Process(ctx, rec)
		if err := errors.Join(err, d.Close()); err != nil {
			v.release()
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			v.release()
		}
	}()
	if len(v.rows) != 1 || v.rows[0].NumRows() != 1 {
		return nil, errors.New("the operators in front of Count do not make one row")
	}
	graphs, err := record.GraphsOf(v.rows[0])
	if err != nil {
		return nil, err
	}
	v.in = count.Input{Graph: &graph.Graph{}, Context: ctx}
	graphs.At(0, v.in.Graph)
	if v.rows[0].Schema().HasField(record.Roots) {
		roots, err := record.ListsOf[int32](v.rows[0], record.Roots)
		if err != nil {
			return nil, err
		}
		v.in.Roots = append([]int32{}, roots.Row(0)...)
	}
	layout, err := record.LayoutOf(v.rows[0].Schema())
	if err != nil {
		return nil, err
	}
	v.names = dictionary(&layout)
	return v, nil
}

// eachWord calls f for each occurrence of the words of each operators.Count of ops in a record of one row, with the input of
// that operator. ids are the ids of the nodes. The caller releases the last view, which is nil if ops have no Count.
func eachWord(ctx context.Context, rec arrow.Record, ops operators.Recipe, ids graph.IDs, f func(*countView, count.Occurrence)) (view *countView, err error) {
	for i, op := range ops {
		counter, ok := op.(operators.Count)
		if !ok {
			continue
		}
		if view != nil {
			view.release()
		}
		if view, err = viewCounts(ctx, rec, ops[:i]); err != nil {
			return nil, err
		}
		view.names.ID = ids.Name
		if first := identity(view.in.Graph); first >= 0 {
			view.names.Sparse = func(i int32) string {
				if i < first {
					return ""
				}
				return "node " + ids.Name(i-first)
			}
		}
		for _, of := range counter.Of {
			view.of = of
			if _, err := count.Find(of, view.in, view.names, func(o count.Occurrence) { f(view, o) }); err != nil {
				view.release()
				return nil, err
			}
		}
	}
	return view, nil
}

// dictionary returns the names of the attributes and words of a layout, for the texts of counted words.
func dictionary(l *record.Layout) count.Dictionary {
	word := func(channels []record.Channel) func(int, int32) string {
		return func(channel int, value int32) string {
			if channel >= len(channels) {
				return ""
			}
			c := channels[channel]
			if s, ok := c.Word(value); ok {
				return s
			}
			if c.Words != nil {
				return "?"
			}
			return ""
		}
	}
	names := func(channels []record.Channel) (all []string) {
		for _, c := range channels {
			all = append(all, c.Name)
		}
		return all
	}
	number := func(channels []record.Channel) func(int) (string, float64) {
		return func(channel int) (string, float64) {
			if channel >= len(channels) {
				return "", 0
			}
			return channels[channel].Name, channels[channel].Offset
		}
	}
	return count.Dictionary{Node: word(l.NodeCat), Edge: word(l.EdgeCat), NodeChannels: names(l.NodeCat), EdgeChannels: names(l.EdgeCat), NodeNumber: number(l.NodeAttr), EdgeNumber: number(l.EdgeAttr)}
}

// shares splits weights among nodes and edges.
type shares struct {
	graph float64
	nodes map[int32]float64
	edges map[graph.Edge]float64
}

func newShares() *shares {
	return &shares{nodes: map[int32]float64{}, edges: map[graph.Edge]float64{}}
}

// add splits the weight of an occurrence equally among its nodes and edges.
func (s *shares) add(weight float64, o count.Occurrence) {
	n := len(o.Nodes) + len(o.Edges)
	if n == 0 {
		s.graph += weight
		return
	}
	weight /= float64(n)
	for _, v := range o.Nodes {
		s.nodes[v] += weight
	}
	for _, e := range o.Edges {
		s.edges[e] += weight
	}
}

// share moves half of the weight of each node to its edges, and lists the weights: of all nodes of the
// graph, or of those with a weight.
func (s *shares) share(g *graph.Graph, all bool, e *Explanation) {
	for edge := range s.edges {
		for _, v := range [2]int32{edge.U, edge.V} {
			s.nodes[v] += 0
		}
	}
	var nodes []int32
	if all {
		for v := range int32(g.N()) {
			nodes = append(nodes, v)
		}
	} else {
		for v := range s.nodes {
			nodes = append(nodes, v)
		}
		slices.Sort(nodes)
	}
	listed := func(v int32) bool {
		if all {
			return true
		}
		_, ok := s.nodes[v]
		return ok
	}
	// edges has the edges between listed nodes.
	var edges []graph.Edge
	degree := map[int32]int{}
	for _, v := range nodes {
		// The shorter of two lists is scanned: a hub has more neighbours than listed nodes.
		look := func(u int32) {
			edges = append(edges, graph.Edge{U: v, V: u})
			degree[v]++
			degree[u]++
		}
		if g.Degree(v) <= len(nodes) {
			for _, u := range g.Adj(v) {
				if (g.Directed || v < u) && listed(u) {
					look(u)
				}
			}
			continue
		}
		for _, u := range nodes {
			if (g.Directed || v < u) && g.Entry(v, u) >= 0 {
				look(u)
			}
		}
	}
	e.Graph = s.graph
	for _, edge := range edges {
		w := s.edges[edge]
		for _, v := range [2]int32{edge.U, edge.V} {
			w += s.nodes[v] / 2 / float64(degree[v])
		}
		e.Edges = append(e.Edges, EdgeWeight{edge.U, edge.V, w})
	}
	for _, v := range nodes {
		w := s.nodes[v]
		if degree[v] > 0 {
			w /= 2
		}
		e.Nodes = append(e.Nodes, NodeWeight{ID: v, Weight: w})
	}
}
