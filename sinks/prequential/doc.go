// Package prequential asks a model about each event of a stream before the model learns
// from it, so that every answer is about what was never seen.
//
//	links := &prequential.Links{Net: &nn.Ranker{Seed: 1}, Every: 200, Drift: &drift.ADWIN{}}
//	report, err := links.Benchmark(ctx, events) // in the protocol of the Temporal Graph Benchmark
//	fmt.Println(report.Test.MRR, report.Test.Baselines)
//
// tgbl-wiki-v2, MRR over all 1000 targets, defaults and seed 1, settings chosen on the
// validation part; the figures of EdgeBank at 200 are those that are published:
//
//	                 learned after each question    after 200
//	                 validation    test             validation    test
//	Links            0.8530        0.8372           0.7751        0.7582
//	recency          0.8415        0.8206           0.7589        0.7290
//	EdgeBank         0.5613        0.5250           0.5267        0.4947
//
// Other streams, test MRR, learned after each question:
//
//	                                             Links     recency   EdgeBank   Adamic–Adar
//	CollegeMsg, all nodes that receive           0.6624    0.4746    0.0801     0.0394
//	email-Eu, first 80 000 edges, 100 nodes      0.8434    0.7594    0.4466     0.5499
//	mathoverflow, first 80 000 edges, 100 nodes  0.7545    0.5848    0.2686     0.3317
//
// Of 100 nodes, 99 are drawn from those that receive edges.
//
// primaryschool, classes of nodes: the prior and Batch: 1 were chosen on the first 120
// questions, of which 93.7 are right on average over seeds 1 to 3, 91.7 without the prior,
// and 92 by the majority of the contacts. Of the next 104, 94, 94 and 92 are right.
//
// Baselines answer the same questions, with the same candidates and at the same
// information.
package prequential
