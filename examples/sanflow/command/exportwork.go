package command

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks/edgelist"
	"github.com/sanflow/sanflow/sinks/ipc"
	"github.com/sanflow/sanflow/sinks/jsonl"
	sink "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sinks/scores"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// writeRows writes fields, or records of graphs. In memory are a record of graphs and some chunks of
// fields.
func (c *exporting) writeRows(ctx context.Context, text *cli.Stream, r *exported) error {
	src, err := c.source(ctx)
	if err != nil {
		return err
	}
	if c.per == "graph" && c.roots.W == 0 && !c.graphs {
		all := new(tally)
		if err := flow.From(&named{Source: src, Quiet: true}).Via(all).Run(ctx); err != nil {
			return err
		}
		if c.selecting, err = c.roots.of(all); err != nil {
			return err
		}
	}
	from, tally := &named{Source: src}, &tally{}
	p := flow.From(from).Via(tally)
	if !c.graphs {
		p = c.fields(flow.From(from).Via(c.selecting).Via(tally), true)
	}
	var to flow.Sink
	if c.out != "" && c.text() == "" {
		if to, err = c.sink(ctx, r); err != nil {
			return err
		}
	}
	switch {
	case text != nil:
		p = p.Via(jsonl.Columns{}).To(published{scores.Text{JSON: true, W: text}, text.Finish})
	case to != nil && c.lines():
		p = p.Via(jsonl.Columns{}).To(to)
	case to != nil:
		p = p.To(to)
	case !c.lines() && !c.graphs:
		p = p.To(flow.Each("members", r.keepMembers))
	}
	made := func(stages []flow.StageStats) int64 { return notesOf(stages)["fields"] }
	rows := cli.Last
	if c.lines() {
		rows = made
	}
	start := time.Now()
	stats, err := cli.Run(ctx, p.With(flow.Options{Workers: c.workers}), "rows", -1, rows)
	if err != nil {
		return err
	}
	r.W, r.Rows = c.selecting.W, rows(stats.Stages)
	r.take(notesOf(stats.Stages), tally, from)
	r.Seconds = time.Since(start).Seconds() - r.ReadSeconds
	return nil
}

// fields adds the operators between roots and rows. chunk is set where the roots are not in chunks yet.
func (c *exporting) fields(p flow.Pipeline, chunk bool) flow.Pipeline {
	if chunk && c.per == "root" && (c.selecting.W == 0 || c.selecting.W > c.chunk) {
		p = p.Via(operators.Chunk{Size: c.chunk})
	}
	if c.lines() {
		normalize := jsonl.Normalize(c.k)
		normalize.Bound, normalize.By, normalize.Global = c.bound, c.normal, c.scope == "global"
		return p.Via(normalize)
	}
	normalize := operators.Normalize{K: c.k, Bound: c.bound, By: c.normal, Global: c.scope == "global", Edges: c.edges, MemberIDs: true}
	if c.indexed != nil {
		p = p.Via(c.indexed.Normalize(normalize))
	} else {
		p = p.Via(normalize)
	}
	if c.per == "root" {
		// Records have one size, so that the files do not depend on the chunks.
		p = p.Via(operators.PerRoot{}).Via(operators.Batch{Size: 1024})
	}
	return p
}

// sink returns the sink of -out: a file of lines, a directory, a bucket, or a registered URL.
func (c *exporting) sink(ctx context.Context, r *exported) (flow.Sink, error) {
	done := func(_, bytes int64) { r.Bytes = bytes }
	if to, ok, err := sources.OpenSink(ctx, c.out); ok || err != nil {
		return to, err
	}
	dir, b, err := c.out, file.Bucket(nil), error(nil)
	if strings.Contains(dir, "://") {
		dir = ""
		if b, err = sources.OpenBucket(ctx, c.out); err != nil {
			return nil, err
		}
	}
	switch c.as {
	case "jsonl":
		return ipc.Sink{Path: c.out, Done: done}, nil
	case "arrow":
		return ipc.Sink{Dir: dir, Bucket: b, Compression: c.packed, PartBytes: int64(c.partMB) << 20, Done: done}, nil
	}
	return sink.Sink{Dir: dir, Bucket: b, Compression: c.packed, PartBytes: int64(c.partMB) << 20, Done: done}, nil
}

// keepMembers keeps the members of some rows for the report.
func (r *exported) keepMembers(_ context.Context, rec arrow.Record) error {
	members, width, err := record.FixedValues[int32](rec, record.Members)
	if err != nil {
		return err
	}
	for row := 0; row < int(rec.NumRows()) && len(r.first) < 5; row++ {
		field := members[row*width:][:min(width, 12)]
		r.first = append(r.first, strings.Trim(fmt.Sprint(field), "[]"))
	}
	return nil
}

// writeEdges writes one graph as a text file with an edge per line. The lines of an rmat graph are written
// as they are drawn, with loops and repeats, and the graph is not built: large edge lists in practice have
// such lines.
func (c *exporting) writeEdges(ctx context.Context, file *cli.Stream, r *exported) (err error) {
	bar := cli.NewBytes("writing", 0)
	defer bar.Done()
	start, text := time.Now(), io.MultiWriter(file, bar)
	if c.data == "" && c.graph == "rmat" {
		scale, n := input.Scale(c.n)
		r.Edges, err = int64(n), drawn(ctx, text, scale, n, c.seed)
		if err == nil {
			err = file.Finish()
		}
	} else {
		var src flow.Source
		if src, err = c.source(ctx); err == nil {
			from, tally := &named{Source: src}, &tally{}
			err = flow.From(from).Via(tally).To(published{edgelist.Sink{Writer: text}, file.Finish}).Run(ctx)
			r.take(nil, tally, from)
		}
	}
	r.Seconds = time.Since(start).Seconds() - r.ReadSeconds
	return err
}

// drawn writes the lines of an rmat graph.
func drawn(ctx context.Context, text io.Writer, scale, n int, seed uint64) error {
	var b []byte
	for u, v := range generate.RMATLines(scale, n, seed) {
		b = append(strconv.AppendInt(b, int64(u), 10), ' ')
		b = append(strconv.AppendInt(b, int64(v), 10), '\n')
		if len(b) < 1<<16 {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err := text.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	_, err := text.Write(b)
	return err
}
