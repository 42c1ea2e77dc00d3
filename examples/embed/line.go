package main

import (
	"cmp"
	"context"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// A line is the clients whose graphs are in work or wait for a worker. Clients take turns
// by the processing time of their graphs, not by the number of graphs: the next client has
// the fewest graphs in work, then the least time spent, then the earliest request. So a
// client with many or expensive graphs delays another client only by the graphs in work.
// Large graphs get half of the workers and of the places at most, and a client gets half of
// the places at most.
type line struct {
	now func() time.Time

	mu      sync.Mutex
	workers room // that are idle
	places  room // that are left
	of      int  // workers there are
	share   room // most places of a client
	clients map[string]*peer
	clock   time.Duration // time spent by the client served last: new clients begin with it
	came    int           // tickets
}

// room is how much there is of something, and how much of that for large graphs.
type room struct{ all, large int }

// half is a room of which large graphs have half.
func half(n int) room { return room{n, max(1, n/2)} }

// holds reports whether one more graph fits in.
func (r room) holds(large bool) bool { return r.all > 0 && (!large || r.large > 0) }

func (r *room) add(large bool, n int) {
	if r.all += n; large {
		r.large += n
	}
}

// peer is a client. It is kept while it has places, or has spent more than others.
type peer struct {
	spent   time.Duration
	inWork  int
	left    room // of its share
	waiting []*ticket
}

// ticket is a graph that waits for a worker, or has one.
type ticket struct {
	number int
	large  bool
	start  time.Time
	ready  chan struct{} // closed when it has one
}

func newLine(workers, queue int) *line {
	return &line{
		now: time.Now, workers: half(workers), of: workers, places: half(workers + queue),
		share: half(max(1, (workers+queue)/2)), clients: map[string]*peer{},
	}
}

// enter waits for a worker, and returns what gives it back.
func (l *line) enter(ctx context.Context, name string, large bool) (leave func(), err error) {
	c, t, err := l.wait(name, large)
	if err != nil {
		return nil, err
	}
	leave = func() { l.leave(c, t) }
	select {
	case <-t.ready:
		return leave, nil
	case <-ctx.Done(): // the client has gone, or waited too long
		leave()
		return nil, context.Cause(ctx)
	}
}

// wait takes a place, if there is one.
func (l *line) wait(name string, large bool) (*peer, *ticket, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.clients[name]
	if c == nil {
		c = &peer{spent: l.clock, left: l.share}
	}
	if !l.places.holds(large) || !c.left.holds(large) {
		return nil, nil, errBusy
	}
	l.came++
	t := &ticket{number: l.came, large: large, ready: make(chan struct{})}
	l.clients[name] = c
	l.places.add(large, -1)
	c.left.add(large, -1)
	c.waiting = append(c.waiting, t)
	l.serve()
	return c, t, nil
}

// serve gives idle workers to those whose turn it is.
func (l *line) serve() {
	for {
		var next *peer
		var first *ticket
		for _, c := range l.clients {
			i := slices.IndexFunc(c.waiting, func(t *ticket) bool { return l.workers.holds(t.large) })
			if i < 0 {
				continue
			}
			if t := c.waiting[i]; next == nil || cmp.Or(cmp.Compare(c.inWork, next.inWork), cmp.Compare(c.spent, next.spent), t.number-first.number) < 0 {
				next, first = c, t
			}
		}
		if next == nil {
			return
		}
		next.drop(first)
		next.inWork++
		l.workers.add(first.large, -1)
		l.clock = max(l.clock, next.spent)
		first.start = l.now()
		close(first.ready)
	}
}

func (c *peer) drop(t *ticket) {
	c.waiting = slices.DeleteFunc(c.waiting, func(w *ticket) bool { return w == t })
}

// leave ends the work on a graph, or its waiting.
func (l *line) leave(c *peer, t *ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-t.ready:
		c.spent += l.now().Sub(t.start)
		c.inWork--
		l.workers.add(t.large, 1)
	default:
		c.drop(t)
	}
	l.places.add(t.large, 1)
	c.left.add(t.large, 1)
	l.serve()
	// An absent client saves nothing up, and time that a client spent alone does not
	// count.
	if l.workers.all == l.of {
		l.clock = 0
		clear(l.clients)
	}
	maps.DeleteFunc(l.clients, func(_ string, c *peer) bool { return c.left == l.share && c.spent <= l.clock })
}

// clientOf is whom a request is from: its address, of IPv6 the network, which one
// client has as a whole.
func clientOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if a = a.Unmap(); a.Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
