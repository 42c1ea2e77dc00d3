package theta

// hamming returns the number of entries in which the adjacency matrices of two
// fields of k members differ, and the number of entries in both that are not 0.
// O(k² log degree).
func hamming(a, b *end) (distance, entries int32) {
	for i := range a.members {
		for j := range a.members {
			x, y := a.joined(i, j), b.joined(i, j)
			if x != y {
				distance++
			}
			if x {
				entries++
			}
			if y {
				entries++
			}
		}
	}
	return distance, entries
}

// joined reports whether there is an edge from the i-th to the j-th member.
func (e *end) joined(i, j int) bool {
	u, v := e.members[i], e.members[j]
	return u >= 0 && v >= 0 && u != v && e.ix.Graph().Entry(u, v) >= 0
}
