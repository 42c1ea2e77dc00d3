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
// A pipeline is a value: it prints as its settings, Plan(ctx) adds the columns of
// each stage, and it runs as often as it is told to. Run opens the stages in order,
// each with the schema of the one before it, so that a wrong setting is an error
// before the first graph flows; package record says what the columns mean.
//
// # What flow adds to go-streams
//
// The stages are go-streams stages, connected by channels as those are (but for a reader
// that is Instant, which the stages behind it call), and foreign
// flows fit between them (Pipeline.Through) as ours fit into a pipeline of
// go-streams (AsSource, AsFlow, AsSink). To that, flow adds once for everyone:
//
//   - an end: Run(ctx) stops when ctx does, and returns the first error as an
//     *Error{Stage, Graph, Err};
//   - workers: consecutive stages that can be forked (Select, Assemble and
//     Normalize can) run as one chain in Options.Workers goroutines;
//   - bounded buffers, so a slow sink slows the source;
//   - rows that a stage refuses end the run, are skipped, or are kept as
//     letters (Options.Refused);
//   - counts, bytes, busy and waiting time per stage (Running.Stats);
//   - positions: the pipeline knows up to which row of the source everything
//     has left it, tells Stats and a source that is an Acker.
//
// flow knows no graph theory and no learning. Package flowtest checks an
// operator of yours against the rules above.
//
// # Guarantees
//
// Each with the test that holds it; those without a package are in this one.
//
// Order and determinism:
//
//   - Rows leave in the order in which the source gave them, with any number of
//     workers. Exceptions say so: Shuffle, Replay, and a Foreign that works in
//     parallel. TestOrder
//   - The same rows and seeds give the same records at any number of workers, and
//     for stages that do not say otherwise the same rows however the stream is
//     cut into records. Only MaxWait, of Batch and Shuffle, makes cuts and order
//     depend on time. operators.TestConformance operators.TestBatchMaxWait
//   - Of several errors, the one of the earliest record is reported, whichever
//     worker was quicker. TestFirstError
//
// Delivery:
//
//   - A row counts as having left when it was written, skipped as refused, handed
//     to Options.DeadLetters, or dropped by a stage, and so were all rows made of
//     it. TestWatermark
//   - Written is what the Writer says: when Write returns, or, of a DurableWriter,
//     when it calls the record durable. What no stage accounts for (a Foreign that
//     swallows rows) counts when the Writer has been closed without an error, and
//     all is durable. TestDurable TestCloseBeforeTheRest
//   - An Acker hears a position only when every row up to it has left, in rising
//     order, and nothing after a failure that had not left before. A source that
//     begins again behind the last Ack delivers every row at least once, whatever
//     was killed when; a sink that knows which positions it has makes that
//     once. TestDelivery TestWatermarkOfFailedRun
//   - Only io.EOF itself is the end of a source. TestOnlyEOFEnds
//   - A Settler hears of each record once, when all of its rows have left, in
//     whatever order records come and however often; and of none that had a row in
//     the pipeline when the run failed. TestSettler TestSettlerAgainstRows
//   - A Reader that is an Acker or a Settler is closed after the last call of Ack or
//     Settle. TestClosedAfterAck TestSettler
//
// Atomic is a call: what a stage has emitted in a call to Process that fails is
// dropped together with its letters, unless it is a Flusher, whose records are on
// their way at once (TestFailedCall). A run is not: when it fails, rows before the
// failure have been written. Whether these stay is the Writer's affair: Close is
// told the error. TestErrorPlaces
//
// Failure:
//
//   - An error, a panic and runtime.Goexit in any code of a source, operator,
//     sink, letter function or Ack end the run with an *Error that names the stage;
//     a panic also names the graph, as far as it is known, and the line. A panic
//     in a goroutine that a stage started itself ends the process, as one in a
//     Foreign does. TestErrorPlaces TestExitElsewhere TestPanicNamesGraph
//   - After an error a stage is only closed, once; so are all others.
//     TestNotCalledAgain
//   - When ctx ends, Run returns within a second, provided that Next, Process
//     and Write do; a run that was complete by then returns nil. The adapters end
//     though their upstream is idle. TestCancel TestIdleAdapters
//   - No goroutine and no Arrow buffer of a pipeline outlives Run. TestStress
//   - A Stage or Writer is called by one goroutine at a time, for deadlines too,
//     which are kept while nothing comes in. TestTimedStage TestTimedWriter
//
// Memory: between two stretches of stages wait Options.Buffer records, and each
// worker has one in hand, so the source runs ahead of a sink that has stopped by a
// few records (TestSlowSink). Stages that hold rows say how many. For each record
// that is not yet acknowledged the pipeline remembers its positions: some tens of
// bytes, and 4 bytes a row once its rows have come apart (TestTrackerAgainstRows).
//
// # Positions
//
// A position (column pos) is given to a row once, by the source, and carried with
// it through stages, files and machines; nothing infers it from the order of
// arrival. It need not be dense. A file that Shuffle or Replay wrote has positions
// that fall and come again, and sources read it like any other.
//
// Positions have to rise in one case: where the Reader is an Acker, since the low
// watermark means something only if nothing below it is still to come. A record
// that breaks this ends the run. For other sources Stats.Done falls back below a
// position that falls, and stays there to the end. TestTrackerFalls
//
// A broker fits in two ways. A log that one reader consumes in order (a stream
// that is kept, a partition) has a watermark: what comes again the Reader drops, so
// that it takes each position once, and the watermark, or a checkpoint behind it, is
// where it begins again. In a work queue, one machine of many sees positions out of
// order and again, and there is no watermark to speak of: messages are acknowledged
// one by one. There the Reader is a Settler. One message is one record, claims are
// counted by record, and it hears of each record when its last claim goes; one that is
// delivered again while its rows are still here adds to their claims. TestSettler
//
// Where a run begins again is a place, which only the source understands: with several
// epochs a position comes several times. Where the reader is a Placer, the writer a
// Resumer, and every stage between them can begin in the middle, the writer asks
// for the place behind the last row that it has had all of, writes it down beside
// what it made of that, and begins there in the next run, perhaps within what becomes
// of the first row (Skipper); a source may delete what is before a place that was written down. sinks.Train does so, with
// sources/jetstream, and with sources.Mapped and sources.Chunks of it, where the place is
// a row of the file and a chunk of a graph. Other files are read again from the
// beginning, and what was learned from is passed over.
// sources/jetstream.TestResumeAtPlace sources/jetstream.TestBoundedStream sources.TestResumeAtPlace
//
// For this, a position has to name a piece of work: no two records have the same.
// The chunks of a large graph, which operators.Chunk makes of one row, all have the
// position of that; where each is to be worked on, acknowledged and found again by
// itself, the source numbers them (sources.Chunks), and a checkpoint names a chunk
// and not a graph.
package flow
