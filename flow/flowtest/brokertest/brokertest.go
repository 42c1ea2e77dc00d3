// Package brokertest checks a connector of messages: a [message.Topic] of some broker.
//
//	func TestTopic(t *testing.T) {
//		brokertest.Case{Empty: func(t *testing.T) brokertest.Connect {
//			name := newTopic(t) // empty
//			return func() (message.Topic, func()) {
//				dial, kill := brokertest.Dialer()
//				return mine.Topic{Name: name, Reader: "test", Dial: dial}, kill
//			}
//		}}.Run(t)
//	}
//
// The checks, a subtest each:
//
//	records       records come back as they were sent, in the order of the producer
//	again         a producer begins anew: no record comes twice, and repeats are counted
//	unread        what was received and not acknowledged comes again after Close
//	killed        and after a kill of the reader; what was acknowledged before Close does not
//	pipeline      a pipeline that is killed in the middle: each row is written at least once
//	resumed       a reader that is killed resumes at a place, also within a message, in order
//	poison        a damaged message goes to Refused, with its place at the broker, and is acknowledged
//	pressure      a sink that has stopped bounds what is in hand
//	refused       the error of a message that the broker does not get ends the run
//	idle, cancel  the reader ends within a second of its context
//
// Each check must leave neither a goroutine nor an Arrow buffer behind.
package brokertest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/flowtest/leak"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/message"
	"github.com/sanflow/sanflow/flow/record"
)

// Connect returns a topic with connections of its own. All results of one Connect are the same
// topic, and as readers the same group. kill cuts the connections for ever, as the kill of a
// process does.
type Connect func() (topic message.Topic, kill func())

// Case is a connector to check.
type Case struct {
	// Empty makes an empty topic.
	Empty func(t *testing.T) Connect
	// Wait is how long a check waits for a message that may still come: longer than the broker
	// takes to give a reader what a killed one had. The default is 6 s.
	Wait time.Duration
}

// Run runs the checks.
func (k Case) Run(t *testing.T) {
	t.Helper()
	k.Wait = cmp.Or(k.Wait, 6*time.Second)
	for _, c := range []struct {
		name string
		run  func(*check)
	}{
		{"records", (*check).records}, {"again", (*check).again}, {"unread", (*check).unread}, {"killed", (*check).killed},
		{"pipeline", (*check).pipeline}, {"resumed", (*check).resumed}, {"poison", (*check).poison},
		{"pressure", (*check).pressure}, {"refused", (*check).refused}, {"idle", (*check).idle},
	} {
		t.Run(c.name, func(t *testing.T) {
			connect := k.Empty(t)
			before := leak.IgnoreCurrent()
			ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
			defer stop()
			c.run(&check{T: t, ctx: ctx, wait: k.Wait, connect: connect, mem: flowtest.Mem(t)})
			leak.VerifyNone(t, before)
		})
	}
	t.Run("cancel", func(t *testing.T) {
		connect := k.Empty(t)
		topic, _ := connect()
		flowtest.RunIdle(t, message.Source{Topic: topic, Schema: layout.Schema()})
	})
}

type check struct {
	*testing.T
	ctx     context.Context
	wait    time.Duration
	connect Connect
	mem     *memory.CheckedAllocator
}

// layout is that of the records.
var layout = record.Layout{NodeAttr: []record.Channel{{Name: "x"}}, Classes: []string{"even", "odd"}}

// graphs returns n records of some graphs each, which are paths; graph_id and pos count from 0.
func (c *check) graphs(n, each int) (recs []arrow.Record) {
	b := record.NewBuilder(c.mem, layout)
	defer b.Release()
	for i := range n * each {
		var edges []graph.Edge
		for v := range int32(i % 4) {
			edges = append(edges, graph.Edge{U: v, V: v + 1})
		}
		g, err := graph.New(1+i%4, false, edges)
		if err != nil {
			c.Fatal(err)
		}
		for v := range g.N() {
			g.NodeAttr = append(g.NodeAttr, float32(i+v))
		}
		g.NodeAttrs = 1
		if err := b.Append(g, record.Row{ID: int64(i), Pos: int64(i), Class: int32(i % 2)}); err != nil {
			c.Fatal(err)
		}
		if b.Rows() == each {
			recs = append(recs, b.Record())
		}
	}
	return recs
}

// send sends records as the messages of a producer.
func (c *check) send(producer string, recs []arrow.Record, after int64) {
	c.Helper()
	topic, _ := c.connect()
	s := message.Sink{Topic: topic, Producer: producer, After: after}
	if err := flow.From(flow.Records{Records: recs}).To(s).With(flow.Options{Allocator: c.mem}).Run(c.ctx); err != nil {
		c.Fatal(err)
	}
}

func release(recs []arrow.Record) {
	for _, r := range recs {
		r.Release()
	}
}

// rows are the rows of records, without their positions, which a reader sets.
func rows(recs ...arrow.Record) []string {
	all := flowtest.Rows(recs...)
	for i, r := range all {
		if at := strings.Index(r, " pos="); at >= 0 {
			end := strings.IndexByte(r[at+1:], ' ')
			all[i] = r[:at] + r[at+1+end:]
		}
	}
	return all
}

// taken is a sink that keeps the rows that were written. step, if set, is called before each.
type taken struct {
	mu   sync.Mutex
	rows []string
	step func(n int) error
}

func (s *taken) Name() string                            { return "taken" }
func (s *taken) Open(*arrow.Schema) (flow.Writer, error) { return s, nil }
func (s *taken) Close(error) error                       { return nil }
func (s *taken) Write(_ context.Context, rec arrow.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.step != nil {
		if err := s.step(len(s.rows)); err != nil {
			return err
		}
	}
	s.rows = append(s.rows, rows(rec)...)
	return nil
}

// read reads the topic until nothing came for some time, and returns the notes of the reader.
func (c *check) read(sink flow.Sink, refused func(context.Context, message.Message, error) error, wait time.Duration) (map[string]int64, error) {
	topic, _ := c.connect()
	src := message.Source{Topic: topic, Schema: layout.Schema(), Refused: refused, Idle: wait}
	run := flow.From(src).To(sink).With(flow.Options{Allocator: c.mem}).Start(c.ctx)
	err := run.Wait()
	return run.Stats().Stages[0].Notes, err
}

// records sends and receives.
func (c *check) records() {
	recs := c.graphs(40, 1)
	defer release(recs)
	c.send("a", recs, 0)
	var got taken
	notes, err := c.read(&got, nil, c.wait)
	if err != nil {
		c.Fatal(err)
	}
	c.same(got.rows, rows(recs...))
	if notes["received"] != 40 || notes["repeated"] != 0 || notes["in hand"] != 0 {
		c.Errorf("notes %v, want 40 received, none repeated and in hand", notes)
	}
	got.rows = nil
	if _, err := c.read(&got, nil, c.wait/2); err != nil || len(got.rows) > 0 {
		c.Errorf("a second reader: %v, %d rows, want none", err, len(got.rows))
	}
}

func (c *check) same(got, want []string) {
	c.Helper()
	if slices.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	c.Errorf("%d rows, want %d; they differ from row %d on", len(got), len(want), at)
}

// again sends the same messages once more, with others after them.
func (c *check) again() {
	recs := c.graphs(50, 1)
	defer release(recs)
	c.send("a", recs[:30], 0)
	c.send("a", recs, 0)
	c.send("a", recs[40:], 40)
	var got taken
	notes, err := c.read(&got, nil, c.wait)
	if err != nil {
		c.Fatal(err)
	}
	c.same(got.rows, rows(recs...))
	if notes["received"]-notes["repeated"] != 50 {
		c.Errorf("notes %v, want 50 messages that are none repeated", notes)
	}
}

// receive receives n messages, or all until nothing comes for a while. IDs are those in order.
func (c *check) receive(r message.Receiver, n int) (got []message.Message) {
	c.Helper()
	for len(got) < n {
		ctx, stop := context.WithTimeout(c.ctx, c.wait)
		m, err := r.Receive(ctx)
		late := ctx.Err() != nil
		stop()
		if err != nil && late && c.ctx.Err() == nil {
			return got
		}
		if err != nil {
			c.Fatal(err)
		}
		got = append(got, m)
	}
	return got
}

func (c *check) receiver() (message.Receiver, func()) {
	c.Helper()
	topic, kill := c.connect()
	r, err := topic.Receive(c.ctx)
	if err != nil {
		c.Fatal(err)
	}
	return r, kill
}

// unread wants a message again that was not acknowledged.
func (c *check) unread() {
	c.acknowledged(func(r message.Receiver, _ func()) error { return r.Close() }, 20)
}

// killed wants it after a kill.
func (c *check) killed() {
	c.acknowledged(func(r message.Receiver, kill func()) error {
		kill()
		r.Close() // of a dead reader
		return nil
	}, -1)
}

// acknowledged acknowledges the first 20 of 40 messages and ends the reader: the others come again,
// and of the first at most 20 − gone.
func (c *check) acknowledged(end func(message.Receiver, func()) error, gone int) {
	recs := c.graphs(40, 1)
	c.send("a", recs, 0)
	release(recs)
	r, kill := c.receiver()
	got := c.receive(r, 30)
	for i := len(got) - 1; i >= 0; i-- { // in another order
		if got[i].Number <= 20 {
			r.Ack(got[i])
		}
	}
	if err := end(r, kill); err != nil {
		c.Fatal(err)
	}
	r, _ = c.receiver()
	again := map[int64]bool{}
	for _, m := range c.receive(r, 60) {
		again[m.Number] = true
		if m.Number <= 20 && gone == 20 {
			c.Errorf("message %d was acknowledged and comes again", m.Number)
		}
		r.Ack(m)
		if again[40] && len(again) >= 40 {
			break
		}
	}
	for n := int64(21); n <= 40; n++ {
		if !again[n] {
			c.Errorf("message %d was not acknowledged and does not come again", n)
		}
	}
	if err := r.Close(); err != nil {
		c.Fatal(err)
	}
}

// pipeline kills a run in the middle, twice.
func (c *check) pipeline() {
	recs := c.graphs(60, 1)
	defer release(recs)
	c.send("a", recs[:30], 0)
	c.send("b", recs[30:], 0)
	all := map[string]int{}
	stopped := errors.New("enough")
	for _, n := range []int{15, 20} {
		topic, kill := c.connect()
		got := taken{step: func(have int) error {
			if have == n {
				kill()
				return stopped
			}
			return nil
		}}
		src := message.Source{Topic: topic, Schema: layout.Schema()}
		err := flow.From(src).To(&got).With(flow.Options{Allocator: c.mem}).Run(c.ctx)
		if !errors.Is(err, stopped) {
			c.Fatalf("the error is %v, want that of the sink", err)
		}
		for _, r := range got.rows {
			all[r]++
		}
	}
	var got taken
	if _, err := c.read(&got, nil, c.wait); err != nil {
		c.Fatal(err)
	}
	for _, r := range got.rows {
		all[r]++
	}
	for _, want := range rows(recs...) {
		if all[want] == 0 {
			c.Errorf("a row is lost: %.80s", want)
		}
	}
}

// resumed resumes at places.
func (c *check) resumed() {
	recs := c.graphs(20, 3)
	defer release(recs)
	c.send("a", recs, 0)
	want := rows(recs...)
	var got []string
	place := ""
	for _, n := range []int{7, 3, 0} { // messages that are read before a kill; 0: all
		topic, kill := c.connect()
		r, err := message.Source{Topic: topic, Schema: layout.Schema(), Idle: c.wait}.Open(c.ctx, c.mem)
		if err != nil {
			c.Fatal(err)
		}
		s := r.(flow.Seeker)
		if place != "" {
			err = s.Begin(place)
		} else {
			place, err = s.Place(0)
		}
		if err != nil {
			c.Fatal(err)
		}
		var some []string
		for i := 0; i < n || n == 0; i++ {
			rec, err := r.Next(c.ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				c.Fatal(err)
			}
			some = append(some, rows(rec)...)
			rec.Release()
		}
		if n > 0 {
			some = some[:len(some)-4] // a message, and a row within that before, are not complete
			if place, err = s.Place(int64(len(some))); err != nil {
				c.Fatal(err)
			}
			s.Keep(place)
			kill()
		}
		r.Close()
		got = append(got, some...)
	}
	c.same(got, want)
}

// poison sends messages that are damaged, cut, empty, of another schema, and none at all.
func (c *check) poison() {
	recs := c.graphs(10, 1)
	defer release(recs)
	c.send("a", recs[:5], 0)
	topic, _ := c.connect()
	s, err := topic.Send(c.ctx)
	if err != nil {
		c.Fatal(err)
	}
	var whole bytes.Buffer
	w := ipc.NewWriter(&whole, ipc.WithSchema(recs[0].Schema()))
	if err := errors.Join(w.Write(recs[0]), w.Close()); err != nil {
		c.Fatal(err)
	}
	bodies := [][]byte{nil, []byte("{}"), whole.Bytes()[:whole.Len()/2], whole.Bytes()[:200]}
	var sent sync.WaitGroup
	for i, b := range bodies {
		sent.Add(1)
		s.Send(c.ctx, message.Message{Producer: "poison", Number: int64(i) + 1, Body: b}, func(err error) {
			defer sent.Done()
			if err != nil {
				c.Error(err)
			}
		})
	}
	sent.Wait()
	if err := s.Close(); err != nil {
		c.Fatal(err)
	}
	c.send("a", recs[5:], 5)
	letters := 0
	var got taken
	notes, err := c.read(&got, func(_ context.Context, m message.Message, why error) error {
		letters++
		if m.Producer != "poison" || m.Place == "" || why == nil {
			c.Errorf("refused: producer %q, place %q, %v", m.Producer, m.Place, why)
		}
		return nil
	}, c.wait)
	if err != nil {
		c.Fatal(err)
	}
	c.same(got.rows, rows(recs...))
	if letters != len(bodies) || notes["dead letters"] != int64(letters) || notes["in hand"] != 0 {
		c.Errorf("%d letters, notes %v, want %d", letters, notes, len(bodies))
	}
	got.rows = nil
	if notes, err = c.read(&got, nil, c.wait/2); err != nil || len(got.rows) > 0 {
		c.Errorf("after that: %v, %d rows, notes %v; want none", err, len(got.rows), notes)
	}
}

// pressure stops the sink.
func (c *check) pressure() {
	const n, most = 200, 16
	recs := c.graphs(n, 1)
	defer release(recs)
	c.send("a", recs, 0)
	topic, _ := c.connect()
	ctx, stop := context.WithCancel(c.ctx)
	defer stop()
	got := taken{step: func(have int) error {
		if have == 3 {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	}}
	run := flow.From(message.Source{Topic: topic, Schema: layout.Schema()}).To(&got).With(flow.Options{Allocator: c.mem, Workers: 2}).Start(ctx)
	time.Sleep(2 * time.Second)
	notes := run.Stats().Stages[0].Notes
	if notes["in hand"] > most || notes["received"] > most || notes["received"] < 3 {
		c.Errorf("a sink has stopped after 3 records, and the reader has the notes %v; want at most %d", notes, most)
	}
	stop()
	if err := run.Wait(); !errors.Is(err, context.Canceled) {
		c.Errorf("the error is %v, want context.Canceled", err)
	}
}

// refused cuts the connections of a sink.
func (c *check) refused() {
	recs := c.graphs(40, 1)
	defer release(recs)
	topic, kill := c.connect()
	ctx, stop := context.WithTimeout(c.ctx, 3*time.Second)
	defer stop()
	killing := &killing{flow.Records{Records: recs}, kill}
	err := flow.From(killing).To(message.Sink{Topic: topic, Producer: "a", Pending: 4}).With(flow.Options{Allocator: c.mem}).Run(ctx)
	if err == nil {
		c.Error("the connections of a sink are cut, and the run returns nil")
	}
}

// killing is a source that cuts connections after 10 records.
type killing struct {
	flow.Records
	kill func()
}

func (k *killing) Name() string { return "records" }

func (k *killing) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	r, err := k.Records.Open(ctx, mem)
	return &killingReader{Reader: r, kill: k.kill}, err
}

type killingReader struct {
	flow.Reader
	n    int
	kill func()
}

func (r *killingReader) Next(ctx context.Context) (arrow.Record, error) {
	if r.n++; r.n == 10 {
		r.kill()
	}
	return r.Reader.Next(ctx)
}

// idle wants the end of the stream when nothing comes.
func (c *check) idle() {
	var got taken
	start := time.Now()
	if _, err := c.read(&got, nil, 300*time.Millisecond); err != nil {
		c.Error(err)
	}
	if d := time.Since(start); d > leak.Patience {
		c.Errorf("the end came after %v", d)
	}
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
