// Package prequential asks a model about each event of a stream before the model learns
// from it, so that every answer is about what was never seen.
//
//	links := &prequential.Links{Net: &nn.Ranker{Seed: 1}, Every: 200, Drift: &drift.ADWIN{}}
//	report, err := links.Benchmark(ctx, events) // in the protocol of the Temporal Graph Benchmark
//	fmt.Println(report.Test.MRR, report.Test.Baselines)
//
// Baselines answer the same questions, with the same candidates and at the same
// information.
package prequential
