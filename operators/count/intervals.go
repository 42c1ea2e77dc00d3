package count

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/sanflow/sanflow/flow/graph"
)

// Cuts divide the numbers into intervals. They ascend; interval i contains the numbers from cut i-1
// up to, but without, cut i. A number has three words, the intervals between all cuts, every fourth
// and every sixteenth cut. A missing number (NaN) has one word of its own. Without cuts a number
// has no word.
type Cuts []float32

const (
	// MostCuts is the number of cuts of Quantiles, at most.
	MostCuts = 63
	// coarser is the ratio of the widths of two levels.
	coarser = 4
	// leastIn is the smallest average number of values of an interval.
	leastIn = 10
	levels  = 3
)

// Quantiles returns at most MostCuts cuts with about equally many of the values in each interval.
// It ignores values that are not finite. A cut has as few digits as its neighbouring values permit.
// Quantiles reorders values; the result does not depend on their order.
func Quantiles(values []float32) (cuts Cuts) {
	values = slices.DeleteFunc(values, func(x float32) bool { return !finite(float64(x)) })
	slices.Sort(values)
	n := len(values)
	most := min(MostCuts, n/leastIn)
	for i := range most {
		at := (i + 1) * n / (most + 1)
		// The cut moves to the nearer end of the run of values equal to the quantile.
		from, to := sort.Search(at, func(j int) bool { return values[j] >= values[at] }), at+1
		to += sort.Search(n-to, func(j int) bool { return values[to+j] > values[at] })
		if from > 0 && at-from <= to-at {
			to = from
		}
		if to == n {
			continue
		}
		if c := between(values[to-1], values[to]); len(cuts) == 0 || c > cuts[len(cuts)-1] {
			cuts = append(cuts, c)
		}
	}
	return cuts
}

// Sixteenths returns cuts for probabilities: 1/16, 2/16, to 15/16.
func Sixteenths() (cuts Cuts) {
	for i := range 15 {
		cuts = append(cuts, float32(i+1)/16)
	}
	return cuts
}

// between returns the number with the fewest digits in (a, b].
func between(a, b float32) float32 {
	middle := float64(a)/2 + float64(b)/2
	for digits := range 9 {
		x, err := strconv.ParseFloat(strconv.FormatFloat(middle, 'g', digits+1, 64), 32)
		if y := float32(x); err == nil && y > a && y <= b {
			return y
		}
	}
	return b
}

// Check returns an error unless the cuts are finite and ascend.
func (c Cuts) Check() error {
	for i, x := range c {
		if !finite(float64(x)) || i > 0 && x <= c[i-1] {
			return fmt.Errorf("the cuts %v do not ascend", []float32(c))
		}
	}
	return nil
}

// Words calls add with the words of a number at the levels from 0 (narrow) to 2 (wide), beginning
// with level from, and with the bounds of their intervals, NaN for a missing number. The hashes of
// the words begin with h.
func (c Cuts) Words(h Hash, x float32, from int, add func(word Hash, low, high float64)) {
	if x != x {
		add(h.Add(levels), math.NaN(), math.NaN())
		return
	}
	at := sort.Search(len(c), func(i int) bool { return x < c[i] }) // number of cuts up to x
	for level, step := 0, 1; level < levels && step <= len(c); level, step = level+1, step*coarser {
		if level < from && step*coarser <= len(c) { // the next, wider level has cuts too
			continue
		}
		i, low, high := at/step, math.Inf(-1), math.Inf(1)
		if i > 0 {
			low = float64(c[i*step-1])
		}
		if next := (i+1)*step - 1; next < len(c) {
			high = float64(c[next])
		}
		add(h.Add(uint64(level)).Add(uint64(i)), low, high)
	}
}

// inText returns an interval as text.
func inText(name string, low, high, offset float64) string {
	low, high = low+offset, high+offset
	text := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 32) }
	if offset != 0 {
		text = func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	}
	switch {
	case low != low:
		return name + " missing"
	case math.IsInf(low, -1):
		return name + " below " + text(high)
	case math.IsInf(high, 1):
		return name + " from " + text(low)
	}
	return fmt.Sprintf("%s in [%s, %s)", name, text(low), text(high))
}

// Bins are the cuts of continuous attributes, for Around.
type Bins struct {
	Nodes []Cuts // of each channel of node_attr; none: all are left out
	Edges []Cuts // of edge_attr
}

// BinsOf returns the quantiles of the attributes of some nodes of g and of their edges.
func BinsOf(g *graph.Graph, nodes []int32) (b Bins) {
	for c := range g.NodeAttrs {
		var x []float32
		for _, v := range nodes {
			x = append(x, g.NodeAttr[int(v)*g.NodeAttrs+c])
		}
		b.Nodes = append(b.Nodes, Quantiles(x))
	}
	for c := range g.EdgeAttrs {
		var x []float32
		for _, v := range nodes {
			for e := int(g.Offsets[v]); e < int(g.Offsets[v+1]); e++ {
				x = append(x, g.EdgeAttr[e*g.EdgeAttrs+c])
			}
		}
		b.Edges = append(b.Edges, Quantiles(x))
	}
	return b
}

func (b Bins) check() error {
	for _, c := range slices.Concat(b.Nodes, b.Edges) {
		if err := c.Check(); err != nil {
			return err
		}
	}
	return nil
}

// fits returns an error unless the channels of g have cuts, or none has.
func (b Bins) fits(g *graph.Graph) error {
	if n := len(b.Nodes); n > 0 && n != g.NodeAttrs && g.N() > 0 {
		return fmt.Errorf("there are %d continuous node attributes, Bins has the cuts of %d", g.NodeAttrs, n)
	}
	if n := len(b.Edges); n > 0 && n != g.EdgeAttrs && len(g.Neighbors) > 0 {
		return fmt.Errorf("there are %d continuous edge attributes, Bins has the cuts of %d", g.EdgeAttrs, n)
	}
	return nil
}
