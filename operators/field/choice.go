package field

import (
	"math/bits"

	"github.com/sanflow/sanflow/internal/scratch"
)

// choice selects some of the nodes 0 … m-1 by a sequence of keys.
type choice struct {
	need int // number of nodes still to be selected
	// taken has the selected nodes, tied those not yet distinguished. Both ascend.
	taken, tied []int32
	key         []uint32 // by node, the input of narrow
}

// begin starts a selection of need out of m nodes. No node is tied yet.
func (c *choice) begin(need, m int) {
	c.need = need
	c.key, c.tied, c.taken = scratch.Resize(c.key, m), c.tied[:0], c.taken[:0]
}

// all ties all nodes, so that the next key distinguishes all of them.
func (c *choice) all() {
	c.tied = scratch.Resize(c.tied, len(c.key))
	for j := range c.tied {
		c.tied[j] = int32(j)
	}
}

// narrow takes the tied nodes of smaller keys and drops those of greater keys. It reports whether
// the selection is complete.
func (c *choice) narrow() bool {
	for shift := 1; shift > 0 && c.need < len(c.tied); {
		low, high := c.key[c.tied[0]], uint32(0)
		for _, j := range c.tied {
			low, high = min(low, c.key[j]), max(high, c.key[j])
		}
		shift = max(0, bits.Len32(high-low)-6)
		var count [64]int32
		for _, j := range c.tied {
			count[(c.key[j]-low)>>shift&63]++
		}
		at, need := uint32(0), int32(c.need)
		for need > count[at] {
			need -= count[at]
			at++
		}
		kept := c.tied[:0]
		for _, j := range c.tied {
			switch d := (c.key[j] - low) >> shift; {
			case d < at:
				c.taken = append(c.taken, j)
			case d == at:
				kept = append(kept, j)
			}
		}
		c.tied, c.need = kept, int(need)
	}
	return c.settled()
}

// settled takes all tied nodes if all are needed. It reports whether they are.
func (c *choice) settled() bool {
	if c.need < len(c.tied) {
		return false
	}
	c.taken = append(c.taken, c.tied...)
	c.need = 0
	return true
}
