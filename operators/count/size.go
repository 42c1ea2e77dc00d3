package count

// Size counts the nodes and the edges, or arcs: two ids. It is a baseline for all other
// counters.
type Size struct{}

// String returns "size".
func (Size) String() string { return describe(Size{}) }

var kindNodes, kindEdges = Kind("nodes"), Kind("edges")

// Prepare implements Counter.
func (Size) Prepare() (Worker, error) { return sizeCounter{}, nil }

type sizeCounter struct{ Size }

func (sizeCounter) Count(in Input, bag *Bag) error {
	if n := in.Graph.N(); n > 0 {
		bag.Add(uint64(kindNodes), float64(n))
	}
	if m := in.Graph.M(); m > 0 {
		bag.Add(uint64(kindEdges), float64(m))
	}
	return nil
}

// Labels counts the labels of the nodes: their discrete attributes, or degrees
// if there are none.
type Labels struct{}

// String returns "labels".
func (l Labels) String() string { return describe(l) }

// Prepare implements Counter.
func (l Labels) Prepare() (Worker, error) { return &labelCounter{Labels: l}, nil }

type labelCounter struct {
	Labels
	labels labeler
}

var kindLabel = Kind("label")

func (l *labelCounter) Count(in Input, bag *Bag) error {
	l.labels.reset(in.Graph)
	for v := range int32(in.Graph.N()) {
		bag.Add(uint64(kindLabel.Add(l.labels.node(v))), 1)
	}
	return nil
}
