package operators

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/field"
)

// hoods returns the neighbourhoods of a row: those in the columns hood and dist, or none if
// Normalize gathers them.
type hoods struct {
	gathers bool
	trusted bool // Assemble has made the columns in this run, so they need no check

	walk  field.Assembler
	roots record.ListView[int32]
	hood  record.NestedView[int32]
	dist  record.NestedView[uint8]

	// Values of the current row. Neighbourhood i is nodes[hoodEnds[i]:hoodEnds[i+1]]; its distances are in dists likewise.
	root     []int32
	hoodEnds []int32
	distEnds []int32
	nodes    []int32
	dists    []uint8
}

func (h *hoods) begin(rec arrow.Record, trusted bool) (err error) {
	h.trusted = trusted
	if h.roots, err = record.ListsOf[int32](rec, record.Roots); err != nil || h.gathers {
		return err
	}
	if h.hood, err = record.NestedOf[int32](rec, record.Hood); err != nil {
		return err
	}
	h.dist, err = record.NestedOf[uint8](rec, record.Dist)
	return err
}

// enter reads a row of w roots of a graph of n nodes. Unless Assemble made the columns in this run,
// it checks the neighbourhoods, since records may come from a file.
func (h *hoods) enter(row, w, n int) error {
	h.root = h.roots.Row(row)
	if len(h.root) != w {
		return fmt.Errorf("there are %d roots, want %d", len(h.root), w)
	}
	if err := checkRoots(h.root, n); err != nil || h.gathers {
		return err
	}
	if got := h.hood.RowLen(row); got != w || h.dist.RowLen(row) != got {
		return fmt.Errorf("there are %d neighbourhoods with %d lists of distances, want %d", got, h.dist.RowLen(row), w)
	}
	h.hoodEnds, h.nodes = h.hood.Row(row)
	h.distEnds, h.dists = h.dist.Row(row)
	for i := 0; i < w && !h.trusted; i++ {
		if err := checkHood(i, n, h.nodes[h.hoodEnds[i]:h.hoodEnds[i+1]], h.dists[h.distEnds[i]:h.distEnds[i+1]]); err != nil {
			return err
		}
	}
	return nil
}

func checkHood(i, n int, hood []int32, dist []uint8) error {
	if len(hood) != len(dist) {
		return fmt.Errorf("field %d has %d nodes and %d distances", i, len(hood), len(dist))
	}
	last := int64(-1) // distance and number of the previous node
	for j, v := range hood {
		if uint32(v) >= uint32(n) {
			return fmt.Errorf("field %d names node %d, which is not among the %d nodes", i, v, n)
		}
		at := int64(dist[j])<<32 | int64(v)
		if at <= last {
			return fmt.Errorf("field %d is not ordered by distance and number", i)
		}
		last = at
	}
	if len(dist) > 0 && (dist[0] != 0 || len(dist) > 1 && dist[1] == 0) {
		return fmt.Errorf("field %d does not start with its root alone", i)
	}
	return nil
}

// at returns the neighbourhood of root i, borrowed. It is empty for a zero field, and if Normalize
// gathers the neighbourhoods.
func (h *hoods) at(i int) (hood []int32, dist []uint8) {
	if h.gathers {
		return nil, nil
	}
	return h.nodes[h.hoodEnds[i]:h.hoodEnds[i+1]], h.dists[h.distEnds[i]:h.distEnds[i+1]]
}

// used returns the number of roots without the zero fields at the end of the row.
func (h *hoods) used() int {
	if h.gathers {
		return len(used(h.root))
	}
	n := len(h.root)
	for n > 0 && h.hoodEnds[n-1] == h.hoodEnds[n] {
		n--
	}
	return n
}
