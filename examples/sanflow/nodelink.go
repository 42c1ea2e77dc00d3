package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
)

// question is the body of POST /predict: a graph as node-link JSON, or names of nodes of
// the open graph; with both, nodes of that graph.
type question struct {
	ID    json.RawMessage   `json:"id"`   // of the graph; any JSON
	Name  json.RawMessage   `json:"name"` // if there is no ID, and else the key name of Graph
	Graph json.RawMessage   `json:"graph"`
	Nodes []json.RawMessage `json:"nodes"`
	Edges []json.RawMessage `json:"edges"`
	Links []json.RawMessage `json:"links"` // the same, as D3 calls them
	IDs   []json.RawMessage `json:"ids"`   // names, or pairs of names for links

	text []byte
}

// errWanted says what a body is.
var errWanted = errors.New(`want {"nodes": [{"id": …}], "edges": [{"source": …, "target": …}]} or {"ids": […]}`)

// maxValues bounds the nodes, edges, ids and their keys in a body, and so the memory that is
// taken for them, which is up to 24 bytes of headers for 2 bytes of text.
const maxValues = 1 << 20

// parseQuestion reads a body.
func parseQuestion(text []byte) (*question, error) {
	if n := bytes.Count(text, []byte{','}); n >= maxValues {
		return nil, fail(http.StatusRequestEntityTooLarge, "the body has %d commas, want fewer than %d: fewer nodes, edges or ids", n, maxValues)
	}
	q := &question{text: text}
	if err := json.Unmarshal(text, q); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			if err = fmt.Errorf("%s is a JSON %s, want an array", wrong.Field, wrong.Value); wrong.Field == "" {
				err = fmt.Errorf("the body is a JSON %s, want an object", wrong.Value)
			}
		}
		return nil, fmt.Errorf("%w; %w", err, errWanted)
	}
	if q.Edges != nil && q.Links != nil {
		return nil, errors.New("edges and links are both set, want one")
	}
	if !q.hasGraph() && q.IDs == nil {
		return nil, errWanted
	}
	return q, nil
}

// name is what the graph is called; JSON.
func (q *question) name() json.RawMessage {
	var of struct {
		Name json.RawMessage `json:"name"`
	}
	_ = json.Unmarshal(q.Graph, &of) // another kind of value has no name
	for _, name := range []json.RawMessage{q.ID, q.Name, of.Name} {
		if name != nil && string(name) != "null" {
			return name
		}
	}
	return json.RawMessage("null")
}

func (q *question) hasGraph() bool { return q.Nodes != nil || q.Edges != nil || q.Links != nil }

// nameOf is the name that a JSON string or whole number is.
func nameOf(raw json.RawMessage) (string, error) {
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	if _, err := strconv.ParseInt(string(raw), 10, 64); err != nil {
		return "", fmt.Errorf("%#q is no name, want a string or a whole number", clip(string(raw)))
	}
	return string(raw), nil
}

// posted is a graph that came.
type posted struct {
	graph   *graph.Graph
	ids     graph.IDs
	unknown int // words that the model does not have
}

// build makes the graph, with the attributes of a layout. Edges have those by the names of
// the columns that the model has learned from, or of the channels.
func (q *question) build(l record.Layout, c columns) (*posted, error) {
	l.NodeIDs = graph.NoIDs // as they come
	named := l
	named.EdgeCat, named.EdgeAttr = c.named(l.EdgeCat), c.named(l.EdgeAttr)
	text := bytes.Clone(q.text) // strings lose their escapes
	it, unknown, err := sources.ParseNodeLink(text, named)
	if err != nil {
		if by, n, other := sources.ParseNodeLink(q.text, l); other == nil {
			it, unknown, err = by, n, nil
		}
	}
	if err == nil {
		err = errors.Join(
			unread("node", q.Nodes, l.NodeCat, l.NodeAttr, []record.Channel{l.NodeSparse}),
			unread("link", slices.Concat(q.Edges, q.Links), l.EdgeCat, l.EdgeAttr, named.EdgeCat, named.EdgeAttr),
		)
	}
	if err == nil && l.NodeSparse.Card > 0 {
		err = q.sparse(it.Graph, l.NodeSparse)
	}
	return &posted{it.Graph, it.NodeID, unknown}, err
}

// unread reports the first key of some nodes or links that is an attribute by the rule of
// sources.NodeLink, and not one of the model.
func unread(what string, rows []json.RawMessage, channels ...[]record.Channel) error {
	known := map[string]bool{"id": true, "source": what == "link", "target": what == "link", "key": true, "index": true}
	for _, c := range slices.Concat(channels...) {
		known[c.Name] = true
	}
	for i, row := range rows {
		var of map[string]json.RawMessage
		_ = json.Unmarshal(row, &of) // ParseNodeLink tells what is not an object
		for _, key := range slices.Sorted(maps.Keys(of)) {
			if value := of[key]; !known[key] && !bytes.ContainsAny(value[:1], "{[n") {
				return fail(http.StatusBadRequest, "%s %d: the model does not read the attribute %q", what, i, clip(key))
			}
		}
	}
	return nil
}

// named is channels by the names of their columns.
func (c columns) named(channels []record.Channel) (named []record.Channel) {
	column := map[string]string{"type": c.Type, "weight": c.Weight, "time": c.Time}
	for _, ch := range channels {
		if name := column[ch.Name]; name != "" {
			ch.Name = name
		}
		named = append(named, ch)
	}
	return named
}

// sparse reads the sparse attribute: a list of indices.
func (q *question) sparse(g *graph.Graph, c record.Channel) error {
	g.SparseCard, g.SparseOffsets = c.Card, []int32{0}
	for v := range g.N() {
		var of map[string]json.RawMessage
		var list []int32
		if v < len(q.Nodes) {
			_ = json.Unmarshal(q.Nodes[v], &of) // an object, as ParseNodeLink has found
		}
		if of[c.Name] != nil {
			if err := json.Unmarshal(of[c.Name], &list); err != nil {
				return fmt.Errorf("node %d: %s: want a list of indices: %w", v, c.Name, err)
			}
		}
		g.NodeSparse = append(g.NodeSparse, list...)
		g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
	}
	return nil // Predict checks that they ascend and are in range
}

// raw is the JSON of the id of a node.
func (p *posted) raw(v int32) json.RawMessage {
	name := p.ids.Name(v)
	if p.ids.Kind() != graph.StringIDs {
		return json.RawMessage(name)
	}
	text, _ := json.Marshal(name) // of a string
	return text
}
