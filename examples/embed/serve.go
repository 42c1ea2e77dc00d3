package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sinks"
)

// A server answers for the graphs that are posted to it. No client can stall it
// for others: a body is bounded in bytes and in time, a graph in nodes and edges
// before it is made, the work on it by a deadline; clients take turns, see line. A
// request without a place gets 503, and the graph of a client that has gone is dropped.
type server struct {
	predict func(context.Context, *graph.Graph) (sinks.Answer, error)
	limits
	print func(answer) // what was answered

	line  *line         // of graphs
	conns chan struct{} // requests that are read

	mu      sync.Mutex
	reading map[string]int // requests that are read, by client
}

// limits are flags.
type limits struct {
	workers, queue int
	nodes, edges   int
	bytes          int64
	time, grace    time.Duration
}

// large is the number of nodes and edges from which on a graph is a large one.
// Smaller ones take some milliseconds.
const large = 2000

func newServer(l limits, predict func(context.Context, *graph.Graph) (sinks.Answer, error), print func(answer)) *server {
	return &server{
		predict: predict, limits: l, print: print,
		line:  newLine(l.workers, l.queue),
		conns: make(chan struct{}, 4*(l.workers+l.queue)), reading: map[string]int{},
	}
}

// listen answers until ctx ends. Then it takes no more requests, gives those in
// work the grace, drops the rest and returns.
func (s *server) listen(ctx context.Context, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "listening at http://%s\n", l.Addr())
	return s.serve(ctx, l)
}

func (s *server) serve(ctx context.Context, l net.Listener) error {
	base, drop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer drop(nil)
	var handlers sync.WaitGroup
	h := &http.Server{
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      10*time.Second + s.time,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    1 << 14,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handlers.Add(1)
			defer handlers.Done()
			s.handle(w, r)
		}),
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, stop := context.WithTimeout(base, s.grace)
	defer stop()
	if err := h.Shutdown(grace); err != nil { // the grace is over
		drop(context.Cause(ctx))
		_ = h.Close()
	}
	handlers.Wait()
	return context.Cause(ctx)
}

// failure is an error with the status that a client is told.
type failure struct {
	status int
	error
}

func fail(status int, format string, args ...any) error {
	return failure{status, fmt.Errorf(format, args...)}
}

var errBusy = failure{http.StatusServiceUnavailable, errors.New("all workers are busy: come again")}

func (s *server) handle(w http.ResponseWriter, r *http.Request) {
	a, err := s.answer(w, r)
	if err == nil {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a) // a client that has gone hears nothing
		return
	}
	status := http.StatusInternalServerError
	if f := (failure{}); errors.As(err, &f) {
		status = f.status
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, err.Error(), status)
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) (a answer, err error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return a, fail(http.StatusMethodNotAllowed, `post a graph: {"id": 7, "nodes": 3, "edges": [[0,1],[1,2]]}`)
	}
	id, g, err := s.receive(w, r)
	if err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.time, errBusy)
	defer cancel()
	leave, err := s.line.enter(ctx, clientOf(r.RemoteAddr), g.N()+g.M() > large)
	if err != nil {
		return a, err
	}
	defer leave()
	said, err := s.predict(ctx, g)
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), errBusy):
		return a, fail(http.StatusRequestEntityTooLarge, "the graph takes more than %v", s.time)
	case ctx.Err() != nil:
		return a, context.Cause(ctx)
	default:
		return a, fail(http.StatusUnprocessableEntity, "%w", err)
	}
	a = answer{ID: id, Class: said.Class, Probability: said.Probs[said.Index]}
	s.print(a)
	return a, nil
}

// receive reads a request if there is a place for it, of which a client has
// half at most: it may send as slowly as it likes.
func (s *server) receive(w http.ResponseWriter, r *http.Request) (int64, *graph.Graph, error) {
	select {
	case s.conns <- struct{}{}:
	default:
		return 0, nil, errBusy
	}
	defer func() { <-s.conns }()
	name := clientOf(r.RemoteAddr)
	defer s.add(name, -1)
	if n := s.add(name, 1); n > cap(s.conns)/2 {
		return 0, nil, errBusy
	}
	return s.read(w, r)
}

// add counts what a client has begun to send, and returns how much that is.
func (s *server) add(name string, by int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.reading[name] + by
	if s.reading[name] = n; n == 0 {
		delete(s.reading, name)
	}
	return n
}

// read reads {"id": 7, "nodes": 4, "edges": [[0,1],[1,2]]}.
func (s *server) read(w http.ResponseWriter, r *http.Request) (id int64, g *graph.Graph, err error) {
	var body struct {
		ID    int64
		Nodes int
		Edges []graph.Edge
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, s.bytes))
	d.DisallowUnknownFields()
	err = d.Decode(&body)
	if err == nil && d.Decode(&struct{}{}) != io.EOF {
		err = errors.New("there is more than one graph")
	}
	tooLong := new(http.MaxBytesError)
	switch {
	case err == io.EOF:
		return 0, nil, fail(http.StatusBadRequest, "the request has no graph")
	case errors.As(err, &tooLong):
		return 0, nil, fail(http.StatusRequestEntityTooLarge, "more than %d bytes", tooLong.Limit)
	case err != nil:
		return 0, nil, failure{http.StatusBadRequest, err}
	case body.Nodes == 0 && len(body.Edges) > 0:
		return 0, nil, fail(http.StatusBadRequest, "the graph has edges, and nodes is 0 or missing")
	case body.Nodes > s.nodes || len(body.Edges) > s.edges:
		return 0, nil, fail(http.StatusRequestEntityTooLarge, "%d nodes and %d edges, want at most %d and %d", body.Nodes, len(body.Edges), s.nodes, s.edges)
	}
	if g, err = graph.New(body.Nodes, false, body.Edges); err != nil {
		return 0, nil, failure{http.StatusBadRequest, err}
	}
	if g.M() == 0 {
		return 0, nil, fail(http.StatusUnprocessableEntity, "a graph without edges has no class")
	}
	return body.ID, g, nil
}
