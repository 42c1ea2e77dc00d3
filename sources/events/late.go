package events

import (
	"container/heap"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/event"
)

// Lateness is the treatment of an event behind the watermark.
type Lateness uint8

// What becomes of late events.
const (
	Fail Lateness = iota // it is an error
	Drop                 // it is counted and left out
	Move                 // it is counted, and has the time of the watermark
)

// LateSettings are the settings of Late.
type LateSettings struct {
	Wait int64    // how long the stream waits: the watermark is the largest time so far, less Wait
	Late Lateness // treatment of later events
	// Dropped, if set, counts late events.
	Dropped *int64
}

// Late brings a stream that is nearly in order of time into that order. It holds the
// events of the last Wait of time; equal times stay in order.
func Late(seq iter.Seq2[event.Event, error], set LateSettings) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		var held waiting
		most, begun, order := int64(0), false, int64(0)
		for e, err := range seq {
			if err != nil {
				yield(e, err)
				return
			}
			if !begun || e.Time > most {
				most, begun = e.Time, true
			}
			mark := most - set.Wait
			if mark > most { // it is less than any number
				mark = math.MinInt64
			}
			if e.Time < mark {
				if set.Dropped != nil {
					*set.Dropped++
				}
				switch set.Late {
				case Fail:
					yield(e, fmt.Errorf("events: event %d has time %d, behind the watermark %d", e.Pos, e.Time, mark))
					return
				case Drop:
					continue
				}
				e.Time = mark
			}
			e.Cat, e.Attr = slices.Clone(e.Cat), slices.Clone(e.Attr)
			heap.Push(&held, waiter{e, order})
			order++
			for len(held) > 0 && held[0].e.Time <= mark {
				if !yield(heap.Pop(&held).(waiter).e, nil) {
					return
				}
			}
		}
		for len(held) > 0 {
			if !yield(heap.Pop(&held).(waiter).e, nil) {
				return
			}
		}
	}
}

type waiter struct {
	e     event.Event
	order int64
}

// waiting is a heap of events by time, then by order of arrival.
type waiting []waiter

func (w waiting) Len() int { return len(w) }
func (w waiting) Less(i, j int) bool {
	return w[i].e.Time < w[j].e.Time || w[i].e.Time == w[j].e.Time && w[i].order < w[j].order
}
func (w waiting) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(x any)   { *w = append(*w, x.(waiter)) }
func (w *waiting) Pop() any {
	x := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return x
}

// Once drops events that equal another of the same time in all but Pos, and counts them.
// It holds the events of one time.
func Once(seq iter.Seq2[event.Event, error], repeated *int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		seen, now := map[string]bool{}, int64(0)
		var key []byte
		for e, err := range seq {
			if err == nil {
				if e.Time != now {
					clear(seen)
					now = e.Time
				}
				pos := e.Pos
				e.Pos = 0
				key = e.Append(key[:0])
				if e.Pos = pos; seen[string(key)] {
					if repeated != nil {
						*repeated++
					}
					continue
				}
				seen[string(key)] = true
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Channel returns the events of a channel, until it is closed or ctx ends, which is an
// error.
func Channel(ctx context.Context, events <-chan event.Event) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for {
			select {
			case e, ok := <-events:
				if !ok || !yield(e, nil) {
					return
				}
			case <-ctx.Done():
				yield(event.Event{}, context.Cause(ctx))
				return
			}
		}
	}
}
