// Package jet is what sources/jetstream and sinks/jetstream share: how to reach
// the broker, what a message looks like, and what a stream says of itself.
//
// A stream NAME has the subjects NAME.p.POS, one for each message, by the position
// of its first row, and NAME.end. So no message is stored twice: who publishes says
// that its subject has to be empty, and the broker refuses what is there already,
// whenever it comes again. The schema stands in the metadata of the stream.
//
//	Sanflow-Pos   0-31        the positions of the rows: 0-4,6-31 where 5 is missing
//	Sanflow-Rows  32
//	Sanflow-Sum   sha256      of the body
//	Sanflow-Kind  hole, end   what is no record
//	Sanflow-Object sha256     the body is in the object store of the stream
//
// The body of a record is one message of Arrow IPC, a record batch without its
// schema. A hole says that there is nothing at its positions: the row was refused.
// The end says how many messages there are, and their digest.
package jet
