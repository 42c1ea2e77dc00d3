package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sanflow/sanflow/operators/earlier"
)

// A Part has one of these kinds.
const (
	Bias     = "bias"
	Whole    = "graph"    // a word about the whole graph, or what no other part has
	Column   = "column"   // a number that the model reads
	Own      = "own"      // a word about the roots alone, such as an attribute
	Asked    = "asked"    // a root, without its own words
	Node     = "node"     // another node: of roots with its edges towards them
	Edge     = "edge"     // an edge of a graph
	Fragment = "fragment" // a subgraph, and all words about it
	Word     = "word"     // a word with more places than are listed, or with a large one
)

// mostFragment is the number of nodes of the largest fragment. A word about more is a Part of its own.
const mostFragment = 64

// Part is a part of the sum of a sinks.Explanation, as people read it. The weights of all parts add up to the sum.
type Part struct {
	Kind, Name string
	// Value is that of a column, the number of places of a fragment or a word, or the first discrete attribute of a node.
	Value  string
	Weight float64
	Nodes  [][]int32 // the places of a fragment, or the node

	of *fragment
}

// Text names the part with its value.
func (p Part) Text() string {
	switch p.Kind {
	case Column:
		return p.Name + " = " + p.Value
	case Fragment, Word:
		if p.Value != "1" {
			return p.Value + " × " + p.Name
		}
	case Asked:
		return p.Name + " itself"
	}
	return p.Name
}

// Parts lists the parts of the sum: the bias and the whole graph, and then the others, the largest weight without sign first.
// Those without a weight are left out, but for the neighbours of roots.
//
// About a graph and exact, the parts are fragments: the weight of a word is split equally among its places, and places whose
// subgraphs are isomorphic, with equal discrete attributes, are one fragment. About roots, a part is a node with what
// belongs to it: what it gave to its edges, and the weights of the edges that lead from it to nodes nearer to the roots.
func (p Explanation) Parts() (all []Part, err error) {
	e := p.Reasons
	for _, c := range e.Columns {
		if c.Weight == 0 {
			continue
		}
		value := "none"
		if c.Value != nil {
			if value = strconv.FormatFloat(*c.Value, 'g', 6, 64); p.Seconds && earlier.IsDuration(c.Name) {
				value = duration(*c.Value)
			}
		}
		all = append(all, Part{Kind: Column, Name: c.Name, Value: value, Weight: c.Weight})
	}
	switch {
	case e.Roots != nil:
		all = append(all, p.around()...)
	case e.Method == "exact":
		parts, err := p.fragments()
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	default:
		for _, v := range e.Nodes {
			all = append(all, Part{Kind: Node, Name: p.name(v.ID), Value: p.typeOf(v.ID), Weight: v.Weight, Nodes: [][]int32{{v.ID}}})
		}
		for _, x := range e.Edges {
			all = append(all, Part{Kind: Edge, Name: p.name(x.Source) + "–" + p.name(x.Target), Weight: x.Weight, Nodes: [][]int32{{x.Source, x.Target}}})
		}
		all = slices.DeleteFunc(all, func(p Part) bool { return p.Weight == 0 })
	}
	rest := e.Sum - e.Bias
	for _, part := range all {
		rest -= part.Weight
	}
	if math.Abs(rest) > 1e-6*(1+math.Abs(e.Sum)) || rest != rest { // more than rounding
		all = append(all, Part{Kind: Whole, Name: "the whole graph", Weight: rest})
	}
	slices.SortStableFunc(all, func(a, b Part) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return slices.Insert(all, 0, Part{Kind: Bias, Name: "before anything is known", Weight: e.Bias}), nil
}

// duration writes seconds in days, hours or minutes if they are one or more.
func duration(seconds float64) string {
	for _, unit := range []struct {
		name   string
		length float64
	}{{"days", 24 * 3600}, {"hours", 3600}, {"minutes", 60}} {
		if math.Abs(seconds) >= unit.length {
			return fmt.Sprintf("%.1f %s", seconds/unit.length, unit.name)
		}
	}
	return fmt.Sprintf("%.3g seconds", seconds)
}

// around lists the parts of an answer about roots.
func (p Explanation) around() (all []Part) {
	e := p.Reasons
	weight, half, near := map[int32]float64{}, map[int32]float64{}, map[int32][]int32{}
	for _, x := range e.Edges {
		near[x.Source], near[x.Target] = append(near[x.Source], x.Target), append(near[x.Target], x.Source)
	}
	for _, v := range e.Nodes {
		weight[v.ID] = v.Weight
		if n := len(near[v.ID]); n > 0 && e.Method == "exact" { // the weight is half of the attribution: the edges have the other half in equal parts
			half[v.ID], weight[v.ID] = v.Weight/float64(n), 2*v.Weight
		}
	}
	// distance is 1 + the number of edges between the roots and a node.
	distance, queue := map[int32]int{}, slices.Clone(e.Roots)
	for _, v := range e.Roots {
		distance[v] = 1
		if p.Graph != nil && p.Graph.Degree(v) <= mostDrawn {
			for _, u := range p.Graph.Adj(v) { // so that a neighbour without a weight is listed too
				weight[u] += 0
			}
		}
	}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, u := range near[v] {
			if distance[u] == 0 {
				distance[u] = distance[v] + 1
				queue = append(queue, u)
			}
		}
	}
	for _, x := range e.Edges {
		own, u, v := x.Weight-half[x.Source]-half[x.Target], x.Source, x.Target
		switch {
		case distance[u] > distance[v]:
			weight[u] += own
		case distance[u] < distance[v]:
			weight[v] += own
		default:
			weight[u] += own / 2
			weight[v] += own / 2
		}
	}
	if e.Method == "exact" {
		for _, w := range e.Words {
			if len(w.Members) == 0 {
				all = append(all, Part{Kind: Whole, Name: w.Text, Weight: w.Weight})
				continue
			}
			if w.Capped || slices.ContainsFunc(w.Members, func(place []int32) bool {
				return slices.ContainsFunc(place, func(v int32) bool { return !slices.Contains(e.Roots, v) })
			}) {
				continue
			}
			all = append(all, Part{Kind: Own, Name: strings.TrimPrefix(w.Text, "of the root: "), Weight: w.Weight})
			for _, v := range e.Roots {
				weight[v] -= w.Weight / float64(len(e.Roots))
			}
		}
	}
	for v, w := range weight {
		part := Part{Kind: Node, Name: p.name(v), Value: p.typeOf(v), Weight: w, Nodes: [][]int32{{v}}}
		if slices.Contains(e.Roots, v) {
			part.Kind = Asked
		}
		all = append(all, part)
	}
	slices.SortFunc(all, func(a, b Part) int { return slices.CompareFunc(a.Nodes, b.Nodes, slices.Compare) })
	return all
}

// answer returns the explained class with its probability, or the number, behind the target. If the model predicts another class, the text names it.
func (p Explanation) answer() (text, probability string) {
	e := p.Reasons
	if p.Target != "" {
		text = short(p.Target, 100) + " = "
	}
	if e.Class == "" {
		return text + fmt.Sprintf("%.6g", e.Value), ""
	}
	if at := slices.Index(e.Classes, e.Class); at >= 0 && at < len(e.Probs) {
		probability = fmt.Sprintf("%.4f", e.Probs[at])
	}
	if text += short(e.Class, 100); e.Predicted != e.Class {
		text += fmt.Sprintf(" (predicted: %s)", short(e.Predicted, 100))
	}
	return text, probability
}

// Summary says an answer in a line, with the parts that speak most for it, and the one that speaks most against it:
//
//	fraud, 0.9312: because of amount = 930 (+1.2), and P-17, P-9, P-4 (+0.8); against it night = 0 (-0.1)
func (p Explanation) Summary() (string, error) {
	parts, err := p.Parts()
	text, probability := p.answer()
	if probability != "" {
		text += ", " + probability
	}
	return text + ": " + p.because(parts), err
}

// because returns a phrase with the parts of the largest weights for the answer, and the largest against it.
func (p Explanation) because(parts []Part) string {
	const most = 3 // parts of kind Node, and parts of other kinds
	var others, nodes []string
	together, worst := 0.0, Part{}
	for _, part := range parts {
		text := short(part.Text(), 60)
		switch {
		case part.Kind == Bias || part.Kind == Whole || part.Weight == 0:
		case part.Weight < 0:
			if part.Weight < worst.Weight {
				worst = part
			}
		case part.Kind == Node:
			if len(nodes) < most {
				nodes, together = append(nodes, text), together+part.Weight
			}
		case len(others) < most:
			others = append(others, fmt.Sprintf("%s (%+.2g)", text, part.Weight))
		}
	}
	because, against, speaks := strings.Join(others, ", "), "against it ", "because of "
	if p.Reasons.Class == "" {
		against, speaks = "lowered by ", "raised by "
	}
	if len(nodes) > 0 {
		if because != "" {
			because += ", and "
		}
		because += fmt.Sprintf("%s (%+.2g)", strings.Join(nodes, ", "), together)
	}
	down := fmt.Sprintf("%s%s (%+.2g)", against, short(worst.Text(), 60), worst.Weight)
	switch {
	case len(others)+len(nodes) == 0 && worst.Weight == 0:
		return "as of most, since nothing here adds to it"
	case worst.Weight == 0:
		return speaks + because
	case len(others)+len(nodes) == 0:
		return down
	}
	return speaks + because + "; " + down
}

// name returns the name of a node, by default its number, of atoms from 1.
func (p Explanation) name(v int32) string {
	switch {
	case p.Name != nil:
		return short(p.Name(v), 100)
	case chemistryOf(&p.Layout) != nil:
		return strconv.Itoa(int(v) + 1)
	}
	return strconv.Itoa(int(v))
}

// typeOf returns the first discrete attribute of a node, of an atom its symbol with hydrogens and charge.
func (p Explanation) typeOf(v int32) string {
	if p.Graph == nil || v < 0 || int(v) >= p.Graph.N() {
		return ""
	}
	return labelOf(p.Graph, &p.Layout, chemistryOf(&p.Layout), v)
}

// places returns the nodes of the first 8 places as text.
func (p Explanation) places(all [][]int32) string {
	const most = 8
	var text []string
	for _, place := range all[:min(most, len(all))] {
		var names []string
		for _, v := range place {
			names = append(names, p.name(v))
		}
		text = append(text, "["+strings.Join(names, " ")+"]")
	}
	if len(all) > most {
		text = append(text, "…")
	}
	return strings.Join(text, " ")
}
