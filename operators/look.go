package operators

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/field"
)

// look is what a row stage has found out about a record and shares with the row stage
// behind it on the same goroutine: Select, Assemble and Normalize look at a record once
// between them.
type look struct {
	graphs *record.Graphs // the view of the graphs, each of which was checked
	hoods  bool           // the columns hood and dist are those that Assemble has made

	index     *sharedGraph // of the only row, where workers share it; or nil
	direction field.Direction
	bound     int
}

// looker is a rowBuilder that shares its look. It leaves the columns of graphs as they
// are.
type looker interface {
	given(l *look) // of the stage before, or nil; called before Begin
	look() *look   // when the rows of a record are done
}

// viewer is the part of a looker that views graphs.
type viewer struct {
	bound *record.Binding
	from  *look
	now   look
	own   record.Graphs
}

func (v *viewer) given(l *look) { v.from = l }

func (v *viewer) look() *look { return &v.now }

// view looks at rec, unless the stage before has.
func (v *viewer) view(rec arrow.Record) error {
	v.now = look{graphs: &v.own}
	if v.from != nil {
		v.now.graphs = v.from.graphs
		return nil
	}
	return v.bound.ViewInto(&v.own, rec)
}

// sharedIndex returns the index that the stage before has used, if it is of that kind.
func (v *viewer) sharedIndex(d field.Direction, bound int) *sharedGraph {
	if l := v.from; l != nil && l.index != nil && l.direction == d && l.bound == bound {
		return l.index
	}
	return nil
}
