package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/flowtest/leak"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sinks"
)

var testLimits = limits{workers: 2, queue: 4, nodes: 25_000, edges: 100_000, bytes: 2 << 20, time: 300 * time.Millisecond, grace: 100 * time.Millisecond}

// serving runs a server whose model takes as long as work says, and returns its
// address, what it counted, and how to stop it.
func serving(t *testing.T, l limits, work func(context.Context, *graph.Graph) error) (address string, in *atomic.Int64, stop func() error) {
	t.Helper()
	in = new(atomic.Int64)
	s := newServer(l, func(ctx context.Context, g *graph.Graph) (sinks.Answer, error) {
		in.Add(1)
		defer in.Add(-1)
		if err := work(ctx, g); err != nil {
			return sinks.Answer{}, err
		}
		return sinks.Answer{Class: "ring", Probs: []float32{1}}, nil
	}, func(answer) {})
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ctx, listener) }()
	return "http://" + listener.Addr().String(), in, func() error {
		cancel(cli.ErrInterrupted)
		return <-ended
	}
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}

// turnedAway is the status of a request without an answer. A server that refuses a request
// before it has read the body reads 256 KB more and closes the connection; a client that
// is still writing may see only that.
const turnedAway = 0

// post returns the status and the body.
func post(t *testing.T, address, body string) (int, string) {
	r, err := client.Post(address, "application/json", strings.NewReader(body))
	if len(body) > 256<<10 && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)) {
		return turnedAway, ""
	}
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	if r.StatusCode == http.StatusServiceUnavailable && r.Header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
	return r.StatusCode, string(b)
}

// path is a path of n nodes, as a client posts it.
func path(n int) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"id": %d, "nodes": %d, "edges": [`, n, n)
	for v := range n - 1 {
		if v > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "[%d,%d]", v, v+1)
	}
	b.WriteString("]}")
	return b.String()
}

// Whatever is posted is answered, each client for itself, with the status that
// says what is wrong.
func TestServe(t *testing.T) {
	defer leak.VerifyNone(t)
	l := testLimits
	l.nodes, l.edges, l.bytes, l.time = 100, 5, 300, time.Minute
	address, _, stop := serving(t, l, func(_ context.Context, g *graph.Graph) error {
		if g.N() == 13 {
			return errors.New("refused by the test")
		}
		return nil
	})
	for _, c := range []struct {
		body string
		want int
		says string
	}{
		{path(4), http.StatusOK, `{"id":4,"class":"ring","probability":1}`},
		{`{"nodes": 2, "edges": [[0,1]]}`, http.StatusOK, `"id":0`},
		{`{"nodes": 3, "edges": [[1]]}`, http.StatusBadRequest, "the edge [1]"},
		{`{"nodes": 3, "edges": [[0,1,2]]}`, http.StatusBadRequest, "the edge [0,1,2]"},
		{`{"nodes": 4, "edges": [[0,4]]}`, http.StatusBadRequest, "4"},
		{`{"nodes": -1}`, http.StatusBadRequest, ""},
		{`{"nodes": 2, "edges": [[0,1]]} {}`, http.StatusBadRequest, "more than one"},
		{`{"nodes": 2, "edges": [[0,`, http.StatusBadRequest, ""},
		{`{"nodes": 2, "edges": [[0,99999999999]]}`, http.StatusBadRequest, ""},
		{`{"nodes": 2, "weights": []}`, http.StatusBadRequest, "weights"},
		{``, http.StatusBadRequest, "no graph"},
		{`{"edges": [[0,1]]}`, http.StatusBadRequest, "nodes is 0 or missing"},
		{`{"nodes": 1000000000}`, http.StatusRequestEntityTooLarge, "at most 100"},
		{path(7), http.StatusRequestEntityTooLarge, "6 edges"},
		{path(60), http.StatusRequestEntityTooLarge, "300 bytes"},
		{strings.Repeat("[", 200), http.StatusBadRequest, ""},
		{`{"nodes": 3}`, http.StatusUnprocessableEntity, "without edges"},
		{`{"nodes": 13, "edges": [[0,1]]}`, http.StatusUnprocessableEntity, "refused by the test"},
	} {
		if got, says := post(t, address, c.body); got != c.want || !strings.Contains(says, c.says) {
			t.Errorf("%.60s: status %d, %q, want %d with %q", c.body, got, says, c.want, c.says)
		}
	}
	if r, err := client.Get(address); err != nil || r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %v, %v", r, err)
	} else {
		r.Body.Close()
	}
	if err := stop(); !errors.Is(err, cli.ErrInterrupted) {
		t.Error(err)
	}
}

// One client posts large graphs, each of which would take for ever, as fast as it
// can. Another one's small graphs are answered meanwhile, what finds no place is
// told to come again, the work on each ends at its deadline, and the end is quick.
func TestServeFlood(t *testing.T) {
	defer leak.VerifyNone(t)
	address, in, stop := serving(t, testLimits, func(ctx context.Context, g *graph.Graph) error {
		if g.N() > large {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	body := path(22_000)
	statuses := make(chan int, 20)
	var flood sync.WaitGroup
	for range cap(statuses) {
		flood.Go(func() {
			status, _ := post(t, address, body)
			statuses <- status
		})
	}
	for in.Load() == 0 && len(statuses) < cap(statuses) { // the first one is in work
		time.Sleep(time.Millisecond)
	}
	answered := 0
	// While a slow machine still reads the flood, nothing else of this client's has a place.
	for begin, i := time.Now(), 0; i < 10 || answered == 0 && time.Since(begin) < leak.Patience; i++ {
		start := time.Now()
		status, says := post(t, address, path(5))
		if took := time.Since(start); took > leak.Patience {
			t.Errorf("a small graph took %v", took)
		}
		switch {
		case status == http.StatusOK:
			answered++
		case status != http.StatusServiceUnavailable:
			t.Errorf("a small graph: %d %s", status, says)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if answered == 0 {
		t.Error("no small graph was answered")
	}
	flood.Wait()
	close(statuses)
	count := map[int]int{}
	for s := range statuses {
		count[s]++
	}
	if count[http.StatusServiceUnavailable]+count[turnedAway] == 0 || count[http.StatusRequestEntityTooLarge] == 0 ||
		count[http.StatusServiceUnavailable]+count[http.StatusRequestEntityTooLarge]+count[turnedAway] != 20 {
		t.Errorf("statuses %v, want some 503 and some 413", count)
	}
	if n := in.Load(); n != 0 {
		t.Errorf("%d graphs are still in work", n)
	}
	if err := stop(); !errors.Is(err, cli.ErrInterrupted) {
		t.Error(err)
	}
}

// However many large graphs are waiting, there is a place for a small one; and
// however many requests one address is slow to send, for those of another.
func TestServeLeavesPlaces(t *testing.T) {
	defer leak.VerifyNone(t)
	l := testLimits
	l.time = 20 * time.Second
	address, in, stop := serving(t, l, func(ctx context.Context, g *graph.Graph) error {
		if g.N() > large {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	begin := func(request string) net.Conn {
		c, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, request)
		return c
	}
	body := path(large + 1)
	for range 8 {
		defer begin(fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)).Close()
	}
	for in.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // the others wait, or were sent away
	if status, says := post(t, address, path(5)); status != http.StatusOK {
		t.Errorf("beside large graphs: %d %s", status, says)
	}
	for range 24 {
		defer begin("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{").Close()
	}
	time.Sleep(100 * time.Millisecond)
	other := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext}}
	if r, err := other.Post(address, "", strings.NewReader(path(5))); err != nil {
		t.Logf("there is no other address: %v", err)
	} else {
		r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Errorf("beside a slow client: %d", r.StatusCode)
		}
	}
	if err := stop(); !errors.Is(err, cli.ErrInterrupted) {
		t.Error(err)
	}
}

// What a client no longer waits for is dropped, and makes room.
func TestServeAbandoned(t *testing.T) {
	defer leak.VerifyNone(t)
	l := testLimits
	l.time = time.Minute
	address, in, stop := serving(t, l, func(ctx context.Context, g *graph.Graph) error {
		if g.N() == 5 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	})
	ctx, leave := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	for range 3 { // all workers, and the other place that one client has
		clients.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(path(9)))
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := client.Do(r); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	for in.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	leave()
	clients.Wait()
	for range 1000 { // a server hears of it a little later
		status, _ := post(t, address, path(5))
		if status == http.StatusOK {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if status, says := post(t, address, path(5)); status != http.StatusOK {
		t.Errorf("%d %s", status, says)
	}
	if err := stop(); !errors.Is(err, cli.ErrInterrupted) {
		t.Error(err)
	}
}

// Ctrl-C lets what is nearly done be answered, and waits neither for work without
// an end nor for clients that send nothing.
func TestServeShutdown(t *testing.T) {
	defer leak.VerifyNone(t)
	l := testLimits
	l.time, l.grace = time.Hour, 4*time.Second
	nearly := make(chan struct{}) // closed soon after the end has begun
	address, in, stop := serving(t, l, func(ctx context.Context, g *graph.Graph) error {
		if g.N() == 100 {
			<-nearly
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	})
	idle, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	fmt.Fprint(idle, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	var clients sync.WaitGroup
	clients.Go(func() {
		if status, says := post(t, address, path(100)); status != http.StatusOK {
			t.Errorf("nearly done: %d %s", status, says)
		}
	})
	clients.Go(func() {
		r, err := client.Post(address, "", strings.NewReader(path(200))) // without an end
		if err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				t.Error("it was waited for")
			}
		}
	})
	for in.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	start := time.Now()
	time.AfterFunc(100*time.Millisecond, func() { close(nearly) })
	if err := stop(); !errors.Is(err, cli.ErrInterrupted) {
		t.Error(err)
	}
	if took := time.Since(start); took > leak.Patience {
		t.Errorf("the end took %v", took)
	}
	clients.Wait()
}

// The command answers over HTTP with what it has learned: large graphs, whose
// labels take seconds, do not stall it.
func TestListen(t *testing.T) {
	defer leak.VerifyNone(t)
	l, err := net.Listen("tcp", "localhost:0") // a free port
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	lines := output(t, func() {
		go func() {
			ended <- run(ctx, []string{"-learn", "60", "-listen", address, "-time", "500ms", "-workers", "2"})
		}()
		for range 1200 { // it learns before it listens
			c, err := net.Dial("tcp", address)
			if err == nil {
				c.Close()
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		var flood sync.WaitGroup
		for range 5 {
			flood.Go(func() {
				if status, says := post(t, "http://"+address, path(22_000)); status == http.StatusOK {
					t.Logf("a quick machine: %s", says)
				}
			})
		}
		status, says := 0, ""
		for range 60 { // a busy machine may need longer than -time even for this one
			if status, says = post(t, "http://"+address, `{"id": 7, "nodes": 4, "edges": [[0,1],[1,2],[2,3],[3,0]]}`); status == http.StatusOK {
				break
			}
		}
		var a answer
		if err := json.Unmarshal([]byte(says), &a); err != nil || status != http.StatusOK || a.ID != 7 || a.Class == "" || !(a.Probability > 0) {
			t.Errorf("%d %q, %v", status, says, err)
		}
		flood.Wait()
		cancel(cli.ErrInterrupted)
		if err := <-ended; !errors.Is(err, cli.ErrInterrupted) {
			t.Errorf("%v, want %v", err, cli.ErrInterrupted)
		}
	})
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "graph 7: ") {
		t.Errorf("printed %q", lines)
	}
}
