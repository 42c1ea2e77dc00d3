// Package theta compares labelings on a collection of graphs, without classes
// and without training: the estimator of Niepert et al. 2016 (arXiv:1605.05273,
// Theorem 2).
//
//	best, table, err := theta.Choose(ctx, graphs, theta.Default(), theta.Options{K: 10})
//	if err != nil {
//		log.Fatal(err)
//	}
//	for _, e := range table {
//		fmt.Printf("%-20s %.3f ± %.3f\n", e.Labeling, e.Theta, e.SE)
//	}
//
// A labeling is the better for normalization, the more alike the matrices are that it gives to
// alike neighbourhoods. θ̂ is the mean distance of the adjacency matrices of two receptive fields,
// over N pairs of roots drawn at random: the smaller, the better. The distance is the Hamming
// distance, the number of differing entries of the k × k matrices; an undirected edge has two
// entries, and an edge of any type counts as 1. Fields with fewer than k nodes have rows of zeros.
//
// # What is drawn
//
// Both roots of a pair are drawn independently and uniformly from all nodes of
// all graphs, with replacement, as the theorem wants it: a large graph gives
// more roots than a small one. All labelings see the same pairs, so their
// differences have a smaller error than the estimates themselves; Estimate
// reports both.
//
// # What the theorem asks for
//
// The theorem compares orders of the same graphs of k nodes. So one labeling,
// Options.Crop, decides for all candidates which nodes of a neighbourhood of
// more than k stay. With Options.OwnCrop each candidate decides for itself, as
// it will in operators.Normalize; but then one that keeps sparse fields has a
// small θ̂ for the wrong reason, since its matrices are alike because they are
// empty. On polblogs with k = 10, clustering keeps a third of the edges that
// others keep, and half their θ̂. Look at Estimate.Entries beside Theta there.
//
// Renumbering the nodes of a graph leaves every distance unchanged, but a seed draws pairs by
// number.
//
// The least of several estimates is biased downwards: a difference to the next below about two
// standard errors is not significant.
package theta
