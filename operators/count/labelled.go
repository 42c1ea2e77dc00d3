package count

import "github.com/sanflow/sanflow/flow/graph"

// LabelsOf hashes the labels of the nodes of g and of its CSR entries, for kernels that compare
// more than counts. Equal labels have equal hashes in all programs. nodes or edges are nil if
// the graph has no such labels; degrees do not replace them.
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
