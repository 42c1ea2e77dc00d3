// Package jetstream reads records from streams of NATS JetStream, and with
// sinks/jetstream, which publishes them, spreads a pipeline over many machines: one
// feeds, any number make fields, one learns.
//
//	flow.From(src).To(sink.Sink{Stream: "graphs", Queue: true}).Run(ctx)               // feed
//
//	flow.From(jetstream.Source{Stream: "graphs", Durable: "fields"}).                  // work,
//		Via(operators.Select{W: 18}).Via(operators.Assemble{}).Via(operators.Normalize{}). // on any number of machines
//		To(sink.Sink{Stream: "fields"}).Run(ctx)
//
//	flow.From(jetstream.Source{Stream: "fields", Ordered: true, Epochs: 10}).          // train
//		Via(operators.Batch{Size: 32}).
//		To(sinks.Train{Net: net, Checkpoint: sinks.Checkpoint{File: f, Resume: true}}).Run(ctx)
//
// The model is, byte for byte, that of one process that runs the same operators
// with operators.Replay{Epochs, Seed, Block} in place of the broker, whoever was killed at
// whatever moment (examples/cluster, TestSameModel, TestHundredKills).
//
// # The way of a message
//
//	  feed                          broker                       workers                  broker            trainer
//	┌────────┐  graphs.p.0   ┌───────────────────┐  any order  ┌───────────────┐  fields.p.0 ┌──────────┐ in order ┌───────┐
//	│ source │──graphs.p.32─▶│ graphs, a queue   │────────────▶│ Durable       │─fields.p.32▶│ fields,  │─────────▶│ learn │
//	│ 0 1 2… │  graphs.end   │ a message is gone │  each to    │  select …     │  fields.end │ kept     │ 0 1 2 …  │ check-│
//	└────────┘               │ when acknowledged │  one, again │  normalize    │             │          │ epochs   │ point │
//	     ▲ acknowledged      └───────────────────┘  if it died └──────┬────────┘             └──────────┘          └───────┘
//	     │ by the broker              ▲                               │  acknowledged by the broker
//	     └ else sent again            └───── acknowledged when its ───┘  then, and only then,
//	                                         rows are in fields          the input is acknowledged
//
//	  large graph:  file ──▶ object store, by SHA-256 ──▶ mapped once on each machine (Attach); messages carry roots
//	  refused row:  dead letters, with stage, graph and reason; a hole in fields, so that nobody waits for it
//
// One message is one record of Arrow IPC and its positions, and nothing else says
// where it belongs: position p is published to NAME.p.p on the condition that this
// is empty. So it is stored once, whether it is sent again after a second, when an
// acknowledgement got lost, or after a day, when somebody begins anew; a message
// with other content for the same position is an error of its sender. The schema
// stands in the metadata of the stream. Messages are read by the reader that files
// are read with, which trusts nothing in them and takes no more than MaxBytes;
// each has a SHA-256, which tells damage and no forgery: who may publish to the
// stream is for the broker's accounts to say.
//
// The end of a stream is a message too: how many messages there are, and a digest
// of their positions and contents in which their order does not matter. Whoever
// reads in order compares both with what was there.
//
// # What dies, and what follows
//
//	worker           its messages go to another one after AckWait; what it had published stays, and is not stored twice
//	feed             begins anew: what is in the queue is refused, what was worked on is worked on again, and refused in fields.
//	                 A feed that has ended, and is run again with the same data, sends nothing
//	trainer          goes on from its checkpoint, which holds its place in the stream (flow.Seeker): of what was learned
//	                 it reads again the last batch, and what cuts across it. Behind Shuffle, Replay or a stage that several workers
//	                 cannot share, it reads the stream from its beginning and passes over what was learned
//	one of 3 brokers the others go on (Replicas: 3); clients come back by themselves, and count that (flow.Noter)
//	the only broker  everybody waits for as long as Connection.Patience, and Connection.Logger is told after 3 s; what was
//	                 acknowledged is on its disk, though by default not synced: against loss of power, its sync_interval has to be always
//
// A full stream (MaxBytes, MaxMessages) slows its publisher. A queue with MaxMessages
// bounds how far the feed is ahead. A full broker slows the publisher of a queue, and of a
// stream that its reader purges. It ends the publisher of another stream after some
// seconds, with ErrFull of sinks/jetstream: nothing would make room.
//
// Starting over. The broker keeps streams until they are deleted. A sink finds the end of
// an earlier run in a queue, and refuses other data. So a job that is to start over with the
// same names needs the queue, the stream of fields, its NAME-late and the trainer's checkpoint
// to be deleted (nats stream rm graphs); fields alone are not made again.
//
// A slow trainer. Fields are kept, or forgotten when they have been learned from:
//
//	           kept                               Source.Purge, and Sink.MaxBytes
//	epochs     any number                         one: learning online
//	broker     holds the whole stream             never holds more than MaxBytes, and beside that what the trainer waits for
//	workers    never wait                         wait while the stream is full, with Pending messages in hand
//	trainer    begins at its checkpoint, or anew  begins at its checkpoint, which is the only way
//
// With Purge the trainer deletes what is before the place that its last checkpoint has.
// The messages of a full stream may all be behind one that is missing, whose worker was
// slow or died: that one, and the end, go to the stream NAME-late, where the trainer also
// notes how far it is. TestBoundedStream
//
// A worker whose hand has been full for AckWait, of messages that are behind what the trainer
// waits for, takes the first ones of the queue beyond Pending, past the consumer, which would
// give them to nobody while all hands are full: so a worker that died with them stops the
// others for AckWait and no longer. Sink.Pending has to be more than Source.Pending there, as
// it is by default. TestStuckWorker
//
// Memory: a worker holds Pending messages, and those that its sink has not got rid of; a
// trainer Ahead messages, in later epochs three blocks of rows, and some 100 bytes for
// each message of the stream that it has seen.
//
// # Permissions
//
// What the roles above publish to where the broker's accounts allow no more than that; answers
// come to _INBOX.> (TestPermissions, which reads this table). Graph and Attach need more, for
// an object store, and so do Dead and the letters of sinks/jetstream.
//
//	feed     graphs.p.*
//	feed     graphs.end
//	feed     $JS.API.STREAM.INFO.graphs
//	feed     $JS.API.STREAM.CREATE.graphs
//	feed     $JS.API.STREAM.MSG.GET.graphs
//	worker   $JS.API.STREAM.INFO.graphs
//	worker   $JS.API.STREAM.MSG.GET.graphs
//	worker   $JS.API.CONSUMER.CREATE.graphs.DURABLE.graphs.p.*
//	worker   $JS.API.CONSUMER.DELETE.graphs.DURABLE
//	worker   $JS.API.CONSUMER.INFO.graphs.DURABLE
//	worker   $JS.API.CONSUMER.MSG.NEXT.graphs.DURABLE
//	worker   $JS.ACK.graphs.DURABLE.>
//	worker   fields.p.*
//	worker   fields.end
//	worker   $JS.API.STREAM.INFO.fields
//	worker   $JS.API.STREAM.CREATE.fields
//	worker   $JS.API.STREAM.MSG.GET.fields
//	worker   $JS.API.CONSUMER.*.fields.*
//	worker   $JS.API.CONSUMER.MSG.NEXT.fields.*
//	worker   fields-late.p.*
//	worker   fields-late.end
//	worker   $JS.API.STREAM.INFO.fields-late
//	worker   $JS.API.STREAM.MSG.GET.fields-late
//	trainer  $JS.API.STREAM.INFO.fields
//	trainer  $JS.API.STREAM.MSG.GET.fields
//	trainer  $JS.API.DIRECT.GET.fields
//	trainer  $JS.API.CONSUMER.*.fields.*
//	trainer  $JS.API.CONSUMER.MSG.NEXT.fields.*
//
// With Purge, also:
//
//	trainer  $JS.API.STREAM.PURGE.fields
//	trainer  fields-late.note
//	trainer  $JS.API.STREAM.INFO.fields-late
//	trainer  $JS.API.STREAM.CREATE.fields-late
//	trainer  $JS.API.STREAM.UPDATE.fields-late
//	trainer  $JS.API.STREAM.PURGE.fields-late
//	trainer  $JS.API.STREAM.MSG.GET.fields-late
//	trainer  $JS.API.DIRECT.GET.fields-late
//
// # What was tried
//
// Kills. examples/cluster -graph rmat -n 262144 -repeat 4 -epochs 40 -seed 3 -brokers 3 -kill
// 80ms, on two busy cores, in one run each:
//
//	workers  kills  of them brokers  seconds  messages seen again  lost                   twice
//	1          347  56               537      697                  0                      0
//	2          432  63               475      695                  1568 of 2248 chunks    0
//	4          383  49               457      989                  0                      0
//	2          304  54               432      750                  0                      0
//
// Where nothing was lost the model is that of one process. What was lost found a defect, which is
// mended: a server that came back and led the consumer of the queue had not heard of its messages
// yet, and a worker ended (TestForgetfulConsumer). The last run is one after that: the trainer was
// killed 127 times, the workers 56 and 67, the servers 23, 16 and 15, and the feed was done before;
// 575 216 fields, in 40 epochs 23 008 640 rows learned from, and the model c05b7653… of one process.
// Since then what is lost is counted in rows learned from, of those that the feed has sent, and
// the command fails where there is any. A run of four workers with 315 kills since then lost
// nothing either.
//
// With a bound (-n 4096 -epochs 1 -brokers 3 -bound 1), nothing lost, nothing twice, and the model
// of one process each time:
//
//	seed  workers  -repeat  -kill   kills  seconds
//	3     2            20   150ms      44       73
//	3     2            40   150ms      36       75
//	3     2           100   100ms     158      340
//	4     1            80   100ms      99      224
//	5     4            20   100ms      49      106
//
// The first of them did not come to an end before: a worker that had died with the message that
// the trainer waited for stopped all others (TestStuckWorker). Four workers with -repeat 100 (seed 1,
// -kill 150ms), of which the model was not compared, took 697 seconds of a busy machine and 282
// kills, and lost nothing and learned nothing twice either.
//
// Connections. TestSoak, ten minutes with -race: 874 connections cut in 11 streams of 200
// graphs, three epochs each, all rows those of one process; after the first, the sixth and the
// last 2.4, 2.2 and 2.6 MB of heap, 19, 20 and 19 goroutines. A broker that is away for a minute,
// twice, while a stream is written and read: TestBrokerAway. 10 000 damaged messages:
// TestDamagedMessages, 7436 refused, the others records as their headers say.
//
// # What it costs
//
// A model, from one small machine (two cores, loopback, file storage, one broker, one
// worker, one epoch, k = 10), processor time of whole processes: examples/cluster -compare
// -workers 1 -epochs 1 -data NCI1 -repeat 20, and -graph email-Enron.edges.gz -repeat 10.
//
//	                          NCI1, 20 fields a graph    email-Enron, 256 roots a chunk, with edges
//	fields                    1 582 640                  366 920
//	bytes a field             90                         490
//	one process, everything   4.9 µs a field             19.6 µs
//	fields made and dropped   4.7 µs                     15.5 µs
//	worker                    4.6 µs                     15.9 µs
//	broker                    1.6 µs                     6.2 µs
//	feed                      1.4 µs                     0.4 µs
//	trainer                   1.4 µs                     5.8 µs
//
// A worker so has 1.02 and 0.97 times the fields a CPU second of a process that drops
// them, and 1.07 and 1.23 times those of one that does everything, which learns as well;
// all roles together have 0.55 and 0.69 times those. What a broker costs does not depend
// on what a field costs, but on its bytes: some 13 to 18 ns each. From 100 µs a field on
// it is small change. What one broker carries was measured as 5000 messages of 40 KiB a
// second one by one, 200 MB/s: 400 000 fields a second with edges, 2 million without,
// which is the work of 50 to 300 cores at the 7500 fields a CPU second of a graph with
// hubs.
//
// From that, for a graph of 10⁹ edges and 6·10⁷ nodes, a field for each node: 8 GB of
// graph on each machine (100 s from the object store at its 80 MB/s), 2.2 core hours for
// fields, 16 minutes on 8 machines of one core; 30 GB of fields with edges, 5 GB
// without, three times that with three replicas; and 30 GB to read for each epoch, two
// and a half minutes at the speed of the broker, where training is slower. It assumes
// that fields there cost what those of the RMAT graph of 3·10⁷ edges do, that disks and
// network carry what loopback did, and that chunks are of equal weight. Nobody has run it.
package jetstream
