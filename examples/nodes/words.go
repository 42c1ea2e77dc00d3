package main

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
)

// nodeWords counts what the nodes around a root have for sparse attributes, and for
// classes where those are known: a word is one of them with the hops from the root,
// up to Hops. It adds what operators.Count adds for whole graphs, words_ids and
// words_counts, and target, the class of the root; the graph and the roots end here.
// It stands behind Chunk of 1.
type nodeWords struct {
	classes []int32
	names   []string
	known   []bool // classes that are; nil = none. That of a root does not stand in its words
	hops    int
}

// widest is how many nodes are looked at around a root. Those of a distance are all
// looked at or none, so that the numbers of nodes do not matter.
const widest = 1024

func (w nodeWords) String() string { return "nodeWords" }

// Open finds the columns.
func (w nodeWords) Open(in *arrow.Schema) (flow.Stage, error) {
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	target, _, err := record.Field(record.Layout{Classes: w.names}.Schema(), record.Target)
	if err != nil {
		return nil, err
	}
	ids, counts := operators.CountColumns("")
	rest := record.Without(in, record.Offsets, record.Neighbors, record.NodeAttr, record.NodeSparse, record.NodeTarget, record.Roots)
	out, err := record.Extend(rest,
		arrow.Field{Name: ids, Type: record.ListType[uint64]()}, arrow.Field{Name: counts, Type: record.ListType[float32]()}, target)
	if err != nil {
		return nil, err
	}
	return operators.RowStage(out, &worder{nodeWords: w, bound: bound}), nil
}

// worder is one worker.
type worder struct {
	nodeWords
	bound  *record.Binding
	graphs *record.Graphs
	roots  record.ListView[int32]
	bag    count.Bag
	seen   []bool
	around []int32 // the nodes that were seen

	ids    *record.Lists[uint64]
	counts *record.Lists[float32]
	target *record.Column[int32]
}

func (w *worder) Fork() operators.RowBuilder { return &worder{nodeWords: w.nodeWords, bound: w.bound} }

func (w *worder) Begin(mem memory.Allocator, rec arrow.Record) (err error) {
	if w.ids == nil {
		w.ids, w.counts, w.target = record.NewLists[uint64](mem), record.NewLists[float32](mem), record.NewColumn[int32](mem)
	}
	if w.roots, err = record.ListsOf[int32](rec, record.Roots); err != nil {
		return err
	}
	w.graphs, err = w.bound.View(rec)
	return err
}

func (w *worder) Row(_ context.Context, row int) error {
	var g graph.Graph
	w.graphs.At(row, &g)
	root := w.roots.Row(row)[0]
	w.bag.Reset()
	w.count(&g, root)
	entries := w.bag.Entries()
	ids, counts := w.ids.Grow(len(entries)), w.counts.Grow(len(entries))
	for i, e := range entries {
		ids[i], counts[i] = e.ID, float32(e.Count)
	}
	w.target.Append(w.classes[root])
	return nil
}

var (
	kindAround = count.Kind("node around")
	kindClass  = count.Kind("node class around")
)

// count adds the words of a root to the bag, ring by ring.
func (w *worder) count(g *graph.Graph, root int32) {
	if len(w.seen) < g.N() {
		w.seen = make([]bool, g.N())
	}
	w.around, w.seen[root] = append(w.around[:0], root), true
	begin, ring := 0, 0
	for {
		end := len(w.around)
		for _, v := range w.around[begin:end] {
			for _, i := range g.Sparse(v) {
				w.bag.Add(uint64(kindAround.Add(uint64(ring)).Add(uint64(i))), 1)
			}
			if w.known != nil && w.known[v] && v != root {
				w.bag.Add(uint64(kindClass.Add(uint64(ring)).Add(uint64(w.classes[v]))), 1)
			}
		}
		if ring == w.hops {
			break
		}
		for _, v := range w.around[begin:end] {
			for _, u := range g.Adj(v) {
				if !w.seen[u] {
					w.around, w.seen[u] = append(w.around, u), true
				}
			}
		}
		if len(w.around) > widest || len(w.around) == end {
			break
		}
		begin, ring = end, ring+1
	}
	for _, v := range w.around {
		w.seen[v] = false
	}
}

func (w *worder) Finish(int) map[string]arrow.Array {
	ids, counts := operators.CountColumns("")
	return map[string]arrow.Array{ids: w.ids.Finish(), counts: w.counts.Finish(), record.Target: w.target.Finish()}
}

func (w *worder) Release() {
	if w.ids != nil {
		w.ids.Release()
		w.counts.Release()
		w.target.Release()
	}
}

// words is what the model of words says of all nodes: that which is best for graphs
// (examples/internal/collection.NewBest), learned from the training nodes and
// stopped by the validation nodes. With few of them it looks three hops far; with
// many two, and at their classes.
func (d *dataset) words(ctx context.Context, c *config) (*average, error) {
	count := nodeWords{classes: d.Class, names: d.Classes, hops: 3}
	if !d.few() {
		count.hops, count.known = 2, d.learned()
	}
	bar := cli.NewProgress("words", int64(len(d.Class)))
	defer bar.Done()
	p := flow.From(d.NodeSet).
		Via(operators.Roots{Nodes: d.all()}).
		Via(operators.Chunk{Size: 1}).
		Via(count).
		With(flow.Options{Workers: c.workers})
	rows, err := d.inOne(ctx, p, bar)
	if err != nil {
		return nil, err
	}
	bar.Done()
	v := &view{rows: rows, words: true, many: !d.few()}
	defer release([]*view{v})
	if v.train, err = take(rows, d.train); err != nil {
		return nil, err
	}
	if v.val, err = take(rows, d.val); err != nil {
		return nil, err
	}
	m := d.committee(v, 0)
	if err := d.grow(ctx, c, []*committee{m}, 1, c.epochs); err != nil {
		return nil, err
	}
	said := newAverage(len(d.Class), len(d.Classes))
	return said, examine(ctx, m.nets[0].net, rows, said)
}
