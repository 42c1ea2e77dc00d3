package temporal

import (
	"math"

	"github.com/sanflow/sanflow/flow/event"
)

// ClassFeatures is the number of features of a class of a node.
const ClassFeatures = 7

// Classes keeps the contacts of nodes and their known classes, and computes the features of a
// question: which class has this node? Edges have no direction here. Memory grows with the pairs of
// nodes that met. The zero value is empty.
type Classes struct {
	class []int32 // by node; -1 = unknown
	met   []map[int32]contact
	known []int32 // nodes of each class
	all   int32
}

type contact struct {
	count float32
	time  int64
}

// Add learns of an edge, of the class of a node, or that a node loses its edges and its class.
func (c *Classes) Add(e event.Event) {
	switch e.Kind {
	case event.AddEdge:
		c.grow(max(e.Source, e.Target))
		for _, p := range [2][2]int32{{e.Source, e.Target}, {e.Target, e.Source}} {
			m := c.met[p[0]]
			if m == nil {
				m = map[int32]contact{}
				c.met[p[0]] = m
			}
			m[p[1]] = contact{m[p[1]].count + 1, e.Time}
		}
	case event.RemoveNode:
		c.grow(e.Source)
		for u := range c.met[e.Source] {
			delete(c.met[u], e.Source)
		}
		c.met[e.Source] = nil
		c.Add(event.Event{Kind: event.SetClass, Source: e.Source, Class: -1})
	case event.SetClass:
		c.grow(e.Source)
		if old := c.class[e.Source]; old >= 0 {
			c.known[old]--
			c.all--
		}
		if c.class[e.Source] = e.Class; e.Class >= 0 {
			for int(e.Class) >= len(c.known) {
				c.known = append(c.known, 0)
			}
			c.known[e.Class]++
			c.all++
		}
	}
}

func (c *Classes) grow(v int32) {
	for int(v) >= len(c.class) {
		c.class, c.met = append(c.class, -1), append(c.met, nil)
	}
}

// Class returns the class of a node, and -1 if it is unknown.
func (c *Classes) Class(v int32) int32 {
	if int(v) >= len(c.class) {
		return -1
	}
	return c.class[v]
}

// Len returns the number of classes so far.
func (c *Classes) Len() int { return len(c.known) }

// Describe returns the features of each class for a node: (Len, ClassFeatures) row-major.
// The class of the node itself is not looked at. O(neighbours).
func (c *Classes) Describe(v int32, now int64) []float32 {
	x := make([]float32, len(c.known)*ClassFeatures)
	c.grow(v)
	// Sums of float32 in the order of a map would differ from run to run: counts are
	// whole, and the newest time is a maximum.
	contacts, neighbours := float32(0), float32(0)
	newest, last := int64(math.MinInt64), make([]int64, len(c.known))
	for i := range last {
		last[i] = math.MinInt64
	}
	for u, m := range c.met[v] {
		if k := c.class[u]; k >= 0 && u != v {
			x[k*ClassFeatures] += m.count
			x[k*ClassFeatures+1]++
			contacts += m.count
			neighbours++
			last[k], newest = max(last[k], m.time), max(newest, m.time)
		}
	}
	for k := range last {
		f := x[k*ClassFeatures : (k+1)*ClassFeatures]
		f[2], f[3] = logOf(float64(f[0])), logOf(float64(f[1]))
		f[0], f[1] = f[0]/(contacts+1), f[1]/(neighbours+1)
		if f[1] > 0 {
			if f[4] = 1 / (1 + logOf(elapsed(last[k], now))); last[k] == newest {
				f[5] = 1
			}
		}
		f[6] = float32(c.known[k]) / float32(c.all+1)
	}
	return x
}
