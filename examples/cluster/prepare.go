package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/flow/record/mapped"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks/ipc"
)

// prepare writes the large graph, with what is learned of its nodes, to a file
// that is mapped, named by its SHA-256; a small file beside it, named by where the graph
// comes from, tells which that is.
func (c *config) prepare(ctx context.Context) (string, error) {
	dir := filepath.Join(c.dir, "graphs")
	note := filepath.Join(dir, c.origin()+".name")
	if b, err := os.ReadFile(note); err == nil {
		return filepath.Join(dir, string(b)), nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	src, err := c.graph.Source(ctx)
	if err != nil {
		return "", err
	}
	fresh := filepath.Join(dir, "fresh.arrow")
	err = flow.From(&input.Named{Source: src}).Via(cores{}).To(ipc.Sink{Path: fresh}).Run(ctx)
	if err != nil {
		return "", err
	}
	sum, err := hashOf(fresh)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, sum+".arrow")
	if err := os.Rename(fresh, path); err != nil {
		return "", err
	}
	return path, os.WriteFile(note, []byte(sum+".arrow"), 0o666)
}

// rows returns how many rows there are to learn from in an epoch, or -1 for a
// collection, which only the feed counts.
func (c *config) rows(ctx context.Context) (int64, error) {
	if !c.large() {
		return -1, nil
	}
	path, err := c.prepare(ctx)
	if err != nil {
		return -1, err
	}
	f, err := mapped.Open(path)
	if err != nil {
		return -1, err
	}
	defer f.Close()
	nodes := 0
	for i := range f.Len() {
		rec, err := f.Record(i)
		if err != nil {
			return -1, err
		}
		gs, err := record.GraphsOf(rec)
		if err != nil {
			rec.Release()
			return -1, err
		}
		for row := range gs.Len() {
			nodes += gs.Nodes(row)
		}
		rec.Release()
	}
	return int64(nodes) * int64(c.repeat), nil
}

// origin is a name for where the large graph comes from. A file that was written since
// is another one.
func (c *config) origin() string {
	h := sha256.New()
	fmt.Fprintln(h, c.graph.Path, c.graph.N, c.graph.Seed)
	if info, err := os.Stat(c.graph.Path); err == nil {
		fmt.Fprintln(h, info.Size(), info.ModTime().UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func hashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// cores adds the class of each node: the logarithm of its core number.
type cores struct{}

const coreClasses = 8

func (cores) String() string { return "cores" }

func (cores) Open(in *arrow.Schema) (flow.Stage, error) {
	names := make([]string, coreClasses)
	for i := range names {
		names[i] = fmt.Sprintf("core %d", 1<<i-1)
	}
	l, err := record.LayoutOf(in)
	if err != nil {
		return nil, err
	}
	l.NodeClasses, l.Classes, l.Real = names, nil, false
	f, _, err := record.Field(l.Schema(), record.NodeTarget)
	if err != nil {
		return nil, err
	}
	out, err := record.Extend(record.Without(in, record.NodeTarget, record.Target), f)
	return coreStage{out}, err
}

type coreStage struct{ schema *arrow.Schema }

func (s coreStage) Schema() *arrow.Schema { return s.schema }

func (s coreStage) Process(rec arrow.Record, out *flow.Out) error {
	gs, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	col := record.NewLists[int32](out.Allocator())
	var g graph.Graph
	for row := range gs.Len() {
		gs.At(row, &g)
		labels := make([]float64, g.N())
		if err := labeling.Core.Label(labeling.Input{Graph: &g}, labels); err != nil {
			return err
		}
		class := col.Grow(g.N())
		for v, core := range labels {
			class[v] = int32(min(bits.Len(uint(core)), coreClasses-1))
		}
	}
	made, err := record.Project(s.schema, rec, map[string]arrow.Array{record.NodeTarget: col.Finish()})
	if err != nil {
		return err
	}
	return out.Emit(made)
}

// withoutChannels reports whether the nodes of a source have no attributes.
func withoutChannels(ctx context.Context, src flow.Source) (bool, error) {
	schema, err := flow.From(src).Schema(ctx)
	if err != nil {
		return false, err
	}
	l, err := record.LayoutOf(schema)
	if err != nil {
		return false, err
	}
	if len(l.Classes) < 2 {
		return false, fmt.Errorf("the graphs have no classes to learn")
	}
	return len(l.NodeCat)+len(l.NodeAttr) == 0, nil
}
