package message

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"

	"github.com/sanflow/sanflow/flow"
)

const (
	// maxHeld bounds the messages that wait for an earlier one of their producer. More of them end the
	// run, since the earlier message is lost.
	maxHeld = 1024
	// maxRecent is the number of recent messages that a reader without places compares to drop repeats.
	maxRecent = 1 << 16
)

// intake receives messages, drops repeats, and logs the order of the others. It acknowledges a message when
// the rows of the message and of all messages before are complete: by the number of rows if no place is asked for, else
// by the place that Keep reports as stored.
type intake struct {
	set   Source
	from  Receiver
	early []Message // messages that next has not looked at

	mu        sync.Mutex
	ordered   bool             // places are in use: the messages of a producer are read by ascending number
	top       map[string]int64 // ordered: highest read number by producer
	last      key              // ordered: last read message
	held      map[key]Message  // ordered: messages that wait for an earlier one
	recent    map[key]bool     // not ordered: latest read messages
	ring      []key            // keys of recent, oldest overwritten first
	log       []handed         // read messages in order, with repeats
	done      []Message        // ordered: complete messages after the last stored place
	base      place            // place before log[0]
	rows      int64            // number of rows before log[0]
	completed int64            // number of rows from the begin of the run on that are complete

	received, repeated, letters int64
}

// key is the ID of a message: its producer, and its number among the messages of the producer.
type key struct {
	producer string
	number   int64
}

// handed is a read message without its body. A repeat has no rows.
type handed struct {
	Message
	repeat  bool
	skipped int64 // rows that an earlier run completed
	rows    int64
}

// place is a place in the stream, which a checkpoint stores.
type place struct {
	// Numbers has the highest number of each producer. All messages up to it are complete.
	Numbers map[string]int64 `json:"numbers"`
	// Within is the number of complete rows in the next message of a producer.
	Within map[string]int64 `json:"within,omitempty"`
}

func (s Source) intake(ctx context.Context) (*intake, error) {
	if s.Topic == nil {
		return nil, errors.New("there is no Topic")
	}
	from, err := s.Topic.Receive(ctx)
	if err != nil {
		return nil, err
	}
	return &intake{
		set: s, from: from, top: map[string]int64{}, held: map[key]Message{}, recent: map[key]bool{}, ring: make([]key, maxRecent),
		base: place{map[string]int64{}, map[string]int64{}},
	}, nil
}

// raw returns the next messages, or io.EOF after Idle without one.
func (in *intake) raw(ctx context.Context) ([]Message, error) {
	wait := ctx
	if in.set.Idle > 0 {
		var stop context.CancelFunc
		wait, stop = context.WithTimeout(ctx, in.set.Idle)
		defer stop()
	}
	for {
		some, err := in.from.Receive(wait)
		switch {
		case len(some) > 0:
			return some, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case wait.Err() != nil:
			return nil, io.EOF
		case err == io.EOF: // a receiver has no end
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.set.Topic, err)
		}
	}
}

// take returns the next message with incomplete rows, and the number skip of its complete rows. read
// parses a message and counts its rows.
func (in *intake) take(ctx context.Context, read func(m Message) (rows int64, err error)) (m Message, skip int64, err error) {
	for {
		if m, err = in.next(ctx); err != nil {
			return m, 0, err
		}
		rows := int64(0)
		if err = m.check(); err == nil {
			rows, err = read(m)
		}
		if ctx.Err() != nil {
			return m, 0, context.Cause(ctx)
		}
		if err != nil {
			if err = in.refuse(ctx, m, err); err != nil {
				return m, 0, err
			}
			rows = 0
		}
		if skip = in.note(m, rows); skip < rows {
			return m, skip, nil
		}
	}
}

// next returns the next message that is no repeat.
func (in *intake) next(ctx context.Context) (m Message, err error) {
	for {
		if m, ok := in.due(); ok {
			return m, nil
		}
		if len(in.early) == 0 {
			if in.early, err = in.raw(ctx); err != nil {
				if missing := in.missing(0); err == io.EOF && missing != nil {
					err = missing
				}
				return m, err
			}
		}
		m, in.early = in.early[0], in.early[1:]
		if in.admit(m) {
			return m, nil
		}
		if err := in.missing(maxHeld); err != nil {
			return m, err
		}
	}
}

// due returns the held message that follows the last read one.
func (in *intake) due() (m Message, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	k := key{in.last.producer, in.last.number + 1}
	if m, ok = in.held[k]; ok {
		delete(in.held, k)
		in.last, in.top[k.producer] = k, k.number
	}
	return m, ok
}

// admit reports whether a message is read now. It drops repeats and holds messages that come too early.
func (in *intake) admit(m Message) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.received++
	k := key{m.Producer, m.Number}
	_, waits := in.held[k]
	switch {
	case waits || in.recent[k] || in.ordered && m.Number <= in.top[m.Producer]:
		in.repeated++
		m.Body = nil
		in.log = append(in.log, handed{Message: m, repeat: true})
		in.pass()
		return false
	case in.ordered && m.Number > in.top[m.Producer]+1:
		in.held[k] = m
		return false
	case in.ordered:
		in.last, in.top[m.Producer] = k, m.Number
	default:
		at := in.received % maxRecent
		delete(in.recent, in.ring[at])
		in.ring[at], in.recent[k] = k, true
	}
	return true
}

// missing returns an error if more than most messages are held.
func (in *intake) missing(most int) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, m := range in.held {
		if len(in.held) > most {
			return fmt.Errorf("%s: message %d of the producer %q is missing, and %d messages wait behind it; a training that resumes needs all messages from its place on, from 1 on at first",
				in.set.Topic, in.top[m.Producer]+1, m.Producer, len(in.held))
		}
	}
	return nil
}

// refuse passes an unreadable message to Source.Refused.
func (in *intake) refuse(ctx context.Context, m Message, why error) error {
	if in.set.Refused == nil {
		return fmt.Errorf("%s: %w", m.Place, why)
	}
	if err := in.set.Refused(ctx, m, why); err != nil {
		return fmt.Errorf("%s: Refused: %w", m.Place, err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.letters++
	return nil
}

// note logs a message with its number of rows, and returns how many of them an earlier run completed.
func (in *intake) note(m Message, rows int64) (skip int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.base.Numbers[m.Producer]+1 == m.Number {
		skip = min(rows, in.base.Within[m.Producer])
	}
	m.Body = nil
	in.log = append(in.log, handed{Message: m, skipped: skip, rows: rows - skip})
	in.pass()
	return skip
}

// complete acknowledges the messages whose rows are among the first rows rows. It does nothing once places
// are in use.
func (in *intake) complete(rows int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.ordered {
		in.completed = rows
		in.pass()
	}
}

// pass advances base to the last complete message. The caller holds mu.
func (in *intake) pass() {
	for len(in.log) > 0 && in.rows+in.log[0].rows <= in.completed {
		h := in.log[0]
		in.log = in.log[1:]
		if !in.ordered {
			in.from.Ack(h.Message)
		} else {
			in.done = append(in.done, h.Message)
		}
		if in.rows += h.rows; !h.repeat {
			in.base.Numbers[h.Producer] = h.Number
			delete(in.base.Within, h.Producer)
		}
	}
}

// Begin implements flow.Seeker.
func (in *intake) Begin(text string) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	p, err := parsePlace(text)
	if err != nil {
		return err
	}
	in.ordered, in.base, in.top = true, p, maps.Clone(p.Numbers)
	return nil
}

func parsePlace(text string) (p place, err error) {
	if err = json.Unmarshal([]byte(text), &p); err != nil || p.Numbers == nil {
		return p, fmt.Errorf("%.80q is no place of a stream of messages", text)
	}
	if p.Within == nil {
		p.Within = map[string]int64{}
	}
	return p, nil
}

// Place implements flow.Seeker.
func (in *intake) Place(rows int64) (string, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ordered, in.completed = true, rows
	in.pass()
	p := in.base
	if part := rows - in.rows; part > 0 {
		if len(in.log) == 0 {
			return "", fmt.Errorf("the place after %d rows is asked for, and %d were handed out", rows, in.rows)
		}
		p.Within = maps.Clone(p.Within)
		p.Within[in.log[0].Producer] = in.log[0].skipped + part
	}
	text, err := json.Marshal(p)
	return string(text), err
}

// Keep acknowledges the messages up to a place.
func (in *intake) Keep(text string) {
	p, err := parsePlace(text)
	if err != nil {
		return // text is not a result of Place
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	var later []Message
	for _, m := range in.done {
		if m.Number <= p.Numbers[m.Producer] {
			in.from.Ack(m)
		} else {
			later = append(later, m)
		}
	}
	in.done = later
}

// Notes counts received, repeated and refused messages, and the held and the unacknowledged ones.
func (in *intake) Notes() map[string]int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return map[string]int64{
		"received": in.received, "repeated": in.repeated, "dead letters": in.letters,
		"held": int64(len(in.held)), "in hand": int64(len(in.held) + len(in.log) + len(in.done)),
	}
}

// Lag implements flow.Lagger.
func (in *intake) Lag() int64 {
	if l, ok := in.from.(flow.Lagger); ok {
		return l.Lag()
	}
	return 0
}

func (in *intake) Close() error { return in.from.Close() }
