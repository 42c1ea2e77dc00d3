// Package prequential tests a model on each event of a stream before the model learns from it, so
// every test event is unseen.
//
//	links := &prequential.Links{Net: &nn.Ranker{Seed: 1}, Every: 200}
//	links.Drift = &drift.ADWIN{}
//	report, err := links.Benchmark(ctx, events) // in the protocol of the Temporal Graph Benchmark
//	fmt.Println(report.Test.MRR, report.Test.Baselines)
//
// tgbl-wiki-v2, MRR over all 1000 targets, defaults and seed 1, settings chosen on the validation
// part; the figures of EdgeBank at 200 are published ones:
//
//	                 learned after each question    after 200
//	                 validation    test             validation    test
//	Links            0.8530        0.8372           0.7751        0.7582
//	recency          0.8415        0.8206           0.7589        0.7290
//	EdgeBank         0.5613        0.5250           0.5267        0.4947
//
// Learned after 20, Links has 0.8270 and 0.8078, recency 0.7870 and EdgeBank 0.5142 on the test part.
// examples/temporal/README.md has other streams.
//
// Baselines answer the same questions, with the same candidates and the same known edges.
package prequential
