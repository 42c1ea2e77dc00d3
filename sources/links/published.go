package links

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
	"github.com/sanflow/sanflow/sources/internal/walk"
)

var publishedColumns = []string{"split", "part", "link", "source", "target"}

// Published is one published split of the edges of a graph, with pairs that are not joined: what to learn from and
// what to test on. [ReadPublished] reads it.
type Published struct {
	Name string // value of the column split
	// IDs are the ids of the nodes of all splits of the table, as numbers if all are integers. Both are ascending.
	IDs graph.IDs
	// Train, Valid and Test are the pairs. Valid is empty where the table has no such part. The edges of the graph
	// are the links of Train.
	Train, Valid, Test Pairs
}

// Pairs are pairs of nodes, the lower node first, ascending.
type Pairs struct {
	Pairs []Pair
	Link  []bool // Link[i] tells whether Pairs[i] is an edge
}

// ReadPublished reads published splits from a table with the columns split, part (train, valid or val, test), link (1 or 0),
// source and target, one pair a row, the splits in the order of their names, shorter ones first. An id is any text. Those of the whole
// table are the nodes of each split: a node without a link in Train is isolated. A pair that one split has twice,
// in either direction, one of a node with itself, and a split without links to learn from or to test on
// are errors. Bounds of the reading are those of the table; O(rows log rows).
func ReadPublished(ctx context.Context, table sources.Table) ([]Published, error) {
	r, err := walk.Open(ctx, table, nil, publishedColumns...)
	if err != nil {
		return nil, err
	}
	defer r.Table.Close()
	p := &publishedReader{of: map[string]int{}, ids: map[string]int32{}, seen: map[publishedPair]bool{}}
	for err == nil {
		if err = r.Next(); err == nil {
			err = cmp.Or(r.Broken(), p.add(r))
		}
	}
	if err != io.EOF {
		return nil, err
	}
	if err := p.number(); err != nil {
		return nil, reading.InFile(r.Table.Name(), err)
	}
	return p.all, nil
}

// publishedPair identifies a pair within a split. The lower node is first.
type publishedPair struct {
	split int
	pair  Pair
}

// publishedReader collects the rows of a table. Nodes are numbered by first occurrence until number sorts
// them.
type publishedReader struct {
	all  []Published
	of   map[string]int // index in all, by name
	ids  map[string]int32
	list []string // ids by node
	seen map[publishedPair]bool
}

func (p *publishedReader) add(r *walk.Rows) error {
	var text [5]string
	for i := range publishedColumns {
		b, ok := r.Value(i)
		if b = bytes.TrimSpace(b); !ok || len(b) == 0 {
			return r.Fail(i, errors.New("there is no value"))
		}
		text[i] = string(b)
	}
	at, ok := p.of[text[0]]
	if !ok {
		at = len(p.all)
		p.of[text[0]], p.all = at, append(p.all, Published{Name: text[0]})
	}
	part, ok := map[string]*Pairs{"train": &p.all[at].Train, "valid": &p.all[at].Valid, "val": &p.all[at].Valid, "test": &p.all[at].Test}[text[1]]
	if !ok {
		return r.Fail(1, fmt.Errorf("%s, want train, valid or test", reading.Quote([]byte(text[1]))))
	}
	if text[2] != "0" && text[2] != "1" {
		return r.Fail(2, fmt.Errorf("%s, want 0 or 1", reading.Quote([]byte(text[2]))))
	}
	var pair Pair
	for i, id := range text[3:] {
		v, ok := p.ids[id]
		if !ok {
			v = int32(len(p.list))
			p.ids[id], p.list = v, append(p.list, id)
		}
		pair[i] = v
	}
	key := publishedPair{at, Pair{min(pair[0], pair[1]), max(pair[0], pair[1])}}
	switch {
	case pair[0] == pair[1]:
		return r.Fail(4, fmt.Errorf("the pair of %s with itself", reading.Quote([]byte(text[3]))))
	case p.seen[key]:
		return r.Fail(4, fmt.Errorf("split %.80q has the pair %.80q and %.80q twice", text[0], text[3], text[4]))
	}
	p.seen[key] = true
	part.Pairs, part.Link = append(part.Pairs, pair), append(part.Link, text[2] == "1")
	return nil
}

// number renumbers the nodes in the order of their ids, sorts the pairs, and checks the splits.
func (p *publishedReader) number() error {
	if len(p.all) == 0 {
		return errors.New("there are no rows")
	}
	slices.SortFunc(p.all, func(a, b Published) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	var names reading.GraphNames
	order, number := make([]int32, len(p.list)), make([]int32, len(p.list))
	for v, id := range p.list {
		order[v] = int32(v)
		if err := names.Add([]byte(id)); err != nil {
			return err
		}
	}
	ids := names.IDs()
	slices.SortFunc(order, func(u, v int32) int {
		if ints := ids.Ints(); ints != nil {
			return cmp.Compare(ints[u], ints[v])
		}
		return cmp.Compare(p.list[u], p.list[v])
	})
	for at, v := range order {
		number[v] = int32(at)
	}
	ids = ids.Renumber(number)
	for i := range p.all {
		s := &p.all[i]
		s.IDs = ids
		for _, part := range []*Pairs{&s.Train, &s.Valid, &s.Test} {
			order := make([]int, len(part.Pairs))
			for j, pair := range part.Pairs {
				u, v := number[pair[0]], number[pair[1]]
				part.Pairs[j], order[j] = Pair{min(u, v), max(u, v)}, j
			}
			slices.SortFunc(order, func(a, b int) int { return slices.Compare(part.Pairs[a][:], part.Pairs[b][:]) })
			sorted := Pairs{make([]Pair, 0, len(order)), make([]bool, 0, len(order))}
			for _, j := range order {
				sorted.Pairs, sorted.Link = append(sorted.Pairs, part.Pairs[j]), append(sorted.Link, part.Link[j])
			}
			*part = sorted
		}
		if !slices.Contains(s.Train.Link, true) || !slices.Contains(s.Test.Link, true) {
			return fmt.Errorf("split %.80q has no links to learn from, or none to test on", s.Name)
		}
	}
	return nil
}

// Trial makes the folds to learn from. Their links are those of p.Train, hidden in turn as those of [Split.Hide] are. Their
// other pairs are those that p.Train has, dealt alike, and drawn at random up to as many as links. Valid, where there
// is one, is the first fold, and hides no link of the others; so is Test, whose graph has all links of Train. Only Folds and
// MaxEdges of s are used.
func (p *Published) Trial(ctx context.Context, s Split, rng *rand.Rand) (*Trial, error) {
	folds := cmp.Or(s.Folds, 10)
	if folds < 1 || s.MaxEdges < 0 {
		return nil, fmt.Errorf("links: Folds %d, MaxEdges %d, want numbers that are not negative", s.Folds, s.MaxEdges)
	}
	var edges, others []Pair
	h := &hiding{ctx: ctx, g: &graph.Graph{Offsets: make([]int32, p.IDs.Len()+1)}, rng: rng, drawn: map[Pair]bool{}}
	for i, pair := range p.Train.Pairs {
		if p.Train.Link[i] {
			edges = append(edges, pair)
			continue
		}
		others = append(others, pair)
		h.drawn[pair] = true // the lower node is first
	}
	if len(edges) < 2*folds {
		return nil, fmt.Errorf("split %.80q: %d links are too few to learn from in %d parts", p.Name, len(edges), folds)
	}
	for _, list := range [][]Pair{edges, others} {
		if err := h.shuffle(list); err != nil {
			return nil, err
		}
	}
	whole, err := h.only(edges)
	if err != nil {
		return nil, err
	}
	if n := int64(h.g.N()); n*(n-1)/2-int64(len(p.Train.Pairs)) < int64(len(edges)) {
		return nil, fmt.Errorf("split %.80q: fewer than %d pairs of nodes are left that are not joined", p.Name, len(edges))
	}
	h.g = whole // draw excludes the edges of h.g
	t := &Trial{Test: Fold{Graph: whole, Pairs: p.Test.Pairs, Link: p.Test.Link}}
	if len(p.Valid.Pairs) > 0 {
		t.Folds = append(t.Folds, Fold{Graph: whole, Pairs: p.Valid.Pairs, Link: p.Valid.Link})
	}
	return t, h.folds(t, edges, others, folds, s.MaxEdges)
}
