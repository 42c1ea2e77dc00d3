package brokertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/message"
	"github.com/sanflow/sanflow/internal/leak"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// memory is a broker in memory, and how it is at fault.
type memoryBroker struct {
	fault string

	mu      sync.Mutex
	log     []stored
	state   map[int]int // of a message that a connection has: its number; -1: complete
	conns   int
	changed chan struct{}
}

type stored struct {
	headers map[string]string
	body    []byte
}

// conn is a connection, which is a topic, a receiver and a sender.
type conn struct {
	*memoryBroker
	number int
	dead   chan struct{}
}

var errDead = errors.New("killed")

func (b *memoryBroker) connect() (message.Topic, func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conns++
	c := &conn{memoryBroker: b, number: b.conns, dead: make(chan struct{})}
	return topic{c}, c.kill
}

// free gives back what a connection has.
func (c *conn) free() {
	for i, n := range c.state {
		if n == c.number {
			delete(c.state, i)
		}
	}
	c.change()
}

func (c *conn) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.dead)
	if c.fault != "forgets the killed" {
		c.free()
	}
}

func (c *conn) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}

type topic struct{ *conn }

func (topic) String() string                                      { return "memory" }
func (t topic) Receive(context.Context) (message.Receiver, error) { return receiver(t), nil }
func (t topic) Send(context.Context) (message.Sender, error)      { return sender(t), nil }

func (t topic) Follow(_ context.Context, after map[string]int64) (message.Receiver, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := int(after["memory"])
	if at > len(t.log) && t.fault != "follows beyond the end" {
		return nil, errors.New("memory: this is another log")
	}
	if t.fault == "follows from the start" {
		at = 0
	}
	return &follower{receiver(t), at}, nil
}

type receiver struct{ *conn }

// follower is a receiver that keeps its position itself.
type follower struct {
	receiver
	at int
}

func (f *follower) Receive(ctx context.Context) (some []message.Message, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at < len(f.log) {
		f.at++
		some = []message.Message{{Producer: "memory", Number: int64(f.at), Body: f.log[f.at-1].body, Handle: f.at - 1, Place: "memory"}}
	}
	return some, ctx.Err()
}

// take takes the next message that no connection has.
func (c *conn) take() (m message.Message, ok bool, changed chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var free []int
	for i := range c.log {
		if _, taken := c.state[i]; !taken {
			free = append(free, i)
		}
	}
	if len(free) == 0 {
		return m, false, c.changed
	}
	i := free[0]
	if c.fault == "swaps" {
		i = free[min(1, len(free)-1)]
	}
	c.state[i] = c.number
	if c.fault == "acknowledges early" {
		c.state[i] = -1
	}
	m = message.Message{Producer: "memory", Number: int64(i) + 1, Body: c.log[i].body, Handle: i, Place: "memory"}
	if c.fault == "names no place" {
		m.Place = ""
	}
	m.SetHeaders(func(name string) string { return c.log[i].headers[name] })
	return m, true, nil
}

func (r receiver) Receive(ctx context.Context) ([]message.Message, error) {
	for {
		select {
		case <-r.dead:
			return nil, errDead
		default:
		}
		m, ok, changed := r.take()
		if ok {
			return []message.Message{m}, nil
		}
		done := ctx.Done()
		if r.fault == "does not end" {
			done = nil
		}
		select {
		case <-changed:
		case <-time.After(100 * time.Millisecond):
			return nil, nil
		case <-done:
			return nil, ctx.Err()
		}
	}
}

func (r receiver) Ack(m message.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := m.Handle.(int); r.fault != "forgets acknowledgements" && r.state[i] == r.number {
		r.state[i] = -1
	}
}

func (r receiver) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.dead:
		return errDead
	default:
	}
	if r.fault != "keeps what is open" {
		r.free()
	}
	return nil
}

type sender struct{ *conn }

func (s sender) Send(_ context.Context, messages []message.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.dead:
		if s.fault == "hides errors" {
			return nil
		}
		return errDead
	default:
	}
	for _, m := range messages {
		headers := map[string]string{}
		for _, h := range m.Headers() {
			if s.fault != "drops numbers" || !strings.HasSuffix(h[0], "Number") {
				headers[h[0]] = h[1]
			}
		}
		if s.fault == "loses" && len(s.log) == 6 {
			s.state[6] = -1
		}
		s.log = append(s.log, stored{headers, slices.Clone(m.Body)})
	}
	s.change()
	return nil
}

func (s sender) Close() error { return nil }

// run runs the checks on a broker with a fault, or none.
func run(t *testing.T, fault string) {
	patience = time.Second
	Run(t, func(*testing.T) Connect {
		b := &memoryBroker{fault: fault, state: map[int]int{}, changed: make(chan struct{})}
		return b.connect
	})
}

func TestMemory(t *testing.T) { run(t, os.Getenv("BROKERTEST_FAULT")) }

// TestFaults runs the checks on brokers that are at fault, in processes of their own: each fault is
// found by the check that names it.
func TestFaults(t *testing.T) {
	for _, f := range []struct{ fault, check string }{
		{"acknowledges early", "unread"},
		{"forgets the killed", "killed"},
		{"keeps what is open", "unread"},
		{"forgets acknowledgements", "records"},
		{"swaps", "records"},
		{"loses", "records"},
		{"drops numbers", "records"},
		{"names no place", "poison"},
		{"hides errors", "refused"},
		{"follows from the start", "followed"},
		{"follows beyond the end", "followed"},
	} {
		t.Run(f.fault, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run", "^TestMemory$/^"+f.check+"$", "-test.v")
			cmd.Env = append(os.Environ(), "BROKERTEST_FAULT="+f.fault)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestMemory/"+f.check) {
				t.Errorf("the check %q does not find the fault: %v\n%s", f.check, err, out)
			}
		})
	}
}
