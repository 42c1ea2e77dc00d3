package page

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
)

// fragment is a subgraph that occurs at some places, up to isomorphism.
type fragment struct {
	name   string
	graph  *graph.Graph
	nodes  []int32   // node of the whole graph, by node of graph
	places [][]int32 // ascending nodes of each occurrence
	weight float64
}

// fragments lists the parts of an additive explanation of one graph.
func (p Explanation) fragments() (all []Part, err error) {
	at, byKey := map[string]*fragment{}, map[string]*fragment{}
	workers := map[int]count.Worker{} // counters that isomorphism keeps, by number of nodes of a graph
	var found []*fragment
	for _, w := range p.Reasons.Words {
		large := w.Capped || slices.ContainsFunc(w.Members, func(place []int32) bool { return len(place) > mostFragment })
		switch {
		case len(w.Members) == 0:
			all = append(all, Part{Kind: Whole, Name: w.Text, Weight: w.Weight})
			continue
		case large:
			all = append(all, Part{Kind: Word, Name: w.Text, Value: strconv.FormatFloat(w.Occurrences, 'g', 6, 64), Weight: w.Weight, Nodes: w.Members})
			continue
		}
		for _, place := range w.Members {
			nodes := slices.Compact(slices.Sorted(slices.Values(place)))
			id := fmt.Sprint(nodes)
			f := at[id]
			if f == nil {
				f = &fragment{nodes: nodes}
				if f.graph, err = p.Graph.Only(nodes); err != nil {
					return nil, err
				}
				key, err := isomorphism(f.graph, workers)
				if err != nil {
					return nil, err
				}
				if same := byKey[key]; same != nil {
					f = same
				} else {
					f.name = nameOf(f.graph, &p.Layout, chemistryOf(&p.Layout))
					byKey[key], found = f, append(found, f)
				}
				at[id], f.places = f, append(f.places, nodes)
			}
			f.weight += w.Weight / float64(len(w.Members))
		}
	}
	for _, f := range found {
		slices.SortFunc(f.places, slices.Compare)
		all = append(all, Part{Kind: Fragment, Name: f.name, Value: strconv.Itoa(len(f.places)), Weight: f.weight, Nodes: f.places, of: f})
	}
	return all, nil
}

// isomorphism returns a key that is equal for isomorphic graphs with equal discrete attributes: the fields around all nodes, each of which is the whole
// graph in canonical form. Other graphs have another key, unless hashes collide or fields exceed the budget of count.Fields.
func isomorphism(g *graph.Graph, workers map[int]count.Worker) (key string, err error) {
	w := workers[g.N()]
	if w == nil {
		if w, err = count.Prepare(count.Fields{K: []int{g.N()}}); err != nil {
			return "", err
		}
		workers[g.N()] = w
	}
	var bag count.Bag
	if err := w.Count(count.Input{Graph: g}, &bag); err != nil {
		return "", err
	}
	var b []byte
	for _, e := range bag.Entries() {
		b = binary.LittleEndian.AppendUint64(b, e.ID)
		b = strconv.AppendFloat(b, e.Count, 'g', -1, 64)
	}
	return string(b), nil
}

// labelOf returns the text of a node: that of an atom, or of the first discrete attribute, "" if there is none.
func labelOf(g *graph.Graph, l *record.Layout, c *chemistry, v int32) string {
	first := 0
	if c != nil {
		first = c.element
	}
	if first >= g.NodeCats {
		return ""
	}
	x := g.NodeCat[int(v)*g.NodeCats+first]
	switch {
	case x == sinks.Unread:
		return ""
	case c != nil:
		return c.atom(g, v)
	}
	if len(l.NodeCat) > 0 {
		if word, ok := l.NodeCat[0].Word(x); ok {
			return word
		}
	}
	return strconv.Itoa(int(x))
}

// nameOf returns a name of a subgraph that does not depend on the order of its nodes.
func nameOf(g *graph.Graph, l *record.Layout, c *chemistry) string {
	if c != nil {
		return c.name(g)
	}
	labels := map[string]int{}
	for v := range int32(g.N()) {
		if label := labelOf(g, l, nil, v); label != "" {
			labels[label]++
		}
	}
	var kinds []string
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		kinds = append(kinds, fmt.Sprintf("%d × %s", labels[label], short(label, 20)))
	}
	switch {
	case g.N() == 1 && len(kinds) == 1:
		return "node " + strings.TrimPrefix(kinds[0], "1 × ")
	case g.N() == 1:
		return "node"
	}
	name := fmt.Sprintf("%d nodes, %d edges", g.N(), g.M())
	if len(kinds) > 0 && len(kinds) <= 4 {
		name += ": " + strings.Join(kinds, ", ")
	}
	return name
}
