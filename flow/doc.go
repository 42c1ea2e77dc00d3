// Package flow runs records of graphs through sources, operators and sinks.
//
//	err := flow.From(sources.TU{Path: "MUTAG.zip"}).
//		Via(operators.Select{W: 18, By: labeling.Betweenness}).
//		Via(operators.Assemble{K: 10}).
//		Via(operators.Normalize{K: 10, By: labeling.WL}).
//		Via(operators.Batch{Size: 32}).
//		To(sinks.Train{Net: net}).
//		Run(ctx)
//
// A pipeline is a value: it prints as a plan, and it runs as often as it is
// told to. Run opens the stages in order, each with the schema of the one
// before it, so that a wrong setting is an error before the first graph flows;
// package record says what the columns mean.
//
// # What flow adds to go-streams
//
// The stages are go-streams stages, connected by its channels, and foreign
// flows fit between them (Pipeline.Through) as ours fit into a pipeline of
// go-streams (AsSource, AsFlow, AsSink). To that, flow adds once for everyone:
//
//   - an end: Run(ctx) stops when ctx does, and returns the first error as an
//     *Error{Stage, Graph, Err}. From then on every stage releases what it
//     receives, so no goroutine and no Arrow buffer outlives Run;
//   - panics in stages become errors;
//   - workers: consecutive stages that can be forked (Select, Assemble and
//     Normalize can) run as one chain in Options.Workers goroutines. Order,
//     results and the error that such a chain reports are those of one worker;
//   - bounded buffers, so a slow sink slows the source;
//   - rows that a stage refuses end the run, are skipped, or are kept as
//     letters (Options.Refused);
//   - counts, bytes, busy and waiting time per stage (Running.Stats);
//   - positions: the pipeline knows up to which row of the source everything
//     has left it, tells Stats and a source that is an Acker.
//
// flow knows no graph theory and no learning. Package flowtest checks an
// operator of yours against the rules above.
package flow
