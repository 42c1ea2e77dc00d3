// Command motifs draws the feature figure of the PATCHY-SAN paper: the features of a restricted
// Boltzmann machine on the receptive fields of a graph.
//
//	go run ./examples/motifs                                   # the karate club
//	go run ./examples/motifs -graph torus -out torus
//	go run ./examples/motifs -graph power.edges.gz -k 7 -hidden 50 -json power.json
//
// The machine learns from the adjacency matrix of the field of every node, k·k numbers. Each of its
// strongest hidden units has a line of the sheet:
//
//   - its weights, k×k, the darker the larger; row and column 1 are the root;
//   - graphs that are sampled from the machine while that unit alone is on, the root yellow;
//   - the fields of the graph that excite it most, and the number of nodes with an equal field.
//
// -out is the directory of the sheet, motifs.svg, and the machine, motifs.safetensors.
//
// The setting is that of the paper (Niepert et al. 2016, section Feature Visualization): k = 9, 1-WL,
// 100 hidden units, 30 epochs of contrastive divergence at a learning rate of 0.01.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/manifest"
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
	ids graph.IDs
}

// maxK bounds k: a picture of a matrix of k·k numbers is then readable.
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

// work makes the fields, trains the machine, and draws its features.
func (c *config) work(ctx context.Context) (cli.Result, error) {
	if err := c.load(ctx); err != nil {
		return nil, cli.Cause(ctx, fmt.Errorf("-graph: %w", err))
	}
	f, err := c.makeFields(ctx)
	if err != nil {
		return nil, err
	}
	defer f.collected.Release()
	r := &report{
		Graph: cli.DataName(c.graph), Nodes: c.g.N(), Edges: c.g.M(), K: c.k, Rows: c.g.N(), Epochs: c.epochs, Hidden: c.hidden,
		Rate: c.rate, Seed: c.seed, sheet: c.file("svg"),
	}
	rbm, err := c.learn(ctx, f, r)
	if err != nil {
		return nil, err
	}
	if r.Units, r.Distinct, err = c.motifs(rbm, f); err != nil {
		return nil, err
	}
	if err := c.Files.Finish(c.file("svg"), func() ([]byte, error) { return r.draw(ctx) }); err != nil {
		return nil, err
	}
	if err := c.Files.Page(c.file("safetensors"), rbm.Save); err != nil {
		return nil, err
	}
	r.ModelSHA256, err = manifest.Sum(c.file("safetensors"))
	return r, err
}

//go:embed karate.edges
var karate string

// karateClub is the graph of a club (Zachary 1977).
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

// id is the id of a node in its file, or its number.
func (c *config) id(v int32) int64 {
	if id, ok := c.ids.Int(v); ok {
		return id
	}
	return int64(v)
}

// report is the JSON object of -json.
type report struct {
	Graph       string   `json:"graph"`
	Nodes       int      `json:"nodes"`
	Edges       int      `json:"edges"`
	K           int      `json:"k"`
	Rows        int      `json:"rows"` // fields
	Distinct    int      `json:"distinct_fields"`
	Epochs      int      `json:"epochs"`
	Hidden      int      `json:"hidden"`
	Rate        float64  `json:"lr"`
	Batch       int      `json:"batch"`
	Seed        uint64   `json:"seed"`
	Error       float64  `json:"reconstruction_error"`             // mean square of a visible unit in the last epoch
	ErrorFirst  float64  `json:"first_epoch_reconstruction_error"` // the same in the first epoch
	Units       []*motif `json:"units"`                            // lines of the sheet
	Seconds     float64  `json:"seconds"`                          // of learning
	RowsPerS    float64  `json:"rows_per_s"`
	ModelSHA256 string   `json:"model_sha256"`

	sheet string // its file
}

// Print writes the table.
func (r *report) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s: %d nodes, %d edges; %d fields of %d nodes, %d of them different\n\n", r.Graph, r.Nodes, r.Edges, r.Rows, r.K, r.Distinct)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "unit\tstrength\tunits alike\troots of the fields that excite it most (nodes with an equal field)")
	for _, u := range r.Units {
		fmt.Fprintf(w, "%d\t%.2f\t%d\t", u.Unit, u.Strength, u.Alike)
		for _, f := range u.Fields {
			fmt.Fprintf(w, "%d (%d)   ", f.Root, f.Nodes)
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nreconstruction error %.4f, in the first epoch %.4f; %d epochs at %v, %d fields a step, seed %d; %.0f rows/s\nthe sheet: %s\n",
		r.Error, r.ErrorFirst, r.Epochs, r.Rate, r.Batch, r.Seed, r.RowsPerS, r.sheet)
	return err
}
