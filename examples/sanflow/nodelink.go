package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
)

// question is the body of POST /predict: a graph as node-link JSON, or names of nodes of
// the open graph; with both, nodes of that graph.
type question struct {
	ID    json.RawMessage              `json:"id"` // of the graph; any JSON
	Nodes []map[string]json.RawMessage `json:"nodes"`
	Edges []map[string]json.RawMessage `json:"edges"`
	Links []map[string]json.RawMessage `json:"links"` // the same, as D3 calls them
	IDs   []json.RawMessage            `json:"ids"`   // names, or pairs of names for links
}

// parseQuestion reads a body.
func parseQuestion(r io.Reader) (*question, error) {
	q := new(question)
	d := json.NewDecoder(r)
	if err := d.Decode(q); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is something behind the JSON object")
	}
	if q.Edges = append(q.Edges, q.Links...); q.Nodes == nil && q.Edges == nil && q.IDs == nil {
		return nil, errors.New(`want {"nodes": [{"id": …}], "edges": [{"source": …, "target": …}]} or {"ids": […]}`)
	}
	return q, nil
}

// nameOf is the name that a JSON string or whole number is.
func nameOf(raw json.RawMessage) (string, error) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	if _, err := strconv.ParseInt(string(raw), 10, 64); err != nil {
		return "", fmt.Errorf("%s is no name, want a string or a whole number", clip(string(raw)))
	}
	return string(raw), nil
}

// posted is a graph that came.
type posted struct {
	graph   *graph.Graph
	names   []json.RawMessage
	index   map[string]int32
	unknown int // words that the model does not have
}

// build makes the graph, with the attributes of a layout. The attribute of an edge or a
// node stands by the name of its channel, the first discrete one also by type. Nodes that only edges name have none.
func (q *question) build(l record.Layout) (*posted, error) {
	p := &posted{index: map[string]int32{}}
	var b sources.Builder
	b.Directed = l.Directed
	for i, n := range q.Nodes {
		name, err := nameOf(n["id"])
		if err != nil {
			return nil, fmt.Errorf("node %d: id: %w", i, err)
		}
		if _, ok := p.index[name]; ok {
			return nil, fmt.Errorf("node %d: id: %q is that of another node", i, name)
		}
		p.index[name], p.names = int32(i), append(p.names, n["id"])
		cats, attrs, err := p.attributes(n, l.NodeCat, l.NodeAttr)
		if err != nil {
			return nil, fmt.Errorf("node %q: %w", name, err)
		}
		if b.Node(cats...); len(attrs) > 0 {
			b.NodeAttr(attrs...)
		}
	}
	for i, e := range q.Edges {
		var ends [2]int32
		for side, key := range []string{"source", "target"} {
			name, err := nameOf(e[key])
			if err != nil {
				return nil, fmt.Errorf("edge %d: %s: %w", i, key, err)
			}
			v, ok := p.index[name]
			switch {
			case ok:
			case len(l.NodeCat)+len(l.NodeAttr) > 0 || q.Nodes != nil:
				return nil, fmt.Errorf("edge %d: %s: there is no node %q", i, key, name)
			default:
				v = int32(len(p.names))
				p.index[name], p.names = v, append(p.names, e[key])
				b.Node()
			}
			ends[side] = v
		}
		cats, attrs, err := p.attributes(e, l.EdgeCat, l.EdgeAttr)
		if err != nil {
			return nil, fmt.Errorf("edge %d: %w", i, err)
		}
		if b.Edge(ends[0], ends[1], cats...); len(attrs) > 0 {
			b.EdgeAttr(attrs...)
		}
	}
	var err error
	if p.graph, err = b.Graph(); err != nil {
		return nil, err
	}
	p.graph.EdgeCats, p.graph.EdgeAttrs = len(l.EdgeCat), len(l.EdgeAttr) // also without an edge
	if l.NodeSparse.Card > 0 {
		err = p.sparse(q, l.NodeSparse)
	}
	return p, err
}

// attributes reads those that the channels name.
func (p *posted) attributes(of map[string]json.RawMessage, cat, attr []record.Channel) (cats []int32, attrs []float32, err error) {
	for i, c := range cat {
		raw := of[c.Name]
		if raw == nil && i == 0 {
			raw = of["type"]
		}
		var word string
		if c.Unseen() >= 0 { // a word, or the number that it was
			if word, err = nameOf(raw); err != nil && len(raw) > 0 && string(raw) != "null" {
				return nil, nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			at := c.Index(word)
			if at == c.Unseen() {
				p.unknown++
			}
			cats = append(cats, at)
			continue
		}
		var x int32
		if err := json.Unmarshal(raw, &x); err != nil || x < 0 || int(x) >= c.Card {
			return nil, nil, fmt.Errorf("%s is %s, want 0 to %d", c.Name, clip(string(raw)), c.Card-1)
		}
		cats = append(cats, x)
	}
	for _, c := range attr {
		var x float32
		if err := json.Unmarshal(of[c.Name], &x); err != nil || bytes.Equal(of[c.Name], []byte("null")) {
			return nil, nil, fmt.Errorf("%s is %s, want a number", c.Name, clip(string(of[c.Name])))
		}
		attrs = append(attrs, x)
	}
	return cats, attrs, nil
}

// sparse reads the sparse attribute: a list of indices.
func (p *posted) sparse(q *question, c record.Channel) error {
	p.graph.SparseCard, p.graph.SparseOffsets = c.Card, []int32{0}
	for v := range p.graph.N() {
		var list []int32
		if v < len(q.Nodes) && q.Nodes[v][c.Name] != nil {
			if err := json.Unmarshal(q.Nodes[v][c.Name], &list); err != nil {
				return fmt.Errorf("node %d: %s: want a list of indices: %w", v, c.Name, err)
			}
		}
		p.graph.NodeSparse = append(p.graph.NodeSparse, list...)
		p.graph.SparseOffsets = append(p.graph.SparseOffsets, int32(len(p.graph.NodeSparse)))
	}
	return nil // Predict checks that they ascend and are in range
}
