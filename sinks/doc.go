// Package sinks is where pipelines end: training, prediction, tests, collecting,
// files.
//
//	net := &nn.CNN{Seed: 1}
//	err := flow.From(src).
//		Via(operators.Select{W: 18}).
//		Via(operators.Assemble{K: 10}).
//		Via(operators.Normalize{}).
//		Via(operators.Batch{Size: 32}).
//		To(sinks.Train{Net: net}).
//		Run(ctx)
//	fmt.Printf("%d graphs, %.1f%% right before each update\n", net.Seen(), 100*net.Accuracy())
//
// The columns that each sink reads:
//
//	Train     nodes_cat (w, k, d_v), nodes (w, k, c_v), nodes_sparse (w, k),
//	          edges_cat (w, k, k, d_e), edges (w, k, k, c_e), target;
//	          NAME_ids and NAME_counts of operators.Count               one step per record
//	Predict   the same without target                                 one Prediction per row
//	Evaluate  as Train                                                one Result per stream
//	Pretrain  members; edges_cat and edges, or nodes_cat and nodes     one step per Batch fields
//	Collect   any
//	IPC       any; package parquet has a sink for Parquet              a record batch per record
//
// [Fit] is a whole training: epochs, tests in between, an early end, the best weights.
// [Fold] is one of a cross-validation (validation.CrossValidation), and [FirstLayer] pretrains
// a network for it; [Kernels] are the matrices that a support vector machine chooses
// among. Train.Checkpoint and Fit.Checkpoint keep the state of a training, from which
// it goes on after whatever has stopped it. [Save] keeps a model with the recipe of its
// fields in one file, and [Load] makes a [Predictor] of that, which answers for single
// graphs, from many goroutines; a graphkernel.SVM too.
//
// Graphs, nodes of a graph and pairs of nodes are learned from, tested, saved, loaded
// and asked about in the same way: see the examples of Save. Package nodes chooses a
// model for the nodes of one graph.
//
// A row that a model cannot take, since its class is unknown or a number is not
// finite, is refused by Train, Predict and Evaluate, as a stage refuses it:
// flow.Options.Refused says what happens then.
//
// Networks need one of nodes_cat, nodes and nodes_sparse, an nn.Logistic counts.
// Letters are those of package record. Predict, Predictor and Evaluate take a
// graphkernel.SVM on counts; Train does not. CollectCounts collects the counts that an
// SVM is fitted to.
package sinks
