// Package flow runs records of graphs through sources, operators and sinks.
//
//	err := flow.From(tu.Source{Path: "MUTAG.zip"}).
//		Via(operators.Select{W: 18, By: labeling.Betweenness}).
//		Via(operators.Assemble{K: 10}).
//		Via(operators.Normalize{K: 10, By: labeling.WL}).
//		Via(operators.Batch{Size: 32}).
//		To(sinks.Train{Net: net}).
//		Run(ctx)
//
// A pipeline is a value: it prints its settings, Plan(ctx) adds the columns of each stage, and
// it can run any number of times. Run opens the stages in order, each with the schema of the
// stage before it, so a wrong setting is an error before the first graph flows. Package record
// describes the columns.
//
// # What flow adds to go-streams
//
// The stages are go-streams stages, connected by channels, and fit into a pipeline of go-streams
// (AsSource, AsFlow, AsSink). To that, flow adds:
//
//   - an end: Run(ctx) stops when ctx does, and returns the first error as an
//     *Error{Stage, Graph, Err};
//   - workers: consecutive stages that can be forked (Select, Assemble and
//     Normalize can) run as one chain in Options.Workers goroutines;
//   - bounded buffers, so a slow sink slows the source;
//   - rows that a stage refuses end the run, are skipped, or are kept as
//     letters (Options.Refused);
//   - counts, bytes, busy and waiting time per stage (Running.Stats), which an observer
//     finds for all pipelines below a context (Observe);
//   - positions: the pipeline knows up to which row of the source every row is
//     complete, and reports it in Stats and to a source that is an Acker.
//
// flow contains no graph theory and no learning. Package flowtest checks an operator of yours
// against the rules above.
//
// # Interfaces
//
// A pipeline needs Source and Reader, Operator and Stage, Sink and Writer. The other interfaces are
// optional: a Reader, a Stage or a Writer has their methods where it can do more. The packages of
// this module that implement them are listed; TestInterfaceTable compares the table with the code.
//
//	Acker           Reader  flow/message
//	Seeker          Reader  flow/message flow/part
//	Lagger          Reader  flow/kafka flow/message flow/nats
//	Noter           Reader  flow/message operators sources
//	Flusher         Stage   operators
//	TimedStage      Stage   operators
//	Forker          Stage   operators sinks/jsonl
//	Restarter       Stage   operators
//	DurableWriter   Writer  flow/message sinks sinks/internal/parts
//	TimedWriter     Writer  flow/message sinks
//	RefusingWriter  Writer  sinks
//	Resumer         Writer  sinks
//	Reporter        Writer  sinks
//
// A Writer can be a Noter too, and a Reader a Reporter.
//
// # Guarantees
//
// Each is followed by the test that holds it; a test without a package is in this one.
//
// Order and determinism:
//
//   - Rows leave in the order in which the source gave them, with any number of
//     workers. The exceptions document it: Shuffle and Replay. TestOrder
//   - The same rows and seeds give the same records at any number of workers, and
//     for stages that do not document otherwise the same rows however the stream is
//     cut into records. Only Batch.MaxWait makes cuts depend on time.
//     operators.TestConformance operators.TestBatchMaxWait
//   - Of several errors, the one of the earliest record is reported, whichever
//     worker was quicker. TestFirstError
//
// Delivery:
//
//   - A row is complete once it and every row derived from it is written, skipped,
//     dead-lettered or dropped. TestWatermark
//   - A row is written when Write returns, or, with a DurableWriter, when that reports
//     the record as durable. A row that no stage accounts for (it has lost its position) is
//     complete when the Writer has been closed without an error and all records are
//     durable. TestDurable TestCloseBeforeTheRest
//   - Ack reports a position only when every row up to it is complete, in rising
//     order, and after a failure nothing that was not complete before. A source that
//     resumes behind the last Ack delivers every row at least once, whatever was
//     killed when; a sink that knows which positions it has makes that
//     once. TestDelivery TestWatermarkOfFailedRun
//   - Only io.EOF itself is the end of a source. TestOnlyEOFEnds
//   - An Acker is closed after the last call of Ack. TestClosedAfterAck
//
// A call is atomic: if a call to Process fails, its records and letters are dropped, unless the
// stage is a Flusher, whose records leave at once (TestFailedCall). A run is not atomic: when it
// fails, rows before the failure have been written. The Writer decides whether these stay: Close
// gets the error. TestErrorPlaces
//
// Failure:
//
//   - An error, a panic and runtime.Goexit in any code of a source, operator,
//     sink, letter function or Ack end the run with an *Error that names the stage;
//     a panic also names the graph, where it is known, and the line. A panic
//     in a goroutine that a stage started itself ends the process. TestErrorPlaces TestExitElsewhere TestPanicNamesGraph
//   - After an error a stage is only closed, once; so are all others.
//     TestNotCalledAgain
//   - When ctx ends, Run returns within a second, provided that Next, Process
//     and Write do; a run that was complete by then returns nil. The adapters end
//     although their upstream is idle. TestCancel TestIdleAdapters
//   - No goroutine and no Arrow buffer of a pipeline outlives Run. TestStress
//   - A Stage or Writer is called by one goroutine at a time, for deadlines too,
//     which are kept while no record comes in. TestTimedStage TestTimedWriter
//
// Memory: between two stretches of stages Options.Buffer records wait, and each
// worker processes one, so the source is at most a few records ahead of a sink that
// has stopped (TestSlowSink). Stages that hold rows document how many. For each record
// that is not complete the pipeline remembers its positions: some tens of
// bytes, and 4 bytes a row once its rows have come apart (TestTrackerAgainstRows).
//
// Records are made in recycled memory (Options.Allocator), so a stage that keeps a slice after the
// release of its record reads the data of another record. With the variable SANFLOW_MEM=poison in
// the environment, or Options.Allocator a record.Poison, released memory is inaccessible: such a
// stage ends the run with an error that names the stage and the line. Run a program with a new
// stage once in this way. TestPoisonNamesStage
//
// # Positions
//
// The source gives a row its position (column pos) once; the row carries the position
// through stages, files and machines. The order of arrival never defines it. Positions
// need not be dense. A file that Shuffle or Replay wrote has positions
// that fall and repeat, and sources read it like any other.
//
// Positions have to rise in one case: where the Reader is an Acker, since the low
// watermark means something only if no position below it is still to come. A record
// that breaks this ends the run. For other sources Stats.Done falls back below a
// position that falls, and stays there to the end. TestTrackerFalls
//
// Package message connects brokers. One message is one record, and the Reader an Acker. Where the
// sink stores places, the Reader acknowledges what is before a stored place, as a Seeker.
//
// A run resumes at a place, an opaque value of the source: with several epochs a position comes
// several times. If the reader is a Seeker, the writer a Resumer, and every stage between them can
// begin in the middle, the writer stores the place behind its last complete row beside its result.
// The next run begins there. A source may delete rows before a place that was written down.
// sinks.Train does so, with part.Source, where the place is a row of a part, and with message.Source,
// where it has the highest number of each producer. Files are read again from the beginning, and the
// rows that were learned from are skipped.
// flow/part.TestTrainResumes flow/kafka.TestTraining flow/part.TestResumeAtPlace
//
// For this, a position has to name a piece of work: no two records have the same.
// The chunks of a large graph, which operators.Chunk makes of one row, all have the
// position of that row. Where each chunk is to be processed, acknowledged and resumed by
// itself, package part divides them into files.
package flow
