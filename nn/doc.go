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
// # Models
//
// All are a [Model]: struct literals whose zero fields are documented defaults,
// fitted to data by Init, fed by Step, asked by Predict and Evaluate, and kept by
// Save. [Load] reads any of them.
//
//	CNN      the paper's network; with edges its k = 10ᴱ     nodes ─ conv ─ conv ┐
//	                                                         edges ─ conv ─ conv ─ merge ─ dense ─ out
//	PSLR     the paper's logistic regression on patches      nodes, edges ─ out
//	GRU      recurrent: the w fields in rank order           nodes, edges ─ merge ─ gru ─ out
//	Link     are two nodes joined: w/2 fields for each       (nodes, edges ─ merge ─ dense)² ─ dense ─ out
//	Pooled   for few examples: one table for all nodes       nodes ─ means by distance ─ out
//	Logistic logistic regression on counts of substructures  counts ─ hash ─ out
//
// What is learned is in the [Shape] and the targets of the [Batch]:
//
//	classes of graphs     Classes: 3, Targets    a row is a graph of w fields
//	classes of nodes      Classes: 3, Targets    a row is a root: W is 1
//	numbers               Classes: 0, Values     a row is either
//	links                 Classes: 2, Targets    a row is a pair of roots
//
// Package graphkernel has kernels between graphs, and a support vector machine, which
// learns from all rows at once. The machine is a [Predictor], saved as models are, and
// [LoadPredictor] reads it too. Package validation has folds and cross-validation.
//
// # The most accurate one
//
// By default, begin with [Best]: a [Logistic] of the kernel [Min] with ten Heads on the
// words that operators.Count{Of: count.Standard()} finds. Words are colours of nodes,
// coarse and fine, canonical receptive fields, shortest paths, degrees and the degrees
// around them, each with the number of its occurrences, and statistics of the whole graph.
//
//	graph ─ words, counted ─ levels 1, 2, 4 … up to the count, │x│ = 1 ─ hash ┬ head 1 ┐
//	                                                                               ├   ⋮    ┼ mean ─ out
//	                                                                               └ head 10┘
//
// A head has one weight a class for each level, and learns from nine tenths of the
// graphs. What it says of the others is what an unseen graph would get, so no graph
// is held back to find out when to stop, and nothing but that is chosen. There is no
// hidden layer and nothing to draw, since the words do the work; it learns from the
// stream in memory that does not grow, and a graph costs the same in the millionth
// step as in the first. examples/benchmark -systems best compares it with the others.
//
// It is more accurate and slower than a network on fields. [Best] on words and a [CNN]
// (w 18, k 10, 30 epochs) on one split, processor time on a shared machine:
//
//	graphs to learn from    accuracy in %     training in s     ms a graph asked
//	                        Best     CNN      Best      CNN     Best      CNN
//	MUTAG       100         81.6     81.6      0.25    0.01      0.22    0.06
//	PROTEINS    100         72.6     69.5      0.38    0.03      0.41    0.13
//	PROTEINS    400         73.1     67.3      0.96    0.08      0.41    0.13
//	NCI1        100         56.3     54.9      0.13    0.01      0.21    0.04
//	NCI1        400         77.7     56.6      0.84    0.05      0.20    0.04
//	NCI1       1600         82.4     66.9      6.71    0.20      0.20    0.04
//	COLLAB      400         75.4     62.8      8.37    0.38     13.5     1.06
//
// Words suit few graphs, and the best accuracy: training takes 12 to 34 times as long as that
// of a CNN, and an answer 3 to 13 times. A CNN suits streams that are too fast
// for that, exports of fields, and data whose edges and continuous attributes matter. It
// is nearly as fast for large graphs as for small ones, since it reads w fields of each.
//
// [RBM] and [Autoencoder] learn a code for fields without targets; a CNN can
// begin with it (CNN.UseCode).
//
// # Learning
//
// Every step makes the [Loss] of a batch smaller by way of an [Optimizer]:
// [RMSprop], which is the paper's, [SGD], [Adam] or [AdaGrad], each with weight decay and
// gradient clipping. [EarlyStop] ends a training when it helps no more.
//
// A row with an attribute of NaN or of 10²⁵ is a [RowError]. A gradient that is not
// finite is an error. Both leave the weights and the state of the optimizer as they were.
// An untrained model neither predicts nor is saved: that is an [ErrUntrained]. An
// [Ensemble] averages several models. A [Cloner] makes copies that predict in several
// goroutines.
//
// What a step reports was predicted before the model learned from it, without
// dropout, so over a stream in which no row comes twice Accuracy, RMSE and MAE
// are those of unseen data.
//
// # Numbers
//
// A model standardises the numbers that it learns. Its predictions, losses and errors are in
// their unit. The mean and the deviation are updated with each batch until row 256, then
// fixed; the same batches give the same bytes. Files, checkpoints and the end of
// AppendWeights have them, and a loaded model keeps them. A stream whose first 256 rows
// differ from the rest, such as one sorted by value, is standardised badly; a model still
// learns from it.
//
// An example is the Wiener index of the molecules of NCI1, 3652 ± 6550, learned from 822
// molecules. The table has the root mean square error on 822 others, divided by the
// standard deviation:
//
//	                        Best     CNN      GRU      PSLR
//	as it is                0.224    0.722    0.734    0.848
//	standardised by hand    0.224    0.725    0.734    0.848
//	never standardised      1.047    0.862    1.055    1.047
//
// # Shapes
//
// Shapes are given in the letters of package operators: B graphs in a batch, w
// fields a graph, k nodes a field, a_v channels a node, of which d_v are
// discrete and c_v continuous, and a_e channels an edge, of which d_e and c_e. A
// discrete channel travels as an index, -1 for none; it is never expanded to a
// one-hot vector. A sparse channel is a list of indices.
//
// # Files
//
// Save and [Load] write and read a trained model, as a safetensors file. The file of a
// [Logistic] has only the used rows of its table, and their indices. Checkpoint and
// Resume write and read a training that has not ended, see [Checkpointer]. [ExportONNX]
// writes a model for other runtimes.
//
// A file has a version and a checksum of all its bytes, the header and Info
// included. A file of another version is refused by its number: that of a model is 4,
// that of a checkpoint 5. A file in which
// any bit has changed is refused too. What a header claims is compared with the
// tensors before memory is taken: impossible sizes, classes and numbers are errors of
// Load.
//
// # Same bytes
//
// The same seed and the same batches give the same weights, byte for byte, on
// the same machine, at any number of workers. Across machines they agree up to
// rounding, since the kernels are chosen by what the processor has.
//
// # Inside
//
// The package knows neither streams nor Arrow. Tensors enter and leave in
// tensor.go; everything else works on slices. What all models share is in core.go and
// replica.go, a model adds its settings and how its layers are laid out. The layers
// are in nn/internal/layer, the loops in nn/internal/kernel, the format of the files in
// nn/internal/modelfile.
package nn
