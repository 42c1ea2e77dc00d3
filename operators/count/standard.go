package count

// Standard returns the counters of the most accurate model, nn.Best. They need no tuning for a
// new collection:
//
//	size, labels        how large a graph is and what it is made of
//	wl, height 4        the exact surroundings of a node
//	wl with triangles   how dense they are, in graphs of small diameter
//	wl, rounded         the same for hubs, which rarely have equal degrees
//	fields of 3 to 8    canonical receptive fields: which nodes are joined
//	paths               distances between pairs of nodes
//	profiles            which degrees are around which
//	statistics          numbers of the whole graph
//	attributes          continuous attributes of nodes and edges
//
// Words without use for a collection cost time and nearly no accuracy;
// examples/benchmark/README.md has the worth of each. A graph of n nodes and m edges costs
// O(m^1.5) for the triangles, O(min(n, 512)·m) for the paths, and a few microseconds a node for
// the rest. Paths begin at 512 nodes of larger graphs; that sample alone depends on node
// numbers. The caller owns the slice.
func Standard() []Counter {
	return []Counter{
		Size{}, Labels{}, WL{Height: 4}, WL{Height: 1, Triangles: true}, WL{Height: 2, Rounded: true},
		Fields{K: []int{3, 4, 5, 6, 7, 8}}, Paths{Sources: 512}, Profiles{}, Statistics{}, Attributes{},
	}
}
