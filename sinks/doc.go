// Package sinks ends pipelines: it trains and tests models, predicts, collects records and
// writes files.
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
//	Pretrain  members; edges_cat and edges, or nodes_cat and nodes     one step per Batch fields
//	Collect   any
//	IPC       any; package parquet has a sink for Parquet              a record batch per record
//
// [Fit] runs a whole training: epochs, validation, early stopping, the best weights.
// Train.Checkpoint and Fit.Checkpoint make a training resumable.
//
// [Save] writes a model and the recipe of its fields to one file. [Load] makes a [Predictor] of
// the file, which predicts for single graphs from many goroutines. The examples of Save show
// graphs, nodes and pairs of nodes. Package nodes chooses a model for the nodes of one graph.
//
// Train and Predict refuse a row whose class is unknown or that has a number that is
// not finite; see flow.Options.Refused.
//
// Networks need one of nodes_cat, nodes and nodes_sparse; an nn.Logistic needs counts. Package
// record defines the letters. [CountsOf] returns the counts that a graphkernel.SVM learns from.
package sinks
