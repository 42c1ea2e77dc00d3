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
