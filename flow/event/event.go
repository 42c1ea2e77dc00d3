// Package event defines one change of a graph, from a source to an operator or a task.
//
//	for e := range events {
//		if e.Kind == event.AddEdge {
//			fmt.Println(e.Time, e.Source, "-", e.Target)
//		}
//	}
package event

import (
	"fmt"
	"strconv"
)

// Kind is the type of the change.
type Kind uint8

const (
	// AddEdge adds one occurrence of the edge Source–Target, or of the arc Source→Target of a
	// directed graph, with attributes of its own. The edge exists while at least one of its occurrences does, and
	// has the smallest attributes of these, unless a setting of the graph says otherwise. A self-loop adds its node and no edge.
	AddEdge Kind = iota
	// RemoveEdge removes the oldest occurrence of the edge, with its attributes. The removal of an edge
	// that is absent is counted.
	RemoveEdge
	// RemoveNode removes all edges of Source, its attributes and its class. Source remains as a node
	// without edges, with its number.
	RemoveNode
	// SetNode sets the attributes of node Source.
	SetNode
	// SetEdge sets the attributes of an edge, for all its occurrences. An edge that is
	// absent is counted.
	SetEdge
	// SetClass sets the class of node Source to Class.
	SetClass
	kinds
)

var kindNames = [kinds]string{"add_edge", "remove_edge", "remove_node", "set_node", "set_edge", "set_class"}

func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "invalid kind " + strconv.Itoa(int(k))
}

// Kinds returns the names of all kinds, in the order of their values.
func Kinds() []string { return append([]string(nil), kindNames[:]...) }

// Event is one change of a graph. Nodes are numbers from 0; the first event that names
// a node creates it, with all nodes of smaller number.
type Event struct {
	Kind Kind
	// Pos is the position of the event in its source.
	Pos int64
	// Time is when the event happened, in the unit of the source, which a stream keeps.
	// A graph uses the order and the differences of times and nothing else.
	Time int64
	// Source and Target are the ends of the edge. Events of nodes use Source.
	Source, Target int32
	// Class is the class of a SetClass, from 0; -1 removes the class.
	Class int32
	// Cat and Attr are the discrete and the continuous attributes of the node or of the
	// edge: all of them, or none, which means zeros. They are borrowed: valid until the
	// source gives its next event.
	Cat  []int32
	Attr []float32
}

// OfEdge reports whether the event names an edge.
func (e *Event) OfEdge() bool {
	return e.Kind == AddEdge || e.Kind == RemoveEdge || e.Kind == SetEdge
}

// Check returns the first violation of the rules above by e, for a graph whose nodes or edges, by
// Kind, have cats discrete and attrs continuous attributes.
func (e *Event) Check(cats, attrs int) error {
	switch {
	case e.Kind >= kinds:
		return fmt.Errorf("event %d: kind is %d, want 0 to %d", e.Pos, e.Kind, kinds-1)
	case e.Source < 0:
		return fmt.Errorf("event %d: %v: source is node %d, want 0 or more", e.Pos, e.Kind, e.Source)
	case e.OfEdge() && e.Target < 0:
		return fmt.Errorf("event %d: %v: target is node %d, want 0 or more", e.Pos, e.Kind, e.Target)
	case e.Kind == SetClass && e.Class < -1:
		return fmt.Errorf("event %d: %v: class is %d, want -1 or more", e.Pos, e.Kind, e.Class)
	case len(e.Cat) != 0 && len(e.Cat) != cats:
		return fmt.Errorf("event %d: %v: %d discrete attributes, want %d", e.Pos, e.Kind, len(e.Cat), cats)
	case len(e.Attr) != 0 && len(e.Attr) != attrs:
		return fmt.Errorf("event %d: %v: %d continuous attributes, want %d", e.Pos, e.Kind, len(e.Attr), attrs)
	}
	for i, c := range e.Cat {
		if c < 0 {
			return fmt.Errorf("event %d: %v: discrete attribute %d is %d, want 0 or more", e.Pos, e.Kind, i, c)
		}
	}
	return nil
}
