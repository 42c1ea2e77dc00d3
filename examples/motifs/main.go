// Command motifs draws the feature figure of the PATCHY-SAN paper: the features of a restricted
// Boltzmann machine on the receptive fields of a graph.
//
//	go run ./examples/motifs                                   # the karate club
//	go run ./examples/motifs -graph torus -out torus
//	go run ./examples/motifs -graph power.edges.gz -k 7 -hidden 50 -json power.json
//
// The adjacency matrix of the field of every node, k·k numbers, is a row that
// the machine learns from. Of its hidden units the strongest are shown, each on
// a line of the sheet:
//
//   - its weights, k×k, the darker the stronger; row and column 1 are the root;
//   - graphs that are drawn from the machine while that unit alone is on, the
//     root yellow;
//   - the fields of the graph that excite it most, with how many nodes have one
//     like it.
//
// The sheet is written to the directory of -out, as motifs.svg, beside the machine as
// motifs.safetensors.
//
// The setting is the paper's (Niepert et al. 2016, section Feature
// Visualization): k = 9, 1-WL, 100 hidden units, 30 epochs of contrastive
// divergence at a learning rate of 0.01.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources"
)

func main() { cli.Main("motifs", run) }

// config is the command line, and the graph.
type config struct {
	graph         string
	n, k, workers int
	hidden, units int
	epochs        int
	rate          float64
	seed          uint64
	out           string
	*cli.Command

	g   *graph.Graph
	ids graph.IDs // of the nodes in the file; none: their numbers
}

// maxK keeps a row of k·k numbers, and the pictures of it, readable.
const maxK = 32

func parse(args []string) (*config, error) {
	c := &config{Command: cli.NewCommand("motifs", "draws what a restricted Boltzmann machine finds in the receptive fields of a graph,\nlike the feature figure of the PATCHY-SAN paper; of the karate club where -graph\nnames no other.")}
	f := c.FlagSet
	f.StringVar(&c.graph, "graph", "karate", "karate, the club; an edge list; or a graph to generate: "+strings.Join(input.Families, ", "))
	cli.Nodes(f, &c.n)
	cli.Int(f, &c.k, "k", 10, 2, maxK, fmt.Sprintf("nodes per receptive field, at most %d", maxK))
	cli.Int(f, &c.hidden, "hidden", 100, 1, 1<<16, "hidden units")
	cli.Int(f, &c.epochs, "epochs", 30, 1, cli.Many, "times that every field is learned from")
	cli.Float(f, &c.rate, "rate", 0.01, 1e-9, 1000, "learning rate")
	f.Uint64Var(&c.seed, "seed", 1, "seed of generated graph, weights, order and samples")
	cli.Int(f, &c.units, "units", 8, 1, 1<<10, "hidden units to show, at most")
	cli.Workers(f, &c.workers)
	f.StringVar(&c.out, "out", "motifs", "directory for the sheet and the machine; a missing one is created")
	if err := c.Read(args); err != nil {
		return nil, err
	}
	if c.out == "" {
		return nil, errors.New("-out is empty, want a directory")
	}
	return c, nil
}

func run(ctx context.Context, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	c.Also(c.file("svg"), c.file("safetensors"))
	return c.Run(ctx, c.work)
}

func (c *config) file(ext string) string { return filepath.Join(c.out, "motifs."+ext) }

// work makes the fields, lets a machine learn from them, and draws what it has found.
func (c *config) work(ctx context.Context) (cli.Result, error) {
	if err := c.load(ctx); err != nil {
		return nil, cli.Cause(ctx, fmt.Errorf("-graph: %w", err))
	}
	fields, err := c.makeFields(ctx)
	if err != nil {
		return nil, err
	}
	defer fields.collected.Release()
	r := &report{
		Graph: cli.DataName(c.graph), Nodes: c.g.N(), Edges: c.g.M(), K: c.k, Rows: fields.len(),
		Epochs: c.epochs, Hidden: c.hidden, Rate: c.rate, Seed: c.seed, c: c,
	}
	rbm, err := c.learn(ctx, fields, r)
	if err != nil {
		return nil, err
	}
	if r.Units, r.Distinct, err = c.motifs(rbm, fields); err != nil {
		return nil, err
	}
	if err := c.Files.Finish(c.file("svg"), func() ([]byte, error) { return r.sheet(ctx) }); err != nil {
		return nil, err
	}
	return r, c.Files.Finish(c.file("safetensors"), func() ([]byte, error) { return r.model(rbm) })
}

//go:embed karate.edges
var karate string

// karateClub is the graph of a club.
func karateClub(ctx context.Context) (*graph.Graph, error) {
	set, err := sources.EdgeList{Path: "karate.edges", Reader: strings.NewReader(karate)}.Read(ctx)
	if err != nil {
		return nil, err
	}
	return set.Items[0].Graph, nil
}

func (c *config) load(ctx context.Context) (err error) {
	if c.graph == "karate" {
		c.g, err = karateClub(ctx)
	} else {
		c.g, c.ids, err = input.Load(ctx, c.graph, c.n, c.seed)
	}
	if err == nil && c.g.N() == 0 {
		err = errors.New("the graph has no nodes")
	}
	return err
}

// id is what a node is called.
func (c *config) id(v int32) int64 {
	if id, ok := c.ids.Int(v); ok {
		return id
	}
	return int64(v)
}
