package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/flowtest/leak"
	"github.com/sanflow/sanflow/flow/graph"
)

// trial is a line whose clock goes as far as each graph costs.
type trial struct {
	*testing.T
	line *line
	at   time.Time
	all  map[string]*ticket
	of   map[string]*peer
}

func newTrial(t *testing.T, workers, queue int) *trial {
	x := &trial{T: t, line: newLine(workers, queue), at: time.Unix(0, 0), all: map[string]*ticket{}, of: map[string]*peer{}}
	x.line.now = func() time.Time { return x.at }
	return x
}

// post is a graph of a client, and reports whether there was a place for it.
func (x *trial) post(name, graph string, large bool) bool {
	c, t, err := x.line.wait(name, large)
	if err != nil {
		if !errors.Is(err, errBusy) {
			x.Error(err)
		}
		return false
	}
	x.all[graph], x.of[graph] = t, c
	return true
}

// working returns the graphs that have a worker.
func (x *trial) working() (names []string) {
	for name, t := range x.all {
		select {
		case <-t.ready:
			names = append(names, name)
		default:
		}
	}
	slices.Sort(names)
	return names
}

// end ends the work on a graph, or its waiting, when it has taken so long.
func (x *trial) end(graph string, took time.Duration) {
	x.at = x.at.Add(took)
	x.line.leave(x.of[graph], x.all[graph])
	delete(x.all, graph)
}

func (x *trial) want(names ...string) {
	x.Helper()
	if got := x.working(); !slices.Equal(got, names) {
		x.Errorf("in work are %v, want %v", got, names)
	}
}

// However much one client posts, there is a place for another one, which waits for
// what is in work and no longer; what costs a client its turn is time, not number.
func TestLineFair(t *testing.T) {
	x := newTrial(t, 1, 9)
	for i := range 10 {
		if got := x.post("greedy", fmt.Sprint("greedy ", i), false); got != (i < 5) {
			t.Errorf("place %d of one client: %v", i, got)
		}
	}
	x.want("greedy 0")
	for i := range 3 {
		if !x.post("modest", fmt.Sprint("modest ", i), false) {
			t.Fatal("another client finds no place")
		}
	}
	x.end("greedy 0", time.Second)
	x.want("modest 0")
	x.end("modest 0", 400*time.Millisecond) // it has had less so far
	x.want("modest 1")
	x.end("modest 1", 700*time.Millisecond) // and now more
	x.want("greedy 1")
	x.end("greedy 1", time.Millisecond)
	x.want("greedy 2")
	x.end("greedy 2", time.Second)
	x.want("modest 2")
	// A late client begins at the time of the others and gets no compensation.
	x.post("late", "late 0", false)
	x.post("late", "late 1", false)
	x.end("modest 2", time.Millisecond)
	x.want("late 0")
	x.end("late 0", 10*time.Second)
	x.want("greedy 3")
	x.end("late 1", 0) // does not wait any longer
	x.end("greedy 3", time.Second)
	x.want("greedy 4")
	x.end("greedy 4", time.Second)
	x.want()
	if l := x.line; len(l.clients) != 0 || l.clock != 0 || l.workers != half(1) || l.places != half(10) {
		t.Errorf("something is left: %+v", l)
	}
}

// Large graphs have half of the workers and of the places, of a client as of all.
func TestLineLarge(t *testing.T) {
	x := newTrial(t, 4, 12)
	for _, c := range []struct {
		client, graph string
		large, place  bool
	}{
		{"a", "a1", true, true}, {"a", "a2", true, true}, {"a", "a3", true, true}, {"a", "a4", true, true}, {"a", "a5", true, false},
		{"a", "s1", false, true}, {"b", "b1", true, true}, {"b", "b2", true, true}, {"c", "c1", true, true}, {"d", "d1", true, true},
		{"e", "e1", true, false}, {"e", "s2", false, true}, {"e", "s3", false, true},
	} {
		if got := x.post(c.client, c.graph, c.large); got != c.place {
			t.Errorf("%s: %v", c.graph, got)
		}
	}
	x.want("a1", "a2", "s1", "s2") // two large ones, and the others go past those that wait
	x.end("a1", time.Second)
	x.want("a2", "b1", "s1", "s2")
	x.end("s1", 0)
	x.want("a2", "b1", "s2", "s3")
	x.end("a2", time.Second)
	x.want("b1", "c1", "s2", "s3")
}

// Many clients come, go and give up, at once: nothing is lost.
func TestLineConcurrent(t *testing.T) {
	defer leak.VerifyNone(t)
	l := newLine(3, 20)
	var mu sync.Mutex
	inWork, most := 0, 0
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			for j := range 50 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*j%7)*100*time.Microsecond)
				leave, err := l.enter(ctx, fmt.Sprint(i%6), j%3 == 0)
				if err == nil {
					mu.Lock()
					inWork++
					most = max(most, inWork)
					mu.Unlock()
					time.Sleep(50 * time.Microsecond)
					mu.Lock()
					inWork--
					mu.Unlock()
					leave()
				}
				cancel()
			}
		})
	}
	all.Wait()
	if most > 3 {
		t.Errorf("%d in work at once", most)
	}
	if len(l.clients) != 0 || l.workers != half(3) || l.places != half(23) {
		t.Errorf("something is left: %+v", l)
	}
}

// A client is an address, or a network of IPv6.
func TestClientOf(t *testing.T) {
	for remote, want := range map[string]string{
		"10.1.2.3:99": "10.1.2.3", "[::ffff:10.1.2.3]:99": "10.1.2.3", "[2001:db8:1:2:3:4:5:6]:99": "2001:db8:1:2::/64",
		"[2001:db8:1:2::7]:1": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64", "@": "@", "name:1": "name",
	} {
		if got := clientOf(remote); got != want {
			t.Errorf("%s is %s, want %s", remote, got, want)
		}
	}
}

// One client posts small graphs without an end, more than there are places. Another
// one's are answered all the same.
func TestServeFair(t *testing.T) {
	defer leak.VerifyNone(t)
	l := testLimits
	l.workers, l.queue, l.time = 1, 9, 20*time.Second
	address, in, stop := serving(t, l, func(ctx context.Context, g *graph.Graph) error {
		if g.N() == 7 {
			time.Sleep(5 * time.Millisecond)
		}
		return nil
	})
	var flood sync.WaitGroup
	ctx, enough := context.WithCancel(t.Context())
	for range 20 {
		flood.Go(func() {
			for ctx.Err() == nil {
				if status, says := post(t, address, path(7)); status != http.StatusOK && status != http.StatusServiceUnavailable {
					t.Errorf("status %d, %s", status, says)
				}
			}
		})
	}
	for in.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	other := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext}}
	for range 20 {
		r, err := other.Post(address, "", strings.NewReader(path(5)))
		if err != nil {
			t.Logf("there is no other address: %v", err)
			break
		}
		r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Errorf("status %d beside a greedy client", r.StatusCode)
		}
	}
	enough()
	flood.Wait()
	if err := stop(); err == nil {
		t.Error("it ended without a reason")
	}
}
