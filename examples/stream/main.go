// Command stream trains two models side by side on a stream of any length, each graph once: the
// most accurate model, and logistic regression on colours. The latter is a baseline without a
// matrix of all pairs of graphs.
//
//	go run ./examples/stream                                # 3000 generated graphs
//	go run ./examples/stream -graphs 1000000 -out curve.svg -json out.json
//	go run ./examples/stream -data NCI1                     # a TU collection, shuffled, once
//
// Each graph is predicted before the model learns from it, so the accuracy over the stream is
// measured on unseen graphs ("prequential"). The report also has the processor time per graph and the
// memory in use.
//
// With -listen a small network learns from posted graphs and classifies posted graphs, until Ctrl-C:
//
//	go run ./examples/stream -listen localhost:8080
//	curl 'localhost:8080?class=ring' -d '[[0,1],[1,2],[2,3],[3,0]]'      # a graph to learn
//	curl localhost:8080 -d '[[0,1],[1,2],[2,3],[3,4],[4,0]]'             # a graph to classify
//
// Status 200 has the answer; 400 is no graph or no class, 422 a graph that cannot be classified,
// 503 a question before the first step. The pipeline is shown at /live/.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/picture"
	"github.com/sanflow/sanflow/sinks/live"
)

func main() { cli.Main("stream", run) }

// config is the command line.
type config struct {
	data           string
	graphs, window int
	seed           uint64
	workers        int
	listen         string
	*cli.Command
}

func parse(args []string) (*config, error) {
	c := &config{Command: cli.NewCommand("stream", "learns from a stream of graphs that come once each, in memory that does not grow:\naccuracy before learning as a curve, time and memory for a graph.")}
	f := c.FlagSet
	f.StringVar(&c.data, "data", "", "TU collection: a zip, a directory, or a name to look up or download; empty = generated graphs")
	cli.Int(f, &c.graphs, "graphs", 3000, 1, cli.Many, "generated graphs")
	cli.Int(f, &c.window, "window", 0, 0, cli.Many, "graphs for each point of the curve; 0 = a 50th of -graphs, 100 of a collection")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the graphs, or of their order")
	cli.Workers(f, &c.workers)
	f.StringVar(&c.listen, "listen", "", "address, such as localhost:8080, to which the edges of a graph are posted, as [[0,1],[1,2]]: with ?class=ring or tree to learn from it, without a class to classify it; in place of the stream")
	c.Output("out", "file for the curve, .svg or .png")
	if err := c.Read(args); err != nil {
		return nil, err
	}
	if c.data != "" && slices.Contains(cli.Given(f), "graphs") {
		return nil, errors.New("-graphs is of generated graphs, and -data names a collection")
	}
	if c.window == 0 {
		if c.window = max(1, c.graphs/50); c.data != "" {
			c.window = 100
		}
	}
	if c.workers == 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	_, err := picture.Format(c.Path("out"))
	return c, err
}

func run(ctx context.Context, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	if c.listen != "" {
		s := &http.Server{Addr: c.listen, Handler: listen(ctx), ReadHeaderTimeout: 5 * time.Second}
		defer context.AfterFunc(ctx, func() { s.Close() })()
		return cli.Cause(ctx, s.ListenAndServe())
	}
	return c.Run(ctx, func(ctx context.Context) (cli.Result, error) {
		r := &report{Workers: c.workers, Seed: c.seed, Window: c.window}
		for _, name := range []string{"best", "online"} {
			one, err := c.learn(ctx, name, r)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			r.Systems = append(r.Systems, one)
		}
		r.PeakMB = float64(cli.PeakRSS()) / 1e6
		return r, nil
	})
}

// listen serves the page of the pipeline beside the model.
func listen(ctx context.Context) http.Handler {
	page, mux := &live.Page{Name: "stream"}, http.NewServeMux()
	mux.Handle("/live/", page)
	mux.Handle("/", online(page.Watch(ctx)))
	return mux
}
