package flowtest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// EdgeList returns a graph as text that can be pasted into a file for sources.EdgeList,
// or a test: a comment with its size, and a line "u v" for each edge, or arc, in
// ascending order. Attributes are left out.
func EdgeList(g *graph.Graph) string {
	kind, edges, b := "undirected", 0, strings.Builder{}
	if g.Directed {
		kind = "directed"
	}
	for v := range int32(g.N()) {
		for _, u := range g.Adj(v) {
			if g.Directed || v <= u {
				fmt.Fprintf(&b, "%d %d\n", v, u)
				edges++
			}
		}
	}
	return fmt.Sprintf("# %s, nodes: %d, edges: %d\n%s", kind, g.N(), edges, &b)
}

// rowError is an error in a row that has come out, as Rows returns it.
type rowError struct {
	error
	row string
}

func (e *rowError) Unwrap() error { return e.error }

// explain adds to an error in a row the graph that the row is of.
func (s *subject) explain(err error) error {
	var e *rowError
	if !errors.As(err, &e) {
		return err
	}
	for _, rec := range s.trial.in {
		gs, bad := record.GraphsOf(rec)
		if bad != nil {
			return err // records of something else
		}
		for row := range gs.Len() {
			if id := fmt.Sprintf("%s=%d ", record.GraphID, gs.ID(row)); strings.HasPrefix(e.row, id) || strings.Contains(e.row, " "+id) {
				var g graph.Graph
				gs.At(row, &g)
				return fmt.Errorf("%w\nthe graph is\n%s", err, EdgeList(&g))
			}
		}
	}
	return err
}
