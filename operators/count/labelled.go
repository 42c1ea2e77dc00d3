package count

import "github.com/sanflow/sanflow/flow/graph"

// LabelsOf hashes the labels of the nodes of g and those of its CSR entries, for
// kernels that compare more than counts: equal labels have equal hashes, here and
// elsewhere. nodes or edges are nil where the graph has no such labels; degrees do
// not take their place.
func LabelsOf(g *graph.Graph, bins Bins) (nodes, edges []uint64, err error) {
	if err := bins.check(); err != nil {
		return nil, nil, err
	}
	var l labeler
	if err := l.reset(g, bins); err != nil {
		return nil, nil, err
	}
	nodes, edges = l.hashes(nil, nil)
	return nodes, edges, nil
}
