// Package temporal keeps the edges so far and computes the features of a question about the next
// one: which target has the edge of this source, at this time?
//
//	h := &temporal.History{}
//	x := make([]float32, len(candidates)*temporal.Features)
//	for _, e := range events {
//		h.Describe(e.Source, e.Time, 0, candidates, x) // by the edges before e
//		h.Add(e)
//	}
//
// A History takes constant time per event and per candidate: it walks at most mostWalked
// neighbours of a node. It keeps a pair of nodes while one of its edges is in the window.
// Baselines are the scores of the usual heuristics, at the same information.
package temporal
