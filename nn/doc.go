// Package nn learns from batches of normalized receptive fields or of counts of substructures.
//
//	net := &nn.CNN{Seed: 1}
//	err := net.Init(nn.Shape{W: 18, K: 10, Cats: []int{7}, Classes: 2})
//	…
//	for cats, targets := range batches { // (32, 18, 10, 1) and (32) of int32
//		result, err := net.Step(nn.Batch{Cats: cats, Targets: targets})
//		…
//	}
//
// In a pipeline sinks.Train makes these calls and takes the shape from the records.
//
// # Models
//
// A [Model] is a struct literal. Its fields are settings; a zero field means the documented default. Init and
// Load replace zeros, and later changes to the fields have no effect. One goroutine at a time may use a model.
// All models have the methods of the embedded [Learner]. [CNN] documents Init and Save.
//
//	CNN      the paper's network, with edges k = 10ᴱ         nodes ─ conv ─ conv ┐
//	                                                         edges ─ conv ─ conv ─ merge ─ dense ─ out
//	PSLR     the paper's logistic regression on patches      nodes, edges ─ out
//	GRU      recurrent over the fields in rank order         nodes, edges ─ merge ─ gru ─ out
//	Pooled   for few examples: one table for all nodes       nodes ─ means by distance ─ out
//	Logistic logistic regression on counts of substructures  counts ─ hash ─ out
//
// The [Shape] and the [Batch] define the task:
//
//	classes of graphs     Classes: 3, Targets    a row is a graph of w fields
//	classes of nodes      Classes: 3, Targets    a row is a root: W is 1
//	numbers               Classes: 0, Values     a row is either
//	links                 Classes: 2, Targets    a row is a pair of roots
//
// Begin with [Best], a Logistic on counts: it is the most accurate model for most data. In the
// measurements of examples/benchmark its training takes 10 to 30 times as long as that of a CNN and
// a prediction 3 to 13 times. A CNN suits fast streams, large graphs, exported fields, and data
// whose edges or continuous attributes matter.
//
// An [Ensemble] averages several models. [RBM] and [Autoencoder] learn a code for fields without
// targets; CNN.UseCode copies it to a first layer. Package trees has boosted trees on counts and
// columns, package graphkernel has kernels and a support vector machine, package validation has folds and
// cross-validation.
//
// # Learning
//
// Each Step lowers the [lossName] of a batch by an [Optimizer]: [RMSprop], the paper's, [Adam] or [AdaGrad].
//
// Step reports predictions made before it learned, without dropout. If no row occurs twice,
// Accuracy, RMSE and MAE are measured on unseen data.
//
// An attribute that is not finite or too large is a [RowError], a gradient that is not finite an error.
// Both leave the weights and the optimizer unchanged.
//
// A model standardises the numbers that it learns. Predictions, losses and errors are in the unit
// of the numbers. The mean and the deviation come from the batches up to row 256. In a sorted
// stream the first rows differ from the rest, so the mean and the deviation are wrong.
//
// # Shapes
//
// B is the rows of a batch, w the fields of a graph, k the nodes of a field. A node has d_v discrete
// and c_v continuous channels, together a_v; an edge d_e and c_e, together a_e. A discrete channel is
// an index, -1 for none. A sparse channel is a list of indices.
//
// # Files
//
// Save, [LoadPredictor] and [LoadEncoder] use safetensors files, of version 4, with a checksum. Checkpoint and Resume, see
// [Model.Checkpoint], store a training in files of version 5. Another version, a changed bit and impossible
// sizes are errors.
//
// # Same bytes
//
// The same seed and batches give the same weights, byte for byte, at any number of workers on one
// machine. Other machines agree up to rounding; see [Kernels]. Hash is equal for models of one type and
// shape that predict the same bits.
package nn
