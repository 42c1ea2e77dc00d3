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

// MaxHeld bounds the messages that wait for an earlier one of their producer. More of them end the
// run: the earlier message is lost.
const MaxHeld = 1024

// maxRanges bounds the ranges of numbers that are remembered for a producer. The lowest are
// forgotten: a repeat of these is not recognized.
const maxRanges = 1 << 16

// intake receives messages, leaves repeated ones out, and knows which are in hand.
type intake struct {
	set   Source
	from  Receiver
	early []Message // that Open received

	mu      sync.Mutex
	ordered bool                // the messages of a producer go in the order of their numbers
	seen    map[string][]span   // by producer; in order one span, from 1
	held    map[string]Message  // by ID, that wait for an earlier one
	ready   []Message           // for which that came
	hand    map[string]delivery // by ID: what came and is not acknowledged
	log     []handed            // in the order of handing out, where the rows are counted
	base    place               // before log[0]
	rows    int64               // before log[0]

	received, repeated, letters int64
}

// span is the numbers from … to.
type span struct{ from, to int64 }

// delivery is a message without its body, as it came and came again.
type delivery []Message

// handed is a message that was handed out.
type handed struct {
	producer string
	number   int64
	id       string
	skipped  int64 // rows that were left out, since an earlier run had them
	rows     int64
}

// place is a place in the stream, which a checkpoint stores.
type place struct {
	// Numbers has the highest number of each producer. All messages up to it are complete.
	Numbers map[string]int64 `json:"numbers"`
	// Within is how many rows of the next message of a producer are complete too.
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
		set: s, from: from, seen: map[string][]span{}, held: map[string]Message{}, hand: map[string]delivery{},
		base: place{map[string]int64{}, map[string]int64{}},
	}, nil
}

// raw returns a message as it comes, or io.EOF if none came for Idle.
func (in *intake) raw(ctx context.Context) (Message, error) {
	wait := ctx
	if in.set.Idle > 0 {
		var stop context.CancelFunc
		wait, stop = context.WithTimeout(ctx, in.set.Idle)
		defer stop()
	}
	m, err := in.from.Receive(wait)
	switch {
	case err == nil:
		return m, nil
	case ctx.Err() != nil:
		return m, context.Cause(ctx)
	case wait.Err() != nil:
		return m, io.EOF
	case err == io.EOF: // which is no end here
		err = io.ErrUnexpectedEOF
	}
	return m, fmt.Errorf("%s: %w", in.set.Topic, err)
}

// next returns the next message that was not handed out before.
func (in *intake) next(ctx context.Context) (m Message, err error) {
	for {
		in.mu.Lock()
		if len(in.ready) > 0 {
			m, in.ready = in.ready[0], in.ready[1:]
			in.mu.Unlock()
			return m, nil
		}
		in.mu.Unlock()
		if len(in.early) > 0 {
			m, in.early = in.early[0], in.early[1:]
		} else if m, err = in.raw(ctx); err != nil {
			if err == io.EOF {
				err = in.missing(0)
			}
			return m, err
		}
		if in.admit(m) {
			return m, nil
		}
		if err := in.missing(MaxHeld); err != nil && err != io.EOF {
			return m, err
		}
	}
}

// missing returns an error if more than most messages wait for an earlier one, else io.EOF.
func (in *intake) missing(most int) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.held) <= most {
		return io.EOF
	}
	for _, m := range in.held {
		return fmt.Errorf("%s: message %d of the producer %q is missing, and %d messages wait behind it; a training that resumes needs all messages from its place on, from 1 on at first",
			in.set.Topic, top(in.seen[m.Producer])+1, m.Producer, len(in.held))
	}
	return nil
}

// admit reports whether it is the turn of a message.
func (in *intake) admit(m Message) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.received++
	id, seen := m.ID(), in.seen[m.Producer]
	body := m
	m.Body = nil
	_, waits := in.held[id]
	if waits || has(seen, m.Number) {
		in.repeated++
		if in.hand[id] == nil {
			in.from.Ack(m)
		} else {
			in.hand[id] = append(in.hand[id], m)
		}
		return false
	}
	in.hand[id] = delivery{m}
	if in.ordered && m.Number > top(seen)+1 {
		in.held[id] = body
		return false
	}
	in.seen[m.Producer] = add(seen, m.Number)
	for in.ordered && len(in.held) > 0 {
		then := Message{Producer: m.Producer, Number: top(in.seen[m.Producer]) + 1}
		next, ok := in.held[then.ID()]
		if !ok {
			break
		}
		delete(in.held, then.ID())
		in.seen[m.Producer] = add(in.seen[m.Producer], next.Number)
		in.ready = append(in.ready, next)
	}
	return true
}

// has reports whether n is in one of the spans, which ascend.
func has(spans []span, n int64) bool {
	for i := len(spans) - 1; i >= 0 && n <= spans[i].to; i-- {
		if n >= spans[i].from {
			return true
		}
	}
	return false
}

// top is the highest number, or 0.
func top(spans []span) int64 {
	if len(spans) == 0 {
		return 0
	}
	return spans[len(spans)-1].to
}

// add adds a number that no span has.
func add(spans []span, n int64) []span {
	i := len(spans)
	for i > 0 && n < spans[i-1].from {
		i--
	}
	behind, before := i > 0 && spans[i-1].to+1 == n, i < len(spans) && n+1 == spans[i].from
	switch {
	case behind && before:
		spans[i-1].to = spans[i].to
		return append(spans[:i], spans[i+1:]...)
	case behind:
		spans[i-1].to = n
	case before:
		spans[i].from = n
	default:
		spans = append(spans[:i], append([]span{{n, n}}, spans[i:]...)...)
	}
	return spans[max(0, len(spans)-maxRanges):]
}

// skip returns how many rows of a message an earlier run had.
func (in *intake) skip(m Message) int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.base.Numbers[m.Producer]+1 != m.Number {
		return 0
	}
	return in.base.Within[m.Producer]
}

// note remembers that a message was handed out with so many rows.
func (in *intake) note(m Message, skipped, rows int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.log = append(in.log, handed{m.Producer, m.Number, m.ID(), skipped, rows})
}

// refuse hands over a message that cannot be read.
func (in *intake) refuse(ctx context.Context, m Message, why error) error {
	if in.set.Refused == nil {
		return fmt.Errorf("%s: %w", m.Place, why)
	}
	if err := in.set.Refused(ctx, m, why); err != nil {
		return fmt.Errorf("%s: Refused: %w", m.Place, err)
	}
	in.mu.Lock()
	in.letters++
	in.mu.Unlock()
	return nil
}

// complete acknowledges a message.
func (in *intake) complete(id string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ack(id)
}

// ack acknowledges a message. The caller holds mu.
func (in *intake) ack(id string) {
	for _, m := range in.hand[id] {
		in.from.Ack(m)
	}
	delete(in.hand, id)
}

// pass advances base to the last message that ends within the first rows rows, and calls each for
// the messages up to there. The caller holds mu.
func (in *intake) pass(rows int64, each func(handed)) {
	n := 0
	for ; n < len(in.log) && in.rows+in.log[n].rows <= rows; n++ {
		h := in.log[n]
		in.rows += h.rows
		in.base.Numbers[h.producer] = h.number
		delete(in.base.Within, h.producer)
		each(h)
	}
	in.log = in.log[n:]
}

// Begin implements flow.Seeker.
func (in *intake) Begin(text string) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	p, err := parsePlace(text)
	if err != nil {
		return err
	}
	in.ordered, in.base = true, p
	for producer, n := range p.Numbers {
		if n > 0 {
			in.seen[producer] = []span{{1, n}}
		}
	}
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
	in.ordered = true
	in.pass(rows, func(handed) {})
	p := in.base
	if part := rows - in.rows; part > 0 {
		if len(in.log) == 0 {
			return "", fmt.Errorf("the place after %d rows is asked for, and %d were handed out", rows, in.rows)
		}
		p.Within = maps.Clone(p.Within)
		p.Within[in.log[0].producer] = in.log[0].skipped + part
	}
	text, err := json.Marshal(p)
	return string(text), err
}

// Keep acknowledges the messages up to a place.
func (in *intake) Keep(text string) {
	p, err := parsePlace(text)
	if err != nil {
		return // it is none that Place returned
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for id, d := range in.hand {
		if d[0].Number <= p.Numbers[d[0].Producer] {
			in.ack(id)
		}
	}
}

// Notes count received messages, repeated ones and dead letters among them, and what is held or in
// hand now.
func (in *intake) Notes() map[string]int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return map[string]int64{
		"received": in.received, "repeated": in.repeated, "dead letters": in.letters,
		"held": int64(len(in.held)), "in hand": int64(len(in.hand)),
	}
}

// Lag implements flow.Lagger.
func (in *intake) Lag() int64 {
	if l, ok := in.from.(flow.Lagger); ok {
		return l.Lag()
	}
	return 0
}

// Close closes the receiver.
func (in *intake) Close() error { return in.from.Close() }
