package refine

import (
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
)

// rowsCheck tests whether a map of the nodes is an automorphism of rows.
type rowsCheck struct {
	image []int32
	stamp []int32
	a, b  []uint64
}

// mapping returns the map that takes from[i] to to[i], borrowed.
func (c *rowsCheck) mapping(from, to []int32) []int32 {
	c.image = scratch.Resize(c.image, len(from))
	for i, v := range from {
		c.image[v] = to[i]
	}
	return c.image
}

// automorphism returns the map that takes from[i] to to[i] if it preserves all relations of g, and
// nil otherwise. O(n + m), and O(m log m) with codes.
func (c *rowsCheck) automorphism(g Rows, from, to []int32) []int32 {
	m := c.mapping(from, to)
	if g.Code != nil {
		return c.coded(g, m)
	}
	c.stamp = scratch.Resize(c.stamp, len(m))
	for v := range c.stamp {
		c.stamp[v] = -1
	}
	for v, w := range m {
		row, image := g.Row(int32(v)), g.Row(w)
		if len(row) != len(image) {
			return nil
		}
		for _, u := range image {
			c.stamp[u] = w
		}
		for _, u := range row {
			if c.stamp[m[u]] != w {
				return nil
			}
		}
	}
	return m
}

func (c *rowsCheck) coded(g Rows, m []int32) []int32 {
	for v, w := range m {
		c.a, c.b = c.a[:0], c.b[:0]
		for i := g.Off[v]; i < g.Off[v+1]; i++ {
			c.a = append(c.a, uint64(m[g.Nbr[i]])<<32|uint64(g.Code[i]))
		}
		for i := g.Off[w]; i < g.Off[w+1]; i++ {
			c.b = append(c.b, uint64(g.Nbr[i])<<32|uint64(g.Code[i]))
		}
		slices.Sort(c.a)
		slices.Sort(c.b)
		if !slices.Equal(c.a, c.b) {
			return nil
		}
	}
	return m
}
