// Package scores writes predictions to files for other tools: CSV, lines of JSON, or, by a
// sink of package sinks/parquet, Parquet. There is a row for each prediction, and the
// columns are
//
//	id, class, p_CLASS …   the id of a node or a graph, its most probable class, the probability of each class
//	id, value              if a number was learned
//	id, class_TARGET, p_TARGET_CLASS …, or value_TARGET   of each of several targets
//	source, target, p      for links: the probability of class 1
//
// with ids and classes by their names:
//
//	err := recipe.Onto(flow.From(src)).Via(scores.Rows{
//		Net:     net,
//		Columns: scores.Columns{Classes: classes},
//		ID:      scores.RootID, // if rows are nodes
//		Bare:    true,
//	}).To(scores.Text{Path: "scores.csv"}).Run(ctx) // or parquet.Sink, ipc.Sink
//
// [Text] also writes other records of numbers and strings, such as receptive fields (package sinks/jsonl).
//
// A file appears under its name when all of it is on disk, or not at all.
package scores
