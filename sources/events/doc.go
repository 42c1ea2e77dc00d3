// Package events reads changes of a graph: edges that arrive and leave, attributes that
// are set, classes that become known, each with a time.
//
//	s, err := events.Source{Table: sources.Text{Path: "mail.txt.gz"}, Order: events.Sort}.Open(ctx)
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	for e, err := range s.All() {
//		if err != nil {
//			return err
//		}
//		fmt.Println(e.Time, s.Name(e.Source), s.Name(e.Target), s.Watermark())
//	}
//
// The rows are those of any sources.Table: [sources.Text], [sources.CSV],
// [sources.JSONLines], [sources.Lines], parquet.Table, and sources.RecordTable, which reads any reader of
// Arrow records. Events that a program has by other ways need no source: an
// iter.Seq2[event.Event, error] is what everything behind takes, [Channel] makes one of a
// channel, [Of] of the records of any source, such as sources.IPC and the messages of
// sources/jetstream, and [Late] and [Sorted] work on any. [Rows] makes records of them.
//
// # Time
//
// A time is an integer in the unit of the stream. A number with a fraction is rounded
// down, which is counted, and a date of ISO 8601 or RFC 3339 becomes seconds since 1970,
// in UTC if it has no time zone. Columns.Scale has such times in smaller units.
//
// The watermark is the time that the stream has come to: no later event has an earlier time. A
// table in order of time has the time of its last event. An event behind the watermark is late. By
// Order, a late event is refused with its file and line, or the table is sorted first, in bounded
// memory. With Lateness the stream waits for that long; later events are refused, dropped or given
// the time of the watermark.
//
// # Repetitions
//
// Two events with the same ends and time are two occurrences of an edge. With Once, an
// event that equals another of the same time, in all but its position, is dropped and
// counted: for streams that deliver at least once.
//
// # JetStream
//
// [Rows] into a sink of sinks/jetstream publishes events, and [Of] or operators.Evolve
// reads them, from a jetstream.Source with Ordered:
//
//	feed := flow.From(events.Rows{Events: s.All()}).To(sink.Sink{Stream: "events"})
//	src := jetstream.Source{Stream: "events", Ordered: true, Skip: run.Skip()} // of a checkpoint
//	for e, err := range run.Events(events.Of(ctx, src, mem)) {
//
// The broker identifies a message by its positions, and refuses a repeated one. A feed that begins
// anew with the same events and the same Size sends them again, and no event is twice in the
// stream; other events at the same positions are an error. Events that a program adds twice have
// two positions, and are two: Once drops them if their times are equal.
//
// The reader gets each event once, in the order of publishing, also when the broker restarts and
// messages are delivered again. It acknowledges nothing, so that no event is lost with a reader:
// its place is the one in the checkpoint, which holds the graph and the model after the same event.
// A reader that was killed gets the events behind the checkpoint again. With Skip, the events of
// the checkpoint are skipped without a comparison; without Skip they are read again and compared.
// All of them have to be in the stream: one that deletes messages by age or number makes the reader
// wait for them until the end of the stream. A queue (Durable) delivers in any order, and Of
// refuses it.
//
// # Ids
//
// Nodes are numbered from 0 in the order in which they stand in the table. Ids are
// integers where all of them are, and strings else.
package events
