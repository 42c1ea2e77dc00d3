// Package message reads and writes streams without an end: messages of a broker. It knows no
// broker. Package flow/nats, of a module of its own, connects NATS JetStream, and flow/kafka
// connects Kafka; flowtest/brokertest checks a connector of yours.
//
//	topic := kafka.Topic{Seeds: []string{"broker:9092"}, Name: "graphs", Group: "train"}
//	err := flow.From(message.Source{Topic: topic}).
//		Via(…).
//		To(sinks.Train{Net: net, Checkpoint: sinks.Checkpoint{File: "net", Resume: true}}).
//		Run(ctx)
//
// The other side is a [Sink]. Messages of JSON are events of package sinks/now, whose Consume follows a topic.
//
// # Promises
//
//   - At least once: a message is acknowledged (JetStream) or committed (Kafka) when all of its
//     rows are complete: trained on and in a checkpoint, written durably, skipped or kept as
//     dead letters, and all messages read before it are complete. After a kill the
//     broker delivers the others again.
//   - A message has the name of its producer and a number, which a producer counts from 1. A
//     reader drops a message that is among the last 65,536 that it has read; repeats
//     are counted (Notes). Several readers of one topic do not know what the others read: then a
//     message that one of them lost is read again by another.
//   - A training with a checkpoint stores the highest number of each producer in it, as the place
//     of the source (flow.Seeker), and acknowledges nothing behind that place. The messages of a
//     producer are read in the order of their numbers, and those up to the place are left out. So
//     a topic with one producer and one reader gives the model the bytes of one process, after
//     any kills. Such a topic has to hold the messages from number 1, or from the place, on.
//   - Several producers, or several partitions, come in any order among each other: each row is
//     learned from at least once, and nothing is promised about bytes. Without a checkpoint, or
//     with Shuffle or Replay, which cannot resume, repeats after a kill are learned from again.
//   - A program that stores positions with its results, in one transaction, reads by Topic.Follow: each message counts
//     once, over any kills, without acknowledgements.
//   - The body of a message has a checksum. A message that is damaged or cannot be read ends the
//     run with its place at the broker, or goes to Source.Refused.
//
// Messages that other programs send have no producer and number. The connectors then take the
// stream, or the topic and partition, as the producer, and the place in it as the number.
package message

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
)

// Topic is a sequence of messages at a broker: a stream of JetStream, a topic of Kafka. It is a
// value, which prints without secrets.
type Topic interface {
	fmt.Stringer
	// Receive connects a reader. The context is that of the run. What it returns is used by one
	// goroutine, except for Ack.
	Receive(ctx context.Context) (Receiver, error)
	// Follow connects a reader that keeps its positions itself: after has by Message.Producer the highest Message.Number that it has
	// read. Its Receiver returns each message behind these once, those of one producer in the order of their numbers; producers and numbers are places at the
	// broker, whatever headers say. Nothing is acknowledged. If messages behind after are no longer there, or the topic has
	// fewer, Follow or Receive returns an error.
	Follow(ctx context.Context, after map[string]int64) (Receiver, error)
	// Send connects a producer.
	Send(ctx context.Context) (Sender, error)
}

// Receiver receives messages. It fetches a bounded number ahead, and while it lives, it keeps the
// broker from delivering to another reader what it has received and not acknowledged. If it is a
// flow.Lagger, the reader of the Source reports its lag.
type Receiver interface {
	// Receive waits for messages, at most half a second, and returns those that came, or none. It
	// may return messages again. When ctx ends it returns at once, with the error of ctx.
	Receive(ctx context.Context) ([]Message, error)
	// Ack reports that a message is complete. It is called from any goroutine, in any order, and
	// does not wait. The broker may learn of it later; an error ends the run by Receive or Close.
	Ack(m Message)
	// Close passes on the acknowledgements, and gives what is not acknowledged back to the broker.
	Close() error
}

// Sender publishes messages.
type Sender interface {
	// Send publishes messages in their order, and returns when the broker has stored all of them,
	// or with the error of the first that it has not. A broker that knows the ID of a message
	// stores it once.
	Send(ctx context.Context, messages []Message) error
	Close() error
}

// Message is a message.
type Message struct {
	Producer string
	Number   int64 // from 1, rising by 1
	Body     []byte
	// Place is where the broker has the message, for errors: "stream graphs, message 7".
	Place string
	// Handle is what the Receiver needs for Ack.
	Handle any

	sum string // checksum of Body in the header; empty for a message of another program
}

// ID identifies the message among those of all producers.
func (m *Message) ID() string { return m.Producer + "/" + strconv.FormatInt(m.Number, 10) }

const (
	headProducer = "Sanflow-Producer"
	headNumber   = "Sanflow-Number"
	headSum      = "Sanflow-Sum" // CRC-32C of the body, in hexadecimal
)

// Headers returns the names and values of the headers that a Sender sends.
func (m *Message) Headers() [3][2]string {
	return [3][2]string{{headProducer, m.Producer}, {headNumber, strconv.FormatInt(m.Number, 10)}, {headSum, sum(m.Body)}}
}

// SetHeaders takes the producer, the number and the checksum from the headers of a message. get
// returns the value of a header, or an empty text. A message without a valid producer and number
// keeps those that the Receiver set before.
func (m *Message) SetHeaders(get func(name string) string) {
	n, err := strconv.ParseInt(get(headNumber), 10, 64)
	if p := get(headProducer); p != "" && err == nil && n > 0 {
		m.Producer, m.Number = p, n
	}
	m.sum = get(headSum)
}

// check compares the body with its checksum.
func (m *Message) check() error {
	if m.sum != "" && m.sum != sum(m.Body) {
		return errors.New("the message is damaged: its checksum is another")
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(body []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)) }
