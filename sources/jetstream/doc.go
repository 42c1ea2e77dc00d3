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
//	feed             begins anew: what is in the queue is refused, what was worked on is worked on again, and refused in fields
//	trainer          goes on from its checkpoint; it reads the stream from its beginning and passes over what was learned, or
//	                 skips it (Skip)
//	one of 3 brokers the others go on (Replicas: 3); clients come back by themselves, and count that (flow.Noter)
//	the only broker  everybody waits for as long as Connection.Patience; what was acknowledged is on its disk, though by default
//	                 not synced: against loss of power, its sync_interval has to be always
//
// A full stream (MaxBytes, MaxMessages) slows its publisher. A queue with MaxMessages
// bounds how far the feed is ahead. A stream of fields that is full stops the workers, and
// may stop them for good where the position that the trainer waits for is not among those
// in it: it has to hold all fields, and bounding it by the pace of the trainer is not
// done. Memory: a worker holds Pending messages; a trainer Ahead messages, in later
// epochs three blocks of rows, and some 100 bytes for each message of the stream.
//
// # What it costs
//
// A model, from one small machine (two cores that others used too, loopback, file
// storage, one broker, k = 10), processor time as processes of examples/cluster
// report it, with their start:
//
//	                          NCI1, 20 fields a graph    email-Enron, 256 roots a chunk, with edges
//	fields                    79 132                     36 692
//	bytes a field             90                         490
//	one process, everything   5.4 µs a field             18 µs
//	worker                    6.4 µs                     15 µs
//	broker                    3.3 µs                     6.3 µs
//	feed and trainer          5.2 µs                     8.4 µs
//
// So fields that cost microseconds are not worth a broker, whose share, some 3 µs and
// a few µs each for writing and reading a field, does not depend on what a field
// costs; from 100 µs a field on it is small change. What one broker carries was
// measured as 5000 messages of 40 KiB a second one by one, 200 MB/s: 400 000 fields a
// second with edges, 2 million without, which is the work of 50 to 300 cores at the
// 7500 fields a CPU second of a graph with hubs.
//
// From that, for a graph of 10⁹ edges and 6·10⁷ nodes, a field for each node: 8 GB of
// graph on each machine (100 s from the object store at its 80 MB/s), 2.2 core hours for
// fields, 16 minutes on 8 machines of one core; 30 GB of fields with edges, 5 GB
// without, three times that with three replicas; and 30 GB to read for each epoch, two
// and a half minutes at the speed of the broker, where training is slower. It assumes
// that fields there cost what those of the RMAT graph of 3·10⁷ edges do, that disks and
// network carry what loopback did, and that chunks are of equal weight. Nobody has run it.
package jetstream
