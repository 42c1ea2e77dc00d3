package field

import (
	"math/bits"

	"github.com/sanflow/sanflow/internal/scratch"
)

// choice chooses some of the nodes 0 … m-1, by one key after another.
type choice struct {
	need int // nodes still to be chosen
	// taken have been chosen, tied have not been told apart yet; both ascend.
	taken, tied []int32
	key         []uint32 // by node, for narrow
}

// begin begins a choice of some of m nodes. None of them is tied yet.
func (c *choice) begin(need, m int) {
	c.need = need
	c.key, c.tied, c.taken = scratch.Resize(c.key, m), c.tied[:0], c.taken[:0]
}

// all makes all nodes tied.
func (c *choice) all() {
	c.tied = scratch.Resize(c.tied, len(c.key))
	for j := range c.tied {
		c.tied[j] = int32(j)
	}
}

// narrow takes the nodes of smaller key among the tied ones and drops those of
// greater key. It reports whether nothing is left to choose.
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

// settled takes all tied nodes if all are needed, and reports whether they are.
func (c *choice) settled() bool {
	if c.need < len(c.tied) {
		return false
	}
	c.taken = append(c.taken, c.tied...)
	c.need = 0
	return true
}
