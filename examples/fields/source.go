package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/fieldjob"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sources"
)

// extensions tell the format of a file.
var extensions = map[string]string{
	".edges": "edges", ".edgelist": "edges", ".txt": "edges", ".tsv": "edges", ".csv": "edges",
	".g6": "graph6", ".d6": "graph6", ".graph6": "graph6", ".digraph6": "graph6",
	".dot": "dot", ".gv": "dot",
	".zip": "tu",
}

// format checks the format, or finds that of the file.
func format(graph, format string) (string, error) {
	known := []string{"edges", "graph6", "dot", "tu"}
	switch {
	case slices.Contains(fieldjob.Families, graph):
		return "generated", nil
	case slices.Contains(known, format):
		return format, nil
	case format != "":
		return "", fmt.Errorf("-format is %q, want %s", format, strings.Join(known, ", "))
	}
	if graph == "-" {
		return "graph6", nil
	}
	if info, err := os.Stat(graph); err == nil && info.IsDir() {
		return "tu", nil
	}
	ext := filepath.Ext(strings.TrimSuffix(graph, ".gz"))
	if f, ok := extensions[ext]; ok {
		return f, nil
	}
	return "", fmt.Errorf("-graph is %q, whose name does not tell the format: set -format, or generate %s",
		graph, strings.Join(fieldjob.Families, ", "))
}

// source returns where the graphs come from.
func (c *config) source(ctx context.Context) (flow.Source, error) {
	var stdin io.Reader
	path := c.graph
	if path == "-" {
		path, stdin = "standard input", &interruptible{ctx: ctx, r: os.Stdin}
	}
	switch c.format {
	case "generated":
		g, _, err := fieldjob.Generate(c.graph, c.n, c.seed)
		if err != nil {
			return nil, err
		}
		return sources.Graphs{Items: []sources.Item{{Graph: g}}}, nil
	case "edges":
		return sources.EdgeList{Path: path, Reader: stdin, Directed: c.directed}, nil
	case "graph6":
		return sources.Graph6{Path: path, Reader: stdin, Directed: c.directed, Rows: 256}, nil
	case "dot":
		return sources.DOT{Path: path, Reader: stdin}, nil
	}
	if stdin != nil {
		return nil, fmt.Errorf("-graph is -, but a TU collection is several files: name its zip or directory")
	}
	return sources.TU{Path: path, Directed: c.directed}, nil
}

// interruptible reads until its context ends, even where the reader below
// waits for somebody to type.
type interruptible struct {
	ctx  context.Context
	r    io.Reader
	data chan []byte // from the goroutine that reads; closed at the end
	left []byte
	err  error
}

func (i *interruptible) Read(p []byte) (int, error) {
	if i.data == nil {
		i.data = make(chan []byte)
		go i.pump()
	}
	if len(i.left) == 0 {
		select {
		case b, ok := <-i.data:
			if !ok {
				return 0, i.err
			}
			i.left = b
		case <-i.ctx.Done():
			return 0, context.Cause(i.ctx)
		}
	}
	n := copy(p, i.left)
	i.left = i.left[n:]
	return n, nil
}

// pump ends with the input, with the context, or with the process.
func (i *interruptible) pump() {
	defer close(i.data)
	for {
		b := make([]byte, 1<<16)
		n, err := i.r.Read(b)
		if n > 0 {
			select {
			case i.data <- b[:n]:
			case <-i.ctx.Done():
				i.err = context.Cause(i.ctx)
				return
			}
		}
		if err != nil {
			i.err = err
			return
		}
	}
}
