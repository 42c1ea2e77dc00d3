package field

import "math/bits"

// choice chooses some of the nodes 0 … m-1, by one key after another.
type choice struct {
	need int // nodes still to be chosen
	// taken have been chosen, tied have not been told apart yet; both ascend.
	taken, tied []int32
	key         []uint32 // by node, for narrow
}

// begin begins a choice of some of m nodes, none of which is looked at yet.
func (c *choice) begin(need, m int) {
	c.need = need
	c.key = resize(c.key, m)
	c.taken, c.tied = c.taken[:0], c.tied[:0]
}

// all makes all nodes tied.
func (c *choice) all() {
	c.tied = resize(c.tied, len(c.key))
	for j := range c.tied {
		c.tied[j] = int32(j)
	}
}

// narrow takes the nodes of smaller key among the tied ones and drops those of
// greater key. It reports whether nothing is left to choose.
func (c *choice) narrow() bool {
	if len(c.tied) <= few {
		return c.narrowFew()
	}
	for shift := 1; shift > 0 && c.need < len(c.tied); {
		low, high := c.key[c.tied[0]], uint32(0)
		for _, j := range c.tied {
			low, high = min(low, c.key[j]), max(high, c.key[j])
		}
		shift = max(0, bits.Len32(high-low)-8)
		var count [256]int32
		for _, j := range c.tied {
			count[(c.key[j]-low)>>shift&255]++
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

// few is where counting all smaller ones costs as much as a histogram does, by
// BenchmarkField on power and polbooks.
const few = 16

// narrowFew is narrow for a few nodes: it takes those of least key until no more are
// needed.
func (c *choice) narrowFew() bool {
	if c.need == len(c.tied) {
		return c.settled()
	}
	var key [few]uint32
	var node, same [few]int32
	n := copy(node[:], c.tied)
	for i, j := range node[:n] {
		key[i] = c.key[j]
	}
	for {
		least := key[0]
		for _, x := range key[1:n] {
			least = min(least, x)
		}
		// Nobody can guess which these are, so there is no branch.
		equal, greater := 0, 0
		for i, x := range key[:n] {
			v, differ := node[i%few], x^least
			more := int((differ | -differ) >> 31)
			same[equal%few] = v
			node[greater%few], key[greater%few] = v, x
			equal += 1 - more
			greater += more
		}
		if equal >= c.need {
			c.tied = append(c.tied[:0], same[:equal]...)
			return c.settled()
		}
		c.taken = append(c.taken, same[:equal]...)
		c.need -= equal
		n = greater
	}
}

// settled takes all tied nodes if all are needed.
func (c *choice) settled() bool {
	if c.need < len(c.tied) {
		return false
	}
	c.taken = append(c.taken, c.tied...)
	return true
}
