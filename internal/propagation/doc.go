// Package propagation propagates attributes or predictions of nodes over the edges of a graph.
//
//	err := propagation.Walk{Share: 0.9}.Rows(ctx, g, rows, width)
//
// It is a plain function over slices, linear in the edges. In a stream
// operators.Propagate does it with the attributes of each graph.
package propagation
