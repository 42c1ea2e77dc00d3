package operators

import (
	"fmt"
	"math"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// names is the ids of the nodes of a graph that changes, as events bring them.
type names struct {
	kind  graph.IDKind
	known []uint8 // by node: 1 where the id is known
	ints  []int64
	texts []string

	// of made
	someInts []int64
	ends     []int32
	text     []byte
}

// check reports why the ids of an event do not fit its nodes or the ids that they have.
func (n *names) check(e *event.Event, ids graph.IDs) error {
	nodes := ends(e)
	if ids.Len() == 0 {
		return nil
	}
	if ids.Len() != len(nodes) {
		return fmt.Errorf("event %d: %v: %d ids of nodes, want %d or none", e.Pos, e.Kind, ids.Len(), len(nodes))
	}
	if err := ids.CheckText(); err != nil {
		return fmt.Errorf("event %d: %v: %w", e.Pos, e.Kind, err)
	}
	for i, v := range nodes {
		differs := i == 1 && v == nodes[0] && ids.Name(0) != ids.Name(1)
		if v >= 0 && int(v) < len(n.known) && n.known[v] != 0 {
			id, ok := ids.Int(int32(i))
			differs = differs || ok && id != n.ints[v] || !ok && ids.Name(int32(i)) != n.texts[v]
		}
		if differs {
			return fmt.Errorf("event %d: %v: node %d has the id %s, and another one before", e.Pos, e.Kind, v, ids.Quoted(int32(i)))
		}
	}
	return nil
}

// ends returns the nodes of an event.
func ends(e *event.Event) []int32 {
	if e.OfEdge() {
		return []int32{e.Source, e.Target}
	}
	return []int32{e.Source}
}

// learn notes ids that check has let through, and calls do for each node that had none.
func (n *names) learn(e *event.Event, ids graph.IDs, do func(v int32)) {
	if ids.Len() == 0 {
		return
	}
	for i, v := range ends(e) {
		n.grow(int(v) + 1)
		if n.known[v] != 0 {
			continue
		}
		n.known[v] = 1
		if id, ok := ids.Int(int32(i)); ok {
			n.ints[v] = id
		} else {
			n.texts[v] = ids.Name(int32(i))
		}
		do(v)
	}
}

func (n *names) grow(nodes int) {
	more := nodes - len(n.known)
	if more <= 0 {
		return
	}
	n.known = append(n.known, make([]uint8, more)...)
	if n.kind == graph.Int64IDs {
		n.ints = append(n.ints, make([]int64, more)...)
	} else {
		n.texts = append(n.texts, make([]string, more)...)
	}
}

// fit reports an error where the ids of some nodes do not fit a column.
func (n *names) fit(nodes []int32) error {
	size := 0
	for _, v := range nodes {
		if v >= 0 && int(v) < len(n.texts) {
			size += len(n.texts[v])
		}
	}
	if size > math.MaxInt32 {
		return fmt.Errorf("the ids of the nodes of a row have %d bytes, want at most %d: set a smaller Size", size, math.MaxInt32)
	}
	return nil
}

// of returns the ids of some nodes, borrowed: 0, or the empty string, for -1 and for nodes
// without an id.
func (n *names) of(nodes []int32) graph.IDs {
	if n.kind == graph.Int64IDs {
		n.someInts = scratch.Resize(n.someInts, len(nodes))
		for i, v := range nodes {
			n.someInts[i] = 0
			if v >= 0 && int(v) < len(n.ints) {
				n.someInts[i] = n.ints[v]
			}
		}
		return graph.IDsOf(n.someInts)
	}
	n.ends, n.text = append(n.ends[:0], 0), n.text[:0]
	for _, v := range nodes {
		if v >= 0 && int(v) < len(n.texts) {
			n.text = append(n.text, n.texts[v]...)
		}
		n.ends = append(n.ends, int32(len(n.text)))
	}
	return graph.IDsOfText(n.ends, n.text)
}
