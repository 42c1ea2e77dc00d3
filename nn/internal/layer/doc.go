// Package layer has the layers of networks, with hand-written gradients, one file each:
//
//	FieldConv  cells of fields (B·w, n, a) to (B·w, maps); discrete values by a table
//	Conv1D     a convolution over steps (B, n, in) to (B, steps, maps)
//	GRULayer   a recurrent layer over steps (B, n, in) to (B, n, units)
//	Dense      (B, in) to (B, out)
//	Merge      two inputs (B, maps) to (B, maps) or (B, 2·maps)
//	Dropout    a mask that is a function of the seed, the step and the row
//	Tower      FieldConv, in a CNN then Conv1D; Reader: towers of nodes and of edges, merged
//
// All values are row-major float32. A layer adds its weights to a [Params], which owns
// the memory of all weights of a model and of their gradients; several layers may share
// the weights and have activations of their own. Forward keeps what Backward reads, so
// one goroutine uses a layer at a time. Backward overwrites the gradient that it is
// given. A value that a channel does not have is an [InputError] with the row.
package layer
