package sinks

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/nn"
)

// Known is what a model knows of rows by their ids: the rows that the model has learned from or was
// chosen by, and the nodes whose ids are sparse features. Keep puts it into the file of a model. An id
// is kept as the first KnownBits bits of a digest: another id is taken for one of n with the
// probability n/2⁴⁸, 4·10⁻⁹ for a million. The zero value knows nothing, and so does nil.
type Known struct {
	ids     []uint64  // digests, ascending; if nodes is set, in the order of features
	learned []bool    // by id: whether the row was a training row; nil: all were
	class   []int32   // by id: the class that a Smoothing propagates, or -1; nil: none
	beliefs []byte    // (ids, classes): probabilities in units of 1/255; nil: none
	nodes   bool      // ids are features of nodes
	first   int32     // feature of the first id
	means   []float32 // mean of beliefs by class
	at      map[uint64]int32
	rows    map[uint64]int // number of training rows by id
}

// KnownBits is the number of bits of an id of a Known.
const KnownBits = 48

const mostID = 1<<KnownBits - 1

// knownNote is the metadata key of a Known.
const knownNote = "known"

// knownJSON is the format of the note. IDs have KnownBits/8 bytes each, little-endian.
type knownJSON struct {
	IDs     []byte  `json:"ids"`
	Learned []byte  `json:"learned,omitempty"` // one bit for each id
	Class   []int32 `json:"class,omitempty"`
	Beliefs []byte  `json:"beliefs,omitempty"`
	Nodes   bool    `json:"nodes,omitempty"`
	First   int32   `json:"first,omitempty"`
}

// KnownRows returns a Known of rows that were learned from, by NodeID, PairID, or any hash of a row. Equal
// rows have one id.
func KnownRows(ids []uint64) *Known {
	k := new(Known)
	for _, id := range ids {
		k.ids = append(k.ids, id&mostID)
	}
	slices.Sort(k.ids) // the file does not depend on the order of the rows
	k.index()
	return k
}

// KnownNodes returns a Known of nodes that were learned from. features is the number of sparse
// features that the model reads. If the last g.N() of them are the ids of the nodes, as
// sources.NodeSet.Identify appends them, all nodes are known. ids are those of the nodes of g; a node
// without an id has its number.
func KnownNodes(g *graph.Graph, ids graph.IDs, features int, learned ...int32) *Known {
	first := int32(features - g.N())
	if first < 0 || int(first) != g.SparseCard && identity(g) != first {
		var rows []uint64
		for _, v := range learned {
			rows = append(rows, NodeID(ids, v))
		}
		return KnownRows(rows)
	}
	k := &Known{learned: make([]bool, g.N()), nodes: true, first: first}
	for v := range int32(g.N()) {
		k.ids = append(k.ids, NodeID(ids, v))
	}
	for _, v := range learned {
		k.learned[v] = true
	}
	k.index()
	return k
}

func (k *Known) index() {
	k.at, k.rows = make(map[uint64]int32, len(k.ids)), map[uint64]int{}
	for i, id := range k.ids {
		k.at[id] = int32(i)
		if k.learned == nil || k.learned[i] {
			k.rows[id]++
		}
	}
	sums := make([]int, len(k.beliefs)/max(1, len(k.ids)))
	for i, p := range k.beliefs {
		sums[i%len(sums)] += int(p)
	}
	for _, sum := range sums {
		k.means = append(k.means, float32(sum)/float32(255*len(k.ids)))
	}
}

// Learned returns the number of rows of an id that the model has learned from or was chosen by.
func (k *Known) Learned(id uint64) int {
	if k == nil {
		return 0
	}
	return k.rows[id&mostID]
}

// Identify returns g with the ids that the model knows as sparse features, and the number of nodes
// whose id the model does not know: such a node has no feature of its own, and no known class. A graph that
// has such features gets others. If ids are no features of the model, Identify returns g, and unknown is 0
// where the model has no known classes either.
func (k *Known) Identify(g *graph.Graph, ids graph.IDs) (identified *graph.Graph, unknown int, err error) {
	card := 0
	switch {
	case k == nil || !k.nodes && k.class == nil && k.beliefs == nil:
		return g, 0, nil
	case !k.nodes:
		for v := range int32(g.N()) {
			if _, ok := k.at[NodeID(ids, v)]; !ok {
				unknown++
			}
		}
		return g, unknown, nil
	}
	if card = int(k.first) + len(k.ids); g.SparseCard != int(k.first) && g.SparseCard != card {
		return nil, 0, fmt.Errorf("sinks: the nodes have %d sparse features, the model reads %d and %d ids", g.SparseCard, k.first, len(k.ids))
	}
	h := *g
	h.SparseCard, h.SparseOffsets, h.NodeSparse = card, make([]int32, 1, g.N()+1), nil
	for v := range int32(g.N()) {
		for _, x := range g.Sparse(v) {
			if x < k.first {
				h.NodeSparse = append(h.NodeSparse, x)
			}
		}
		if i, ok := k.at[NodeID(ids, v)]; ok {
			h.NodeSparse = append(h.NodeSparse, k.first+i)
		} else {
			unknown++
		}
		h.SparseOffsets = append(h.SparseOffsets, int32(len(h.NodeSparse)))
	}
	return &h, unknown, nil
}

// WithClasses returns k with the classes of nodes, which a Smoothing with Classes propagates. class is by
// the number of a node; a class of -1 is unknown.
func (k *Known) WithClasses(ids graph.IDs, class []int32) *Known {
	out := *k
	out.class = slices.Repeat([]int32{-1}, len(k.ids))
	for v, c := range class {
		if i, ok := k.at[NodeID(ids, int32(v))]; ok {
			out.class[i] = c
		}
	}
	return &out
}

// classes returns the known class of each of n nodes, or -1.
func (k *Known) classes(n int, ids graph.IDs) []int32 {
	class := slices.Repeat([]int32{-1}, n)
	for v := range class {
		if i, ok := k.at[NodeID(ids, int32(v))]; ok {
			class[v] = k.class[i]
		}
	}
	return class
}

// WithBeliefs returns k with the probabilities of the classes of all nodes, (nodes, classes) by their numbers, for operators.Beliefs. They
// are kept in 255ths.
func (k *Known) WithBeliefs(ids graph.IDs, n int, probs []float32) *Known {
	out, classes, node := &Known{nodes: k.nodes, first: k.first}, len(probs)/max(1, n), make(map[uint64]int, n)
	for v := range n {
		id := NodeID(ids, int32(v))
		out.ids, node[id] = append(out.ids, id), v
	}
	if !k.nodes { // else ids have the order of features
		slices.Sort(out.ids)
	}
	for _, id := range out.ids {
		out.learned = append(out.learned, k.Learned(id) > 0)
		for _, p := range probs[node[id]*classes:][:classes] {
			out.beliefs = append(out.beliefs, byte(math.Round(255*float64(p))))
		}
	}
	out.index()
	return out
}

// Believed returns the probabilities of the classes of each of n nodes, (nodes, classes): of one that is not known the means of those that are. any
// reports whether one is known.
func (k *Known) Believed(n int, ids graph.IDs) (probs []float32, any bool) {
	for v := range int32(n) {
		at, ok := k.at[NodeID(ids, v)]
		any = any || ok
		for c, p := range k.means {
			if ok {
				p = float32(k.beliefs[int(at)*len(k.means)+c]) / 255
			}
			probs = append(probs, p)
		}
	}
	return probs, any
}

// Keep puts k into the metadata of a model, which Save writes.
func (k *Known) Keep(m nn.Saver) error {
	out := knownJSON{Class: k.class, Beliefs: k.beliefs, Nodes: k.nodes, First: k.first}
	for _, id := range k.ids {
		out.IDs = append(out.IDs, binary.LittleEndian.AppendUint64(nil, id)[:KnownBits/8]...)
	}
	if k.learned != nil {
		out.Learned = make([]byte, (len(k.ids)+7)/8)
		for i, yes := range k.learned {
			if yes {
				out.Learned[i/8] |= 1 << (i % 8)
			}
		}
	}
	return keep(m, knownNote, &out)
}

func (k *knownJSON) check(nn.Shape) error {
	n := len(k.IDs) / (KnownBits / 8)
	if len(k.IDs)%(KnownBits/8) != 0 || k.Learned != nil && len(k.Learned) != (n+7)/8 || k.Class != nil && len(k.Class) != n || len(k.Beliefs) > 0 && (n == 0 || len(k.Beliefs)%n != 0) || k.First < 0 || int(k.First) > math.MaxInt32-n {
		return fmt.Errorf("%d bytes of ids, %d of learned, %d classes and %d beliefs do not fit", len(k.IDs), len(k.Learned), len(k.Class), len(k.Beliefs))
	}
	return nil
}

// known returns the Known that the note stores.
func (in *knownJSON) known() *Known {
	k := &Known{class: in.Class, beliefs: in.Beliefs, nodes: in.Nodes, first: in.First}
	for id := range slices.Chunk(in.IDs, KnownBits/8) {
		k.ids = append(k.ids, binary.LittleEndian.Uint64(append(slices.Clone(id), 0, 0)))
	}
	if in.Learned != nil {
		k.learned = make([]bool, len(k.ids))
		for i := range k.learned {
			k.learned[i] = in.Learned[i/8]>>(i%8)&1 == 1
		}
	}
	k.index()
	return k
}

// NodeID is the id of the row of a node. An integer and its digits are the same id.
func NodeID(ids graph.IDs, v int32) uint64 { return digestOf(ids.Append(nil, v)) }

// PairID is the id of the row of a pair of nodes, in any order.
func PairID(ids graph.IDs, u, v int32) uint64 {
	a, b := NodeID(ids, u), NodeID(ids, v)
	return digestOf(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, min(a, b)), max(a, b)))
}

func digestOf(text []byte) uint64 {
	sum := sha256.Sum256(text)
	return binary.LittleEndian.Uint64(sum[:]) & mostID
}
