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
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
)

// submission is what flows through the part of the pipeline that is not ours.
type submission struct {
	id    int64
	graph *graph.Graph
}

// record makes a record of one row, which the stage that receives it owns.
func (s submission) record() arrow.Record {
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
	if err := b.Append(s.graph, record.Row{ID: s.id, Pos: s.id}); err != nil {
		panic(err) // the graph has no attributes, and so what the layout says
	}
	return b.Record()
}

// answer is what leaves.
type answer struct {
	id     int64
	family string
	sure   float32
}

// String returns the line that is printed.
func (a answer) String() string {
	return fmt.Sprintf("graph %d: %s, %.0f %%", a.id, a.family, 100*a.sure)
}

// generated submits graphs that the network has not learned from.
func generated(ctx context.Context, in chan<- any) error {
	items, err := sources.Families{Graphs: 20, Seed: 2}.Items()
	if err != nil {
		return err
	}
	for i, it := range items {
		if err := submit(ctx, in, submission{int64(i), it.Graph}); err != nil {
			return err
		}
	}
	return nil
}

func submit(ctx context.Context, in chan<- any, s submission) error {
	select {
	case in <- s:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// serve submits what is posted, until ctx ends. A submission waits for its
// place in the pipeline, so clients feel how fast that is.
func serve(ctx context.Context, address string, in chan<- any) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "listening at http://%s\n", l.Addr())
	server := &http.Server{
		ReadTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s, err := decode(http.MaxBytesReader(w, r.Body, 1<<20))
			if err == nil {
				err = submit(ctx, in, s)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.WriteHeader(http.StatusAccepted)
		}),
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { stopped <- server.Shutdown(context.WithoutCancel(ctx)) })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return err
	}
	// Handlers may still submit until Shutdown is back.
	return errors.Join(<-stopped, context.Cause(ctx))
}

// decode reads {"id": 7, "nodes": 4, "edges": [[0,1],[1,2]]}.
func decode(r io.Reader) (submission, error) {
	var body struct {
		ID    int64
		Nodes int
		Edges [][2]int32
	}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		return submission{}, err
	}
	const most = 100_000 // a client must not make us allocate what it did not send
	if body.Nodes > most {
		return submission{}, fmt.Errorf("%d nodes, want at most %d", body.Nodes, most)
	}
	edges := make([]graph.Edge, len(body.Edges))
	for i, e := range body.Edges {
		edges[i] = graph.Edge{U: e[0], V: e[1]}
	}
	g, err := graph.New(body.Nodes, false, edges)
	return submission{body.ID, g}, err
}
