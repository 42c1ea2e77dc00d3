package jet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Index is what a reader knows of the messages of a stream: some 100 bytes each.
type Index struct {
	mu      sync.Mutex
	changed chan struct{} // closed when there is more
	entries []Entry
	more    map[int32][]Span // of entries with gaps
	first   map[int64]int32
	digests []Digest // of entries
	base    Base
	end     *End
	total   End // of entries, and of what the base has
	err     error

	Created time.Time // when the stream was made
	// BeforeEnd, if set, is called before the end of the stream is added.
	BeforeEnd func() error

	Last       uint64 // sequence up to which it goes; of the goroutine that scans
	duplicates int64
	foreign    int64
}

// Entry is a message of a stream.
type Entry struct {
	Seq         uint64
	first, last int64
	Rows        int32 // 0: a hole
	Late        bool  // Seq is of the side stream
	taken       bool
}

// Base is what a reader that begins in the middle of a stream need not see again:
// the messages that begin before position Next, of which Total tells.
type Base struct {
	Next    int64  `json:"next"`
	Covered []Span `json:"covered,omitempty"` // positions beyond Next that they have too
	Seq     uint64 `json:"seq"`               // no other message is before this one
	Total   End    `json:"total"`
}

// NewIndex returns an empty one, of a stream that was made then.
func NewIndex(created time.Time) *Index { return NewIndexAt(created, Base{Seq: 1}) }

// NewIndexAt returns one that begins behind a base.
func NewIndexAt(created time.Time, b Base) *Index {
	return &Index{
		Created: created, changed: make(chan struct{}), more: map[int32][]Span{}, first: map[int64]int32{}, base: b, total: b.Total, Last: max(b.Seq, 1) - 1,
	}
}

// Add adds a message, or passes over one whose position is there.
func (x *Index) Add(n *Note) {
	x.mu.Lock()
	defer x.mu.Unlock()
	defer x.wake()
	if !n.Late {
		x.Last = max(x.Last, n.Seq)
	}
	switch {
	case n.End == nil && n.First() < x.base.Next:
	case n.End != nil:
		if x.end == nil {
			x.end = n.End
			if *n.End != x.total {
				x.fail(fmt.Errorf("its end tells of %d messages, %d rows, digest %.16x, and there are %d, %d, %.16x",
					n.End.Messages, n.End.Rows, n.End.Digest[0], x.total.Messages, x.total.Rows, x.total.Digest[0]))
			}
		}
	default:
		if _, twice := x.first[n.First()]; twice {
			x.duplicates++
			return
		}
		i := int32(len(x.entries))
		x.first[n.First()] = i
		x.entries = append(x.entries, Entry{Seq: n.Seq, first: n.First(), last: n.Spans[len(n.Spans)-1].To, Rows: int32(n.Rows), Late: n.Late})
		if len(n.Spans) > 1 {
			x.more[i] = n.Spans
		}
		d := digestOf(n)
		x.digests = append(x.digests, d)
		x.total.add(int64(n.Rows), d)
	}
}

// Foreign counts a message that is not of sanflow.
func (x *Index) Foreign(seq uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.Last = max(x.Last, seq)
	x.foreign++
	x.wake()
}

// Fail ends the waiting of readers: there will be no more messages.
func (x *Index) Fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fail(err)
	x.wake()
}

func (x *Index) fail(err error) {
	if x.err == nil {
		x.err = err
	}
}

func (x *Index) wake() {
	close(x.changed)
	x.changed = make(chan struct{})
}

// Total returns what there is, and how many messages were there again or are
// strange.
func (x *Index) Total() (total End, duplicates, foreign int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.total, x.duplicates, x.foreign
}

// Cursor goes through the messages in the order of their positions.
type Cursor struct {
	x       *Index
	next    int64  // the smallest position that was not taken
	covered []Span // beyond next
	taken   int64  // positions of the messages in Order
	Order   []Entry
	left    []int64 // at the end: first positions that are left
	Gaps    int64   // positions that no message has

	total   End   // of the base and what was taken
	low     int32 // entries before it were taken
	waiting bool
}

// NewCursor begins where the index does.
func NewCursor(x *Index) *Cursor {
	return &Cursor{x: x, next: x.base.Next, covered: slices.Clone(x.base.Covered), taken: x.base.Next + positions(x.base.Covered), total: x.total}
}

// Base returns what a reader need not see that begins where the cursor is.
func (c *Cursor) Base() Base {
	x := c.x
	x.mu.Lock()
	defer x.mu.Unlock()
	for int(c.low) < len(x.entries) && (x.entries[c.low].taken || x.entries[c.low].Late) {
		c.low++
	}
	b := Base{Next: c.next, Covered: slices.Clone(c.covered), Seq: x.Last + 1, Total: c.total}
	if int(c.low) < len(x.entries) {
		b.Seq = x.entries[c.low].Seq
	}
	return b
}

// Waiting returns the position that is waited for, or -1.
func (c *Cursor) Waiting() int64 {
	c.x.mu.Lock()
	defer c.x.mu.Unlock()
	if !c.waiting {
		return -1
	}
	return c.next
}

// Next returns the next message. It waits for it, and returns false at the end. A
// position that is in no message is waited for until the end of the stream is
// there.
func (c *Cursor) Next(ctx context.Context) (Entry, bool, error) {
	for {
		e, found, done, changed, err := c.look()
		if err != nil || found || done {
			return e, found, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return e, false, context.Cause(ctx)
		}
	}
}

func (c *Cursor) look() (e Entry, found, done bool, changed <-chan struct{}, err error) {
	x := c.x
	x.mu.Lock()
	defer x.mu.Unlock()
	defer func() { c.waiting = changed != nil }()
	if i, ok := x.first[c.next]; ok {
		return c.take(i), true, false, nil, nil
	}
	switch {
	case x.err != nil:
		return e, false, true, nil, x.err
	case x.end == nil:
		return e, false, false, x.changed, nil
	}
	if c.left == nil {
		c.left = []int64{}
		for first := range x.first {
			if first > c.next {
				c.left = append(c.left, first)
			}
		}
		slices.Sort(c.left)
	}
	for len(c.left) > 0 || len(c.covered) > 0 {
		switch {
		case len(c.left) > 0 && c.left[0] < c.next:
			c.left = c.left[1:]
		case len(c.covered) > 0 && (len(c.left) == 0 || c.covered[0].From <= c.left[0]):
			c.pass(c.covered[0].From)
			c.cover()
		default:
			c.pass(c.left[0])
			return c.take(x.first[c.next]), true, false, nil, nil
		}
	}
	switch {
	case len(c.Order) != len(x.entries):
		err = fmt.Errorf("%d of its %d messages have positions that others have too", len(x.entries)-len(c.Order), len(x.entries))
	case c.taken+c.Gaps != c.next:
		err = fmt.Errorf("%d positions are in more than one message", c.taken+c.Gaps-c.next)
	}
	return e, false, true, nil, err
}

// pass passes over positions that no message has.
func (c *Cursor) pass(to int64) {
	c.Gaps += max(0, to-c.next)
	c.next = max(c.next, to)
}

// cover passes over positions that messages have that were taken.
func (c *Cursor) cover() {
	for len(c.covered) > 0 && c.covered[0].From <= c.next {
		c.next = max(c.next, c.covered[0].To+1)
		c.covered = c.covered[1:]
	}
}

// take hands out entry i, which begins at next. The caller holds mu.
func (c *Cursor) take(i int32) Entry {
	e := c.x.entries[i]
	c.x.entries[i].taken = true
	c.total.add(int64(e.Rows), c.x.digests[i])
	c.Order = append(c.Order, e)
	spans, ok := c.x.more[i]
	if !ok {
		spans = []Span{{e.first, e.last}}
	}
	c.next = spans[0].To + 1
	for _, s := range spans[1:] {
		at, _ := slices.BinarySearchFunc(c.covered, s, func(a, b Span) int { return int(min(1, max(-1, a.From-b.From))) })
		c.covered = slices.Insert(c.covered, at, s)
	}
	c.taken += positions(spans)
	c.cover()
	return e
}

// Behind returns how many messages were not handed out, as far as is known.
func (c *Cursor) Behind(taken int64) int64 {
	c.x.mu.Lock()
	defer c.x.mu.Unlock()
	return int64(len(c.x.entries)) - taken
}
