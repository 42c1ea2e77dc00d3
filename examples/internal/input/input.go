// Package input finds the graphs that a command line names.
package input

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sources"
)

// Graph is the flags -graph, -format, -n, -seed, -directed and -weights.
type Graph struct {
	Path     string // or - for standard input, or one of Families
	Format   string
	N        int
	Seed     uint64
	Directed bool
	Weights  bool // of an edge list are attributes of its edges
	Workers  int  // that read an edge list; 0 = all processors
	Tables   Tables
}

// extensions tell the format of a file.
var extensions = map[string]string{
	".edges": "edges", ".edgelist": "edges", ".txt": "edges", ".tsv": "edges", ".csv": "edges",
	".g6": "graph6", ".d6": "graph6", ".graph6": "graph6", ".digraph6": "graph6",
	".dot": "dot", ".gv": "dot",
	".zip":   "tu",
	".arrow": "arrow",
}

// FormatOf returns the format that the name of a file tells, or "".
func FormatOf(path string) string {
	return extensions[extension(path)]
}

// Check checks the format, or finds that of the file, and the file itself.
func (g *Graph) Check() (err error) {
	if g.Tables.Edges != "" {
		g.Path, g.Format = g.Tables.Edges, "tables"
		return nil
	}
	known := []string{"edges", "graph6", "dot", "tu", "arrow"}
	defer func() {
		if err == nil && g.Weights && g.Format != "edges" {
			err = fmt.Errorf("-weights needs an edge list, and -graph %s is none", g.Path)
		}
	}()
	if slices.Contains(Families, g.Path) {
		g.Format = "generated"
		return nil
	}
	g.Path = cli.Place("graphs", g.Path)
	switch {
	case slices.Contains(known, g.Format):
		return nil
	case g.Format != "":
		return fmt.Errorf("-format is %q, want %s", g.Format, strings.Join(known, ", "))
	case g.Path == "-":
		g.Format = "graph6"
		return nil
	}
	if info, err := os.Stat(g.Path); err == nil && info.IsDir() {
		if g.Format = "tu"; len(parts(g.Path)) > 0 {
			g.Format = "arrow"
		}
		return nil
	}
	if g.Format = FormatOf(g.Path); g.Format != "" {
		return nil
	}
	if _, err := os.Stat(g.Path); err != nil {
		return fmt.Errorf("-graph is %q: no such file, and no graph to generate, which are %s", g.Path, strings.Join(Families, ", "))
	}
	return fmt.Errorf("-graph is %q, and the format of that name is unknown: set -format, or generate %s",
		g.Path, strings.Join(Families, ", "))
}

// Source returns where the graphs come from.
func (g *Graph) Source(ctx context.Context) (flow.Source, error) {
	var stdin io.Reader
	path := g.Path
	if path == "-" {
		path, stdin = "standard input", Stdin(ctx)
	} else if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		stdin = &interruptible{ctx: ctx, r: &opened{path: path}} // a pipe may keep one waiting
	}
	switch g.Format {
	case "generated":
		made, _, err := Generate(ctx, g.Path, g.N, g.Seed)
		if err != nil {
			return nil, err
		}
		return sources.Graphs{Items: []sources.Item{{Graph: made}}}, nil
	case "edges":
		return edges(sources.EdgeList{Path: path, Reader: stdin, Directed: g.Directed, Weights: g.Weights, Workers: g.Workers}), nil
	case "arrow":
		return Arrow(g.Path), nil
	case "tables":
		return g.Tables.source(g.Directed, g.Workers)
	case "graph6":
		return sources.Graph6{Path: path, Reader: stdin, Directed: g.Directed, Rows: 256}, nil
	case "dot":
		return sources.DOT{Path: path, Reader: stdin}, nil
	}
	if g.Path == "-" {
		return nil, fmt.Errorf("-graph is -, but a TU collection is several files: name its zip or directory")
	}
	return sources.TU{Path: path, Directed: g.Directed}, nil
}

// Chunk is a good number of roots to work on at once, for fields of k nodes: of
// one large graph enough that a chunk costs next to nothing, and at most two
// megabytes of edges; of the graphs of a collection as many as most of them have
// nodes, since what a chunk lacks is filled with zero fields, and a graph with
// several chunks costs a record for each. It depends on nothing that a worker does.
func (g *Graph) Chunk(k int) int {
	most := 1024
	if g.Format == "graph6" || g.Format == "tu" || g.Format == "dot" {
		most = 128
	}
	return max(1, min(most, 1<<19/(k*k)))
}
