// Package jetstream reads records from streams of NATS JetStream. Together with
// sinks/jetstream, which publishes them, it runs one pipeline on many machines: one feeds,
// any number make fields, one learns.
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
// The model is, byte for byte, that of one process which runs the same operators with
// operators.Replay{Epochs, Seed, Block} in place of the broker, whatever processes are killed
// (examples/cluster: TestSameModel, TestHundredKills).
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
//	  refused row:  dead letters, with stage, graph and reason; a hole in fields, so that its reader does not wait
//
// A message is one record of Arrow IPC and its positions. Position p is published to NAME.p.p
// on the condition that this subject is empty. So a message is stored once, even if it is sent
// again after a second or after a day. A message with other content for the same position is
// an error of its sender. The metadata of the stream holds the schema. The reader of messages is
// the reader of files: it trusts nothing in them, and takes no more than MaxBytes. The SHA-256 of
// a message shows damage, but no forgery: the broker's accounts decide which clients may publish.
//
// The end of a stream is a message too: the number of messages, and a digest of their positions
// and contents that does not depend on their order. A reader in order compares both.
//
// # Failures
//
//	worker           AckWait later its messages go to another worker; its published fields stay, and are not stored twice
//	feed             begins anew: the broker refuses messages that are in the queue; others are worked on again, and their
//	                 fields are refused. A feed that has ended and runs again with the same data sends nothing
//	trainer          resumes from its checkpoint, which holds its place in the stream (flow.Seeker): it reads the last batch
//	                 again, and the messages across its boundary. Behind Shuffle, Replay or a stage that several workers
//	                 cannot share it reads the stream from its beginning, and drops the rows that were learned
//	one of 3 servers the others continue (Connection.Replicas: 3); clients reconnect, and count that (flow.Noter)
//	the only server  all wait for Connection.Patience, and Connection.Logger gets a line after 3 s; acknowledged messages
//	                 are in its files, by default not synced: against loss of power set its sync_interval to always
//	broker's clock   set forward, messages come again early; set back, idle workers replace the consumer
//
// A full stream (MaxBytes, MaxMessages) blocks its publisher. A queue with MaxMessages limits how
// far the feed is ahead. A full broker slows the publisher of a queue, and of a stream that its
// reader purges. It ends the publisher of any other stream after some seconds, with ErrFull of
// sinks/jetstream, since waiting makes no room.
//
// Starting over. The broker keeps streams until they are deleted. A sink finds the end of an
// earlier run in a queue, and refuses other data. To start over under the same names, Delete
// the queue and the stream of fields, and remove the trainer's checkpoint (TestDelete):
//
//	deleted, err := jetstream.Delete(ctx, connection, "graphs", "fields")
//
// # A slow trainer
//
// Fields are kept, or deleted when they have been learned:
//
//	           kept                               Source.Purge, and Sink.MaxBytes
//	epochs     any number                         one: online learning
//	broker     holds the whole stream             holds at most MaxBytes, and the message the trainer waits for
//	workers    never wait                         wait while the stream is full, with Pending messages in hand
//	trainer    begins at its checkpoint, or anew  begins at its checkpoint
//
// With Purge the trainer deletes the messages before the place in its last checkpoint. A full
// stream may lack one early message, of a worker that was slow or died: that message, and the
// end, go to the stream NAME-late, where the trainer also notes its place (TestBoundedStream).
//
// A worker holding Pending messages for AckWait fetches the oldest queued ones directly, past the
// consumer, so a dead worker stalls others for at most AckWait. Sink.Pending has to be more than
// Source.Pending there, as it is by default (TestStuckWorker).
//
// Memory: a worker holds Pending messages, and those its sink waits for; a trainer Ahead
// messages, in later epochs three blocks of rows, and some 100 bytes for each message of the
// stream.
//
// # Permissions
//
// The subjects that each role publishes to; answers come to _INBOX.> (TestPermissions reads this
// table). Graph and Attach need more, for an object store; so do Dead and the letters of
// sinks/jetstream.
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
// # Measurements
//
// Kills: go test -v ./examples/cluster -args -graph rmat -n 262144 -repeat 4 -epochs 40 -seed 3
// -brokers 3 -kill 80ms, on two busy cores, one run each. No run repeated a row. The second lost
// 1568 of 2248 chunks, by a defect that is mended since (TestForgetfulConsumer); the last run came
// after that, and learned 23 008 640 rows. The other three made the model of one process.
//
//	workers  kills  of them servers  seconds  messages seen again
//	1          347  56               537      697
//	2          432  63               475      695
//	4          383  49               457      989
//	2          304  54               432      750
//
// With a bound (-n 4096 -epochs 1 -brokers 3 -bound 1), nothing lost or repeated, and the model
// of one process:
//
//	seed  workers  -repeat  -kill   kills  seconds
//	3     2            20   150ms      44       73
//	3     2            40   150ms      36       75
//	3     2           100   100ms     158      340
//	4     1            80   100ms      99      224
//	5     4            20   100ms      49      106
//
// Connections: TestSoak, ten minutes with -race, cut 874 connections in 11 streams of 200 graphs
// and three epochs; all rows equalled those of one process. The heap had 2.4, 2.2 and 2.6 MB after
// the first, sixth and last stream; there were 19, 20 and 19 goroutines. TestDamagedMessages: of
// 10 000 damaged messages 7436 were refused; the others were records as their headers say.
//
// Cost: a model from one small machine (two cores, loopback, file storage, one server, one
// worker, one epoch, k = 10), processor time of whole processes: the test of examples/cluster
// with -compare -workers 1 -epochs 1 and -data NCI1 -repeat 20 or -graph email-Enron.edges.gz
// -repeat 10.
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
// The broker's cost grows with the bytes of a field, 13 to 18 ns each, and not with the work for
// it. One server carried 5000 messages of 40 KiB a second, 200 MB/s: 400 000 fields a second with
// edges, 2 million without, the work of 50 to 300 cores at the 7500 fields a CPU second of a
// graph with hubs.
//
// Extrapolated to 10⁹ edges and 6·10⁷ nodes, one field a node: 8 GB of graph on each machine (100 s
// from the object store at 80 MB/s), 2.2 core hours for fields, 16 minutes on 8 machines of one
// core; 30 GB of fields with edges, 5 GB without, three times that with three replicas; 30 GB to
// read for each epoch, two and a half minutes. No such run was made.
package jetstream
