package jetstream

import (
	"time"

	nc "github.com/nats-io/nats.go/jetstream"
)

// The broker measures AckWait by its wall clock. A clock that is set forward only makes it
// deliver messages again early. A clock that is set back keeps the messages of a dead worker
// from the others until it has caught up, which may take hours: then a new consumer, without a
// memory of deliveries, has to give them out.

// brokerClock compares the clock of the broker with the monotonic clock of this process.
type brokerClock struct {
	consumer time.Time // when the consumer was made
	here     time.Time
	there    time.Time
}

// back returns how far the clock of the broker was set back, as far as a consumer shows it: since
// this process saw the consumer first, or since the times that the consumer itself has.
func (c *brokerClock) back(info *nc.ConsumerInfo) time.Duration {
	if c.here.IsZero() || !c.consumer.Equal(info.Created) {
		*c = brokerClock{info.Created, time.Now(), info.TimeStamp}
	}
	back := max(time.Since(c.here)-info.TimeStamp.Sub(c.there), info.Created.Sub(info.TimeStamp))
	for _, at := range []*time.Time{info.Delivered.Last, info.AckFloor.Last} {
		if at != nil {
			back = max(back, at.Sub(info.TimeStamp))
		}
	}
	return back
}
