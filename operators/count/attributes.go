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
	return a.words(in, func(id Hash, _ *attributeWord) { bag.Add(uint64(id), 1) })
}

// attributeWord is what a word of Attributes says: a statistic of a channel, the interval of a value alone or with the label of
// its node, or the intervals of the two ends of an edge.
type attributeWord struct {
	channel  int
	edges    bool   // the channel is one of edges
	number   string // name of a statistic, "" for an interval
	tile     tile   // interval of the statistic
	width    float64
	entry    int   // node or CSR entry of the value; -1 for a statistic
	labelled bool  // the word has the label of the node too
	beside   int32 // node at the other end of an edge; -1 in words of one value
}

// words calls show with each word of a graph.
func (a *attributes) words(in Input, show func(id Hash, w *attributeWord)) error {
	g := in.Graph
	a.labels.reset(g)
	for c := range min(g.NodeAttrs, MostChannels) {
		if in.Err() != nil {
			return in.Err()
		}
		a.channel(g.NodeAttr, g.NodeAttrs, g.N(), c)
		a.ofChannel(kindNodeAttr.Add(uint64(c)), attributeWord{channel: c}, g, show)
	}
	for c := range min(g.EdgeAttrs, MostChannels) {
		if in.Err() != nil {
			return in.Err()
		}
		a.channel(g.EdgeAttr, g.EdgeAttrs, len(g.Neighbors), c)
		a.ofChannel(kindEdgeAttr.Add(uint64(c)), attributeWord{channel: c, edges: true}, g, show)
	}
	return nil
}

// ofChannel calls show with the words of the current channel. It sets the other fields of w.
func (a *attributes) ofChannel(h Hash, w attributeWord, g *graph.Graph, show func(id Hash, w *attributeWord)) {
	w.entry, w.beside = -1, -1
	mean, deviation := a.moments()
	if n := len(a.sorted); n > 0 {
		for i, x := range [...]float64{mean, deviation, a.sorted[0], a.sorted[n/2], a.sorted[n-1]} {
			h, w := h.Add(0).Add(uint64(i)), w
			w.number = [...]string{"mean", "deviation", "least", "middle", "largest"}[i]
			if x < 0 {
				h, x, w.number = h.Add(1), -x, "minus "+w.number
			}
			tiles(h, x, func(id Hash, t tile) {
				w.tile = t
				show(id, &w)
			})
		}
	}
	widest := a.widest(deviation)
	for e := widest - 2; e <= widest; e++ {
		h := h.Add(1).Add(uint64(e))
		w.width = math.Ldexp(1, e)
		for i, x := range a.x {
			w.entry = i
			show(h.Add(interval(x, w.width)), &w)
		}
		if !w.edges && e > widest-2 {
			a.nodes(h, &w, g, show)
			w.beside = -1
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

// widest returns the exponent of the width of the widest interval, a power of two above the deviation. It is 0 without finite values.
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

// nodes calls show with a word for each node that has a label, of its interval and label, and for each edge, of the intervals of its ends.
func (a *attributes) nodes(h Hash, w *attributeWord, g *graph.Graph, show func(id Hash, w *attributeWord)) {
	for v := range int32(g.N()) {
		own := interval(a.x[v], w.width)
		w.entry, w.beside = int(v), -1
		if w.labelled = a.labels.nodes; w.labelled {
			show(h.Add(own).Add(0).Add(a.labels.node(v)), w)
		}
		w.labelled = false
		for _, u := range g.Adj(v) {
			// An arc counts at its tail. An edge counts at the end of the greater value, or at both
			// if they are equal.
			if other := interval(a.x[u], w.width); other <= own || g.Directed {
				w.beside = u
				show(h.Add(own).Add(1).Add(other), w)
			}
		}
	}
}
