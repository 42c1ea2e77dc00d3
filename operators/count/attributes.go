package count

import (
	"cmp"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/scratch"
)

// Attributes counts the continuous attributes of nodes and edges. It learns no scale from other
// graphs: the resolution of a channel is the spread of its values in the graph, rounded to a
// power of 2, so that similar graphs have the same resolution.
//
// A channel has five numbers of the whole graph: mean, deviation, minimum, median and maximum.
// Each counts as a number of Statistics does; negative numbers have other ids. A value x falls
// into the intervals ⌊x/w⌋ of three widths w, the powers of 2 up to twice the deviation; each
// interval is an id. The two wider ones also have ids together with the discrete attributes of
// the node, if any, and for the two ends of an edge, twice if both are in one interval. Equal
// values have widths by their size; values that are not finite have an id of their own. Edges
// have only the numbers and the three widths, each edge twice.
//
// With more than MostChannels channels, that many sums of all channels with fixed signs replace
// the channels.
//
// A graph without such attributes has no words. A channel of nodes costs O(n log n + m), a
// channel of edges O(m log m), and each of the sums O(n·channels) or O(m·channels) more. Memory
// is 16 bytes per node or entry.
type Attributes struct{}

// MostChannels is the largest number of channels that Attributes counts one by one.
const MostChannels = 64

// String returns "attributes".
func (a Attributes) String() string { return describe(a) }

// Prepare implements Counter.
func (a Attributes) Prepare() (Worker, error) { return &attributes{}, nil }

type attributes struct {
	Attributes
	labels labeler
	x      []float64 // values of one channel
	sorted []float64 // finite values, ascending
}

var kindNodeAttr, kindEdgeAttr = Kind("node attributes"), Kind("edge attributes")

// Count implements Counter.
func (a *attributes) Count(in Input, bag *Bag) error {
	g := in.Graph
	a.labels.reset(g)
	for c := range min(g.NodeAttrs, MostChannels) {
		if in.Err() != nil {
			return in.Err()
		}
		a.channel(g.NodeAttr, g.NodeAttrs, g.N(), c)
		a.count(bag, kindNodeAttr.Add(uint64(c)), g)
	}
	for c := range min(g.EdgeAttrs, MostChannels) {
		if in.Err() != nil {
			return in.Err()
		}
		a.channel(g.EdgeAttr, g.EdgeAttrs, len(g.Neighbors), c)
		a.count(bag, kindEdgeAttr.Add(uint64(c)), nil)
	}
	return nil
}

// count adds the words of the current channel of the nodes of g, or of edges if g is nil.
func (a *attributes) count(bag *Bag, h Hash, g *graph.Graph) {
	mean, deviation := a.moments()
	a.numbers(bag, h.Add(0), mean, deviation)
	widest := a.widest(deviation)
	for e := widest - 2; e <= widest; e++ {
		h, width := h.Add(1).Add(uint64(e)), math.Ldexp(1, e)
		for _, x := range a.x {
			bag.Add(uint64(h.Add(interval(x, width))), 1)
		}
		if g != nil && e > widest-2 {
			a.nodes(bag, h, width, g)
		}
	}
}

// channel sets x to the values of channel c, or of a sum of channels if there are more than
// MostChannels.
func (a *attributes) channel(attr []float32, channels, rows, c int) {
	a.x = scratch.Resize(a.x, rows)
	for i := range a.x {
		row := attr[i*channels : (i+1)*channels]
		if channels <= MostChannels {
			a.x[i] = float64(row[c])
			continue
		}
		sum := 0.0
		for at, x := range row {
			if Hash(c).Add(uint64(at))&1 == 0 {
				sum += float64(x)
			} else {
				sum -= float64(x)
			}
		}
		a.x[i] = sum
	}
	a.sorted = slices.Grow(a.sorted[:0], rows)
	for _, x := range a.x {
		if finite(x) {
			a.sorted = append(a.sorted, x)
		}
	}
	slices.SortFunc(a.sorted, cmp.Compare) // makes sums independent of the numbering
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// moments returns the mean and the deviation of the finite values.
func (a *attributes) moments() (mean, deviation float64) {
	n := float64(len(a.sorted))
	for _, x := range a.sorted {
		mean += x / n
	}
	for _, x := range a.sorted {
		deviation += (x - mean) * (x - mean) / n
	}
	return mean, math.Sqrt(deviation)
}

// numbers adds the words of the mean, deviation, least, middle and largest value of a channel.
func (a *attributes) numbers(bag *Bag, h Hash, mean, deviation float64) {
	n := len(a.sorted)
	if n == 0 {
		return
	}
	for i, x := range [...]float64{mean, deviation, a.sorted[0], a.sorted[n/2], a.sorted[n-1]} {
		h := h.Add(uint64(i))
		if x < 0 {
			h, x = h.Add(1), -x
		}
		tile(bag, h, x)
	}
}

// widest returns the exponent of the width of the widest interval.
func (a *attributes) widest(deviation float64) int {
	if len(a.sorted) == 0 {
		return 0
	}
	most := max(math.Abs(a.sorted[0]), math.Abs(a.sorted[len(a.sorted)-1]))
	if deviation < most/(1<<20) { // all values are equal up to rounding
		deviation = most / 4
	}
	// Processors round differently. The factor moves a deviation that is nearly a power of two above that power,
	// so that e is the same on all.
	_, e := math.Frexp(deviation * (1 + 1e-9))
	return e
}

// interval returns the number of the interval of x, or a reserved one if x is not finite.
func interval(x, width float64) uint64 {
	if !finite(x) {
		return 1 << 63
	}
	return uint64(int64(math.Floor(x / width)))
}

// nodes adds the intervals of the nodes together with their labels, and those of the two ends of
// edges.
func (a *attributes) nodes(bag *Bag, h Hash, width float64, g *graph.Graph) {
	for v := range int32(g.N()) {
		own := interval(a.x[v], width)
		if a.labels.nodes {
			bag.Add(uint64(h.Add(own).Add(0).Add(a.labels.node(v))), 1)
		}
		for _, u := range g.Adj(v) {
			// An arc counts at its tail. An edge counts at the end of the greater value, or at both
			// if they are equal.
			if other := interval(a.x[u], width); other <= own || g.Directed {
				bag.Add(uint64(h.Add(own).Add(1).Add(other)), 1)
			}
		}
	}
}
