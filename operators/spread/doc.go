// Package spread lets what is known of nodes, their attributes or what a network
// says of them, spread over the edges of a graph.
//
//	err := spread.Walk{Share: 0.9}.Rows(ctx, g, rows, width)
//
// It is a plain function over slices, linear in the edges. In a stream
// operators.Spread does it with the attributes of each graph.
package spread
