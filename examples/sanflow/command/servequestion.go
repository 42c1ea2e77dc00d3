package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources/molecules"
	"github.com/sanflow/sanflow/sources/nodelink"
)

// question is the body of POST /predict and /explain: a graph as node-link JSON, or names of nodes of
// the open graph; with both, nodes of that graph; or a molecule; or rows.
type question struct {
	*nodelink.Text `json:"-"`
	IDs            []any        `json:"ids"` // strings and json.Number, or pairs of these for links
	SMILES         string       `json:"-"`
	Rows           []choose.Row `json:"rows"`
}

// errWanted says what a body is.
var errWanted = errors.New(`want {"nodes": [{"id": …}], "edges": [{"source": …, "target": …}]}, of a molecule {"smiles": "CCO"}, or {"ids": […]}`)

// smilesKey is in a body that is a molecule.
var smilesKey = []byte(`"smiles"`)

// maxValues bounds the nodes, edges, ids and their keys in a body, and so the memory that is
// taken for them, which is up to 24 bytes of headers for 2 bytes of text.
const maxValues = 1 << 20

// parse reads a body. An error that is no failure is one of the body.
func (s *server) parse(ctx context.Context, text []byte, missing []string) (*question, error) {
	fewer, read := "nodes, edges or ids", func(text []byte) (*question, error) { return parseQuestion(ctx, text, missing) }
	if s.task == "rows" {
		fewer, read = "rows", parseRows
	}
	if n := bytes.Count(text, []byte{','}); n >= maxValues {
		return nil, fail(http.StatusRequestEntityTooLarge, "the body has %d commas, want fewer than %d: fewer %s", n, maxValues, fewer)
	}
	return read(text)
}

// parseQuestion reads a body about a graph.
func parseQuestion(ctx context.Context, text []byte, missing []string) (*question, error) {
	if bytes.Contains(text, smilesKey) {
		q, keys := &question{Text: new(nodelink.Text)}, map[string]json.RawMessage{}
		if json.Unmarshal(text, &keys) == nil && keys["smiles"] != nil {
			if len(keys) > 1 || json.Unmarshal(keys["smiles"], &q.SMILES) != nil || q.SMILES == "" {
				return nil, errors.New(`want {"smiles": "CCO"}: one text, not empty, and no other key`)
			}
			return q, nil
		}
	}
	graph, err := nodelink.Parse(ctx, text, missing, "ids")
	if err != nil {
		return nil, fmt.Errorf("%w; %w", errors.Unwrap(err), errWanted) // which names no file
	}
	q := &question{Text: graph}
	if ids := q.Value("ids"); ids != nil {
		read := json.NewDecoder(bytes.NewReader(ids))
		read.UseNumber()
		if err := read.Decode(&q.IDs); err != nil {
			return nil, err
		}
	}
	if !q.HasGraph() && q.IDs == nil {
		return nil, errWanted
	}
	return q, nil
}

// name is what the graph is called; JSON.
func (q *question) name() json.RawMessage {
	if name := q.Name(); name != nil {
		return name
	}
	return json.RawMessage("null")
}

// nameOf is the name that a JSON string or whole number is.
func nameOf(id any) (string, error) {
	switch id := id.(type) {
	case string:
		return id, nil
	case json.Number:
		if _, err := id.Int64(); err == nil {
			return id.String(), nil
		}
	}
	return "", fmt.Errorf("%#q is no name, want a string or a whole number", textOf(id))
}

// textOf is the JSON of a part of a body, shortened.
func textOf(part any) string {
	text, _ := json.Marshal(part) // of what was JSON
	return clip(string(text))
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
	if own := molecules.Layout(); q.SMILES != "" {
		if !slices.EqualFunc(l.NodeCat, own.NodeCat, record.Channel.Equal) || !slices.EqualFunc(l.EdgeCat, own.EdgeCat, record.Channel.Equal) {
			return nil, fail(http.StatusBadRequest, "the model is not of molecules: send nodes and edges")
		}
		g, err := molecules.Parse(q.SMILES)
		if err != nil {
			err = fail(http.StatusBadRequest, "%w", err)
		}
		return &posted{graph: g}, err
	}
	l.NodeIDs = graph.NoIDs // as they come
	named, by := l, l
	named.EdgeCat, named.EdgeAttr = c.named(l.EdgeCat), c.named(l.EdgeAttr)
	by.EdgeCat, by.EdgeAttr = q.written(named.EdgeCat, l.EdgeCat), q.written(named.EdgeAttr, l.EdgeAttr)
	it, unknown, err := q.Graph(by)
	if err == nil {
		edges := slices.Concat(l.EdgeCat, l.EdgeAttr, named.EdgeCat, named.EdgeAttr)
		if what, key := q.Unread(slices.Concat(l.NodeCat, l.NodeAttr, []record.Channel{l.NodeSparse}), edges); key != "" {
			err = fail(http.StatusBadRequest, "%s: the model does not read the attribute %q", what, clip(key))
		}
	}
	return &posted{it.Graph, it.NodeID, unknown}, err
}

// named is channels by the names of their columns.
func (c columns) named(channels []record.Channel) (named []record.Channel) {
	for _, ch := range channels {
		of, channel, _ := strings.Cut(ch.Name, " of ")
		if column := c.Role(channel); column != "" && slices.Contains(strings.Split(c.Repeated, ","), of) {
			ch.Name = of + " of " + column
		}
		ch.Name = cmp.Or(c.Role(ch.Name), ch.Name)
		named = append(named, ch)
	}
	return named
}

// written is the channels by names that links have: those of their columns, or else their own.
func (q *question) written(named, own []record.Channel) []record.Channel {
	all := slices.Clone(named)
	for i, c := range own {
		if !q.HasLink(named[i].Name) && q.HasLink(c.Name) {
			all[i] = c
		}
	}
	return all
}

// id is what a node is called, as nameOf reads it.
func (p *posted) id(v int32) any {
	if p.ids.Kind() != graph.StringIDs {
		return json.Number(p.ids.Name(v))
	}
	return p.ids.Name(v)
}
