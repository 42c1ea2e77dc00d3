package count

// Standard returns what to count where nothing is known of the graphs: the words
// of the most accurate model here (nn.Best), which needs
// no hand for a new collection:
//
//	size, labels        how large a graph is and what it is made of
//	wl, height 4        what stands around a node, exactly
//	wl with triangles   how closely knit it is, where all nodes are near each other
//	wl, rounded         the same for hubs, of which no two have the same degree
//	fields of 3 to 8    canonical receptive fields: which nodes are joined
//	paths               which nodes are how far from each other
//	profiles            which degrees are around which
//	statistics          what the graph is like as a whole
//	attributes          which continuous attributes nodes and edges have
//
// Words that a collection has no use for cost time, and next to no accuracy; README.md
// of examples/benchmark has a table of what each is worth. A graph of n nodes and m
// edges costs O(m^1.5) for the triangles, O(min(n, 512)·m) for the paths, which begin
// at 512 of the nodes where there are more, and a few microseconds a node for the rest.
// Which 512 those are depends on the numbering of the nodes, and all else does not. The
// slice is the caller's.
func Standard() []Counter {
	return []Counter{
		Size{}, Labels{}, WL{Height: 4}, WL{Height: 1, Triangles: true}, WL{Height: 2, Rounded: true},
		Fields{K: []int{3, 4, 5, 6, 7, 8}}, Paths{Sources: 512}, Profiles{}, Statistics{}, Attributes{},
	}
}
