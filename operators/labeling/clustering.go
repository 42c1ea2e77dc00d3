package labeling

// Clustering labels a node with its clustering coefficient: the share of pairs
// of its neighbours that are joined (Watts and Strogatz 1998), 0 with fewer than
// two neighbours. The direction of arcs does not count. O(Σ over edges of the
// degrees of both ends).
var Clustering Labeling = clustering{}

type clustering struct{}

func (clustering) String() string { return "clustering" }

func (clustering) Label(in Input, labels []float64) error {
	off, nbr, err := bothWays(in.Graph)
	if err != nil {
		return err
	}
	mark := make([]int32, len(labels))
	for v := range labels {
		if err := in.Err(); err != nil {
			return err
		}
		row := nbr[off[v]:off[v+1]]
		for _, u := range row {
			mark[u] = int32(v) + 1
		}
		joined := 0 // number of arcs between neighbours of v: two for each joined pair
		for _, u := range row {
			for _, w := range nbr[off[u]:off[u+1]] {
				if mark[w] == int32(v)+1 {
					joined++
				}
			}
		}
		labels[v] = 0
		if d := len(row); d > 1 {
			labels[v] = float64(joined) / float64(d*(d-1))
		}
	}
	return nil
}
