package labeling

// Degree labels every node with its number of neighbours, its out-degree where
// the graph is directed. O(n).
var Degree Labeling = degree{}

type degree struct{}

func (degree) String() string { return "degree" }

func (degree) Label(in Input, labels []float64) error {
	for v := range labels {
		labels[v] = float64(in.Graph.Degree(int32(v)))
	}
	return nil
}

// NormalizedDegree labels every node with its degree divided by the number of
// nodes: the attribute that the paper gives to social networks, which have none
// of their own (Niepert et al. 2016, "Experimental Set-up"). It orders nodes as
// Degree does. O(n).
var NormalizedDegree Labeling = normalizedDegree{}

type normalizedDegree struct{}

func (normalizedDegree) String() string { return "normalized-degree" }

func (normalizedDegree) Label(in Input, labels []float64) error {
	for v := range labels {
		labels[v] = float64(in.Graph.Degree(int32(v))) / float64(len(labels))
	}
	return nil
}
