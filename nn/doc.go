// Package nn learns from batches of normalized receptive fields.
//
//	net := &nn.CNN{Seed: 1}
//	err := net.Init(nn.Shape{W: 18, K: 10, Cats: []int{7}, Classes: 2})
//	if err != nil {
//		log.Fatal(err)
//	}
//	for cats, targets := range batches { // (32, 18, 10, 1) and (32) of int32
//		if _, err := net.Step(nn.Batch{Cats: cats, Targets: targets}); err != nil {
//			log.Fatal(err)
//		}
//	}
//	fmt.Printf("%d graphs, %.1f%% right before each update\n", net.Seen(), 100*net.Accuracy())
//
// In a pipeline sinks.Train makes these calls, and reads the shape off the
// records.
//
// Shapes are given in the letters of package operators: B graphs in a batch, w
// fields a graph, k vertices a field, a_v channels a vertex, of which d_v are
// discrete and c_v continuous. A discrete channel travels as an index, -1 for
// none; it is never expanded to a one-hot vector.
//
// The same seed and the same batches give the same weights, byte for byte, on
// the same machine. Across machines they agree up to rounding, since the
// kernels are chosen by what the processor has.
//
// The package knows neither streams nor Arrow. Tensors enter and leave in
// tensor.go; everything else works on slices, in layers that are written by
// hand, one file each.
package nn
