// Package jet holds the code that sources/jetstream and sinks/jetstream share: the connection to
// the broker, the format of messages, and the state of a stream.
//
// A stream NAME has the subject NAME.p.POS for the message whose first row has position POS, and
// NAME.end. A client publishes on the condition that the subject is empty, so the broker stores
// each message once, whenever it is sent again. The metadata of the stream holds the schema.
//
//	Sanflow-Pos    0-31       the positions of the rows: 0-4,6-31 where 5 is missing
//	Sanflow-Rows   32
//	Sanflow-Sum    sha256     of the body
//	Sanflow-Kind   hole, end  absent in a record
//	Sanflow-Object sha256     the body is in the object store of the stream
//
// The body of a record is one message of Arrow IPC: a record batch without its schema. A hole
// marks a position whose row was refused. The end holds the number of messages and rows, and their
// digest.
package jet
