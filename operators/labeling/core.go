package labeling

// Core labels a node with its core number: the greatest c such that the node
// belongs to a subgraph in which every node has at least c neighbours. The
// direction of arcs does not count. O(n + m), by taking off nodes of least degree
// in buckets (Batagelj and Zaveršnik 2003).
var Core Labeling = core{}

type core struct{}

func (core) String() string { return "core" }

func (core) Label(in Input, labels []float64) error {
	n := len(labels)
	off, nbr, err := bothWays(in.Graph)
	if err != nil {
		return err
	}
	degree := make([]int32, n)
	most := int32(0)
	for v := range n {
		degree[v] = off[v+1] - off[v]
		most = max(most, degree[v])
	}
	// begin[d] is the position in order of the first node of degree d.
	begin := make([]int32, most+2)
	for _, d := range degree {
		begin[d+1]++
	}
	for d := range most + 1 {
		begin[d+1] += begin[d]
	}
	order, place := make([]int32, n), make([]int32, n)
	next := append([]int32(nil), begin...)
	for v, d := range degree {
		place[v] = next[d]
		order[next[d]] = int32(v)
		next[d]++
	}
	for i := range n {
		v := order[i]
		labels[v] = float64(degree[v])
		for _, u := range nbr[off[v]:off[v+1]] {
			if degree[u] <= degree[v] {
				continue
			}
			// u moves to the front of its bucket, and the start of the bucket moves behind u.
			first := max(begin[degree[u]], int32(i)+1)
			w := order[first]
			order[first], order[place[u]] = u, w
			place[w], place[u] = place[u], first
			begin[degree[u]] = first + 1
			degree[u]--
		}
	}
	return nil
}
