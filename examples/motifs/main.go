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
// The sheet is written to the directory of -out, as motifs.svg and motifs.png, beside the machine
// as motifs.safetensors.
//
// The setting is the paper's (Niepert et al. 2016, section Feature
// Visualization): k = 9, 1-WL, 100 hidden units, 30 epochs of contrastive
// divergence at a learning rate of 0.01.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
)

func main() { cli.Main("motifs", run) }

// config is the command line.
type config struct {
	graph          string
	n              int
	k, hidden      int
	epochs, batch  int
	rate           float64
	seed           uint64
	units, workers int
	held           float64
	out            string
	*cli.Command
}

func parse(args []string) (*config, error) {
	c := &config{Command: cli.NewCommand("motifs", "draws what a restricted Boltzmann machine finds in the receptive fields of a graph,\nlike the feature figure of the PATCHY-SAN paper; of the karate club where -graph\nnames no other.")}
	f := c.FlagSet
	f.StringVar(&c.graph, "graph", "karate", "karate, the club; an edge list; or a graph to generate: "+strings.Join(generated, ", "))
	cli.Nodes(f, &c.n)
	cli.Int(f, &c.k, "k", 10, 2, maxK, fmt.Sprintf("nodes per receptive field, at most %d", maxK))
	cli.Int(f, &c.hidden, "hidden", 100, 1, 1<<16, "hidden units")
	cli.Int(f, &c.epochs, "epochs", 30, 1, cli.Many, "times that every field is learned from")
	cli.Float(f, &c.rate, "rate", 0.01, 1e-9, 1000, "learning rate")
	cli.Int(f, &c.batch, "batch", 0, 0, cli.Many, "fields per step; 0 = 10, or fewer on a graph of fewer than 1000 nodes")
	cli.Float(f, &c.held, "held", 0, 0, 0.99, "share of the fields to keep from learning, for the gap of free energies")
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

// maxK keeps a row of k·k numbers, and the pictures of it, readable.
const maxK = 32

func run(ctx context.Context, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	c.Also(c.file("svg"), c.file("png"), c.file("safetensors"))
	return c.Run(ctx, c.work)
}

// file is a file of the directory.
func (c *config) file(ext string) string { return filepath.Join(c.out, "motifs."+ext) }

// work learns, draws and reports.
func (c *config) work(ctx context.Context) (cli.Result, error) {
	in, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	fields, err := c.makeFields(ctx, in)
	if err != nil {
		return nil, err
	}
	defer fields.release()
	l, err := c.learn(ctx, fields)
	if err != nil {
		return nil, err
	}
	motifs, err := c.motifs(l.rbm, fields)
	if err != nil {
		return nil, err
	}
	sheet, err := newSheet(c, in, fields, l, motifs)
	if err != nil {
		return nil, err
	}
	for _, format := range []string{"svg", "png"} {
		if err := c.Files.Finish(c.file(format), func() ([]byte, error) { return sheet.draw(ctx, format) }); err != nil {
			return nil, err
		}
	}
	model, err := c.describe(l, in)
	if err != nil {
		return nil, err
	}
	if err := c.Files.Finish(c.file("safetensors"), func() ([]byte, error) { return model, nil }); err != nil {
		return nil, err
	}
	return newReport(c, in, fields, l, motifs, model), nil
}
