// Package brokertest checks a connector of messages: a [message.Topic] of some broker.
//
//	func TestTopic(t *testing.T) {
//		brokertest.Run(t, func(t *testing.T) brokertest.Connect {
//			name := newTopic(t) // empty
//			return func() (message.Topic, func()) {
//				dial, kill := brokertest.Dialer()
//				return mine.Topic{Name: name, Reader: "test", Dial: dial}, kill
//			}
//		})
//	}
package brokertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/message"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
)

// Connect returns a topic with connections of its own. All results of one Connect are the same
// topic, and as readers the same group. kill cuts the connections for ever, as the kill of a
// process does. The broker gives within 5 seconds to other readers what a killed one had.
type Connect func() (topic message.Topic, kill func())

var patience = 10 * time.Second // limit of the wait for a message that has to come

const quiet = 300 * time.Millisecond // length of the wait for a message that must not come

// Run runs the checks, a subtest each, on a topic that empty makes. Each must leave neither a
// goroutine nor an Arrow buffer behind.
func Run(t *testing.T, empty func(t *testing.T) Connect) {
	for _, k := range []struct {
		name string
		run  func(*check)
	}{
		{"records", (*check).records}, {"unread", (*check).unread}, {"killed", (*check).killed}, {"pipeline", (*check).pipeline},
		{"resumed", (*check).resumed}, {"poison", (*check).poison}, {"refused", (*check).refused}, {"followed", (*check).followed},
	} {
		t.Run(k.name, func(t *testing.T) {
			connect := empty(t)
			before := leak.IgnoreCurrent()
			ctx, stop := context.WithTimeout(context.Background(), time.Minute)
			defer stop()
			k.run(&check{T: t, ctx: ctx, connect: connect, mem: flowtest.Mem(t)})
			leak.VerifyNone(t, before)
		})
	}
	t.Run("cancel", func(t *testing.T) { // the reader ends within a second of its context
		topic, _ := empty(t)()
		flowtest.RunIdle(t, message.Source{Topic: topic, Schema: layout.Schema()})
	})
}

type check struct {
	*testing.T
	ctx     context.Context
	connect Connect
	mem     memory.Allocator
}

// send sends records as messages of a producer, numbered from after+1.
func (c *check) send(producer string, recs []arrow.Record, after int64) {
	c.Helper()
	topic, _ := c.connect()
	s := message.Sink{Topic: topic, Producer: producer, After: after}
	if err := flow.From(flow.Records{Records: recs}).To(s).With(flow.Options{Allocator: c.mem}).Run(c.ctx); err != nil {
		c.Fatal(err)
	}
}

// sink keeps the rows that were written, without their positions, which a reader sets. step, if
// set, is called before each record.
type sink struct {
	mu   sync.Mutex
	rows []string
	step func(rows int) error
}

func (s *sink) Open(*arrow.Schema) (flow.Writer, error) { return s, nil }
func (s *sink) Close(error) error                       { return nil }
func (s *sink) Write(_ context.Context, rec arrow.Record) error {
	if s.step != nil {
		if err := s.step(s.len()); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, rows(rec)...)
	return nil
}

func (s *sink) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rows)
}

// read reads until want rows have come, at most for the time patience, and then for the time quiet, so that
// surplus rows are seen. notes are those of the source.
func (c *check) read(want int, refused func(context.Context, message.Message, error) error) (rows []string, notes map[string]int64) {
	c.Helper()
	topic, _ := c.connect()
	var got sink
	run := flow.From(message.Source{Topic: topic, Refused: refused, Schema: layout.Schema()}).To(&got).With(flow.Options{Allocator: c.mem}).Start(c.ctx)
	for end := time.Now().Add(patience); got.len() < want && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(quiet)
	notes = run.Stats().Stages[0].Notes
	run.Stop()
	if err := run.Wait(); err != nil {
		c.Error(err)
	}
	return got.rows, notes
}

func (c *check) same(got, want []string) {
	c.Helper()
	if !slices.Equal(got, want) {
		c.Errorf("%d rows, want %d in their order; got %.2000s", len(got), len(want), fmt.Sprint(got))
	}
}

// records checks that rows come back as they were sent, in the order of the producer, and once, although
// the producer begins anew. Acknowledged rows must not come to the next reader.
func (c *check) records() {
	recs := c.sample(50, 1)
	c.send("a", recs[:30], 0)
	c.send("a", recs, 0)
	c.send("a", recs[40:], 40)
	got, notes := c.read(50, nil)
	c.same(got, rows(recs...))
	if notes["received"]-notes["repeated"] != 50 || notes["in hand"] != 0 {
		c.Errorf("notes %v, want 50 messages that are none repeated, and none in hand", notes)
	}
	if got, _ = c.read(0, nil); len(got) > 0 {
		c.Errorf("a second reader gets %d rows, want none", len(got))
	}
}

// unread checks that the unacknowledged messages of a reader come again after its Close, and no others.
func (c *check) unread() {
	c.acknowledged(true, func(r message.Receiver, _ func()) error { return r.Close() })
}

// killed checks that the unacknowledged messages come again after a kill. Others may come again too.
func (c *check) killed() {
	c.acknowledged(false, func(r message.Receiver, kill func()) error {
		kill()
		_ = r.Close() // the reader is dead
		return nil
	})
}

// acknowledged acknowledges the first 20 of 40 messages, in another order, and ends the reader.
func (c *check) acknowledged(exactly bool, end func(message.Receiver, func()) error) {
	c.send("a", c.sample(40, 1), 0)
	receive := func(until func(got map[int64]message.Message) bool) (message.Receiver, func(), map[int64]message.Message) {
		topic, kill := c.connect()
		r, err := topic.Receive(c.ctx)
		if err != nil {
			c.Fatal(err)
		}
		got := map[int64]message.Message{}
		for end := time.Now().Add(patience); !until(got) && time.Now().Before(end); {
			some, err := r.Receive(c.ctx)
			if err != nil {
				c.Fatal(err)
			}
			for _, m := range some {
				got[m.Number] = m
			}
		}
		return r, kill, got
	}
	r, kill, got := receive(func(got map[int64]message.Message) bool { return len(got) == 40 })
	for n := int64(20); n > 0; n-- {
		r.Ack(got[n])
	}
	if err := end(r, kill); err != nil {
		c.Fatal(err)
	}
	r, _, got = receive(func(got map[int64]message.Message) bool {
		for n := int64(21); n <= 40; n++ {
			if _, ok := got[n]; !ok {
				return false
			}
		}
		return true
	})
	if len(got) < 20 || exactly && len(got) != 20 {
		c.Errorf("%d messages come again, want the 20 that were not acknowledged", len(got))
	}
	for _, m := range got {
		r.Ack(m)
	}
	if err := r.Close(); err != nil {
		c.Fatal(err)
	}
}

// pipeline kills a run in the middle, twice: each row is written at least once.
func (c *check) pipeline() {
	recs := c.sample(60, 1)
	c.send("a", recs[:30], 0)
	c.send("b", recs[30:], 0)
	seen, stopped := map[string]bool{}, errors.New("enough")
	for _, n := range []int{15, 20} {
		topic, kill := c.connect()
		got := sink{step: func(have int) error {
			if have < n {
				return nil
			}
			kill()
			return stopped
		}}
		src := message.Source{Topic: topic, Schema: layout.Schema()}
		if err := flow.From(src).To(&got).With(flow.Options{Allocator: c.mem}).Run(c.ctx); !errors.Is(err, stopped) {
			c.Fatalf("the error is %v, want that of the sink", err)
		}
		for _, r := range got.rows {
			seen[r] = true
		}
	}
	got, _ := c.read(60-len(seen), nil)
	for _, r := range got {
		seen[r] = true
	}
	for _, want := range rows(recs...) {
		if !seen[want] {
			c.Errorf("a row is lost: %.80s", want)
		}
	}
}

// resumed kills a reader and resumes at its place, which may be within a message. It checks that the
// rows come once and in order.
func (c *check) resumed() {
	recs := c.sample(20, 3)
	c.send("a", recs, 0)
	want, place := rows(recs...), ""
	var got []string
	for _, n := range []int{7, 3, 20} { // messages that are read before a kill, at most
		topic, kill := c.connect()
		r, err := message.Source{Topic: topic, Schema: layout.Schema(), Idle: patience}.Open(c.ctx, c.mem)
		if err != nil {
			c.Fatal(err)
		}
		s := r.(flow.Seeker)
		if place == "" {
			place, err = s.Place(0)
		} else {
			err = s.Begin(place)
		}
		var some []string
		for err == nil && n > 0 && len(got)+len(some) < len(want) {
			var rec arrow.Record
			if rec, err = r.Next(c.ctx); err == nil {
				some = append(some, rows(rec)...)
				rec.Release()
			}
			n--
		}
		if err == nil && len(got)+len(some) < len(want) {
			some = some[:len(some)-4] // the last message and one row of the message before are not complete
		}
		if err == nil {
			place, err = s.Place(int64(len(some)))
		}
		if err != nil {
			c.Fatal(err)
		}
		got = append(got, some...)
		s.Keep(place)
		kill()
		_ = r.Close() // the reader is dead
	}
	c.same(got, want)
}

// poison sends messages that are cut, empty, and no record: each goes to Refused, with its place at
// the broker, and is acknowledged.
func (c *check) poison() {
	recs := c.sample(10, 1)
	c.send("a", recs[:5], 0)
	bodies := []string{"", "{}", "\xff\xff\xff\xff\x10\x00\x00\x00\x10"}
	sent := 0
	cut := message.Sink{Producer: "poison", Encode: func(w io.Writer, _ arrow.Record) error {
		sent++
		_, err := io.WriteString(w, bodies[sent-1])
		return err
	}}
	cut.Topic, _ = c.connect()
	if err := flow.From(flow.Records{Records: recs[:3]}).To(cut).With(flow.Options{Allocator: c.mem}).Run(c.ctx); err != nil {
		c.Fatal(err)
	}
	c.send("a", recs[5:], 5)
	letters := int64(0)
	got, notes := c.read(10, func(_ context.Context, m message.Message, why error) error {
		letters++
		if m.Producer != "poison" || m.Place == "" || why == nil {
			c.Errorf("refused: producer %q, place %q, %v", m.Producer, m.Place, why)
		}
		return nil
	})
	c.same(got, rows(recs...))
	if letters != 3 || notes["dead letters"] != letters || notes["in hand"] != 0 {
		c.Errorf("%d letters, notes %v, want 3 and none in hand", letters, notes)
	}
	if got, _ = c.read(0, nil); len(got) > 0 {
		c.Errorf("after that %d rows come, want none", len(got))
	}
}

// followed kills a reader that keeps its positions four times. Each message comes once, those of a producer in order, also messages that a
// group has acknowledged. A position behind the end is an error.
func (c *check) followed() {
	c.send("a", c.sample(30, 1), 0)
	c.send("b", c.sample(30, 1), 0)
	c.read(60, nil)
	after, got := map[string]int64{}, 0
	for _, n := range []int{7, 0, 25, 70} { // messages that are read before a kill, at least
		topic, kill := c.connect()
		r, err := topic.Follow(c.ctx, maps.Clone(after))
		if err != nil {
			c.Fatal(err)
		}
		if n == 70 {
			c.send("b", c.sample(40, 1)[30:], 30)
		}
		until := got + n
		for end := time.Now().Add(patience); got < min(until, 70) && time.Now().Before(end); {
			some, err := r.Receive(c.ctx)
			if err != nil {
				c.Fatal(err)
			}
			for _, m := range some {
				if m.Number <= after[m.Producer] || m.Place == "" {
					c.Errorf("message %d of %q at %q after %d", m.Number, m.Producer, m.Place, after[m.Producer])
				}
				after[m.Producer] = m.Number
				got++
				r.Ack(m)
			}
		}
		if n == 70 {
			if some, err := r.Receive(c.ctx); err != nil || len(some) > 0 {
				c.Errorf("behind the end come %d messages, %v", len(some), err)
			}
		}
		kill()
		_ = r.Close() // the reader is dead
	}
	if got != 70 {
		c.Errorf("%d messages, want 70", got)
	}
	for producer := range after {
		after[producer] += 100
	}
	topic, _ := c.connect()
	r, err := topic.Follow(c.ctx, after)
	if err == nil {
		for end := time.Now().Add(patience); err == nil && time.Now().Before(end); {
			_, err = r.Receive(c.ctx)
		}
		_ = r.Close() // the reader has failed
	}
	if err == nil {
		c.Error("a position behind the end is no error")
	}
}

// refused cuts the connections of a sender: a message that the broker does not get is an error.
func (c *check) refused() {
	topic, kill := c.connect()
	s, err := topic.Send(c.ctx)
	if err == nil {
		err = s.Send(c.ctx, []message.Message{{Producer: "a", Number: 1}})
	}
	if err != nil {
		c.Fatal(err)
	}
	kill()
	ctx, stop := context.WithTimeout(c.ctx, time.Second)
	defer stop()
	if s.Send(ctx, []message.Message{{Producer: "a", Number: 2}}) == nil {
		c.Error("the connections of a sender are cut, and Send returns nil")
	}
	_ = s.Close()
}

// layout is the layout of all records that the checks send.
var layout = record.Layout{NodeAttr: []record.Channel{{Name: "x"}}, Classes: []string{"even", "odd"}}

// sample returns n records, where each is the number of graphs of a record. They are released at the end of the check.
func (c *check) sample(n, each int) (recs []arrow.Record) {
	b := record.NewBuilder(c.mem, layout)
	defer b.Release()
	for i := range n * each {
		g, err := graph.New(2, false, []graph.Edge{{U: 0, V: 1}})
		if err != nil {
			c.Fatal(err)
		}
		g.NodeAttrs, g.NodeAttr = 1, []float32{float32(i), -1}
		if err := b.Append(g, record.Row{ID: int64(i), Pos: int64(i), Class: int32(i % 2)}); err != nil {
			c.Fatal(err)
		}
		if b.Rows() == each {
			recs = append(recs, b.Record())
			c.Cleanup(recs[len(recs)-1].Release)
		}
	}
	return recs
}

// rows returns the rows of records as text, without their positions.
func rows(recs ...arrow.Record) []string {
	all := flowtest.Rows(recs...)
	for i, r := range all {
		before, after, _ := strings.Cut(r, " pos=")
		_, after, _ = strings.Cut(after, " ")
		all[i] = before + " " + after
	}
	return all
}

// Dialer returns a function that dials TCP, and one that cuts all connections and refuses others.
func Dialer() (dial func(ctx context.Context, network, address string) (net.Conn, error), kill func()) {
	var mu sync.Mutex
	var conns []net.Conn
	dead := false
	dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && dead {
			conn.Close()
			err = fmt.Errorf("%s: killed", address)
		}
		if err != nil {
			return nil, err
		}
		conns = append(conns, conn)
		return conn, nil
	}
	return dial, func() {
		mu.Lock()
		defer mu.Unlock()
		dead = true
		for _, conn := range conns {
			conn.Close()
		}
	}
}
