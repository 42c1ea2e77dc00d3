package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/part"
	"github.com/sanflow/sanflow/flow/record/mapped"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks/collect"
	"github.com/sanflow/sanflow/sinks/ipc"
	sink "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
)

// dividing is the flags -parts, -shard and -verify.
type dividing struct {
	parts  int
	shard  part.Shard
	verify bool
}

// setShard parses i/n.
func (d *dividing) setShard(text string) error {
	if n, err := fmt.Sscanf(text+"\n", "%d/%d\n", &d.shard.I, &d.shard.N); err != nil || n != 2 || d.shard.N < 1 || d.shard.I < 0 || d.shard.I >= d.shard.N {
		return errors.New("want i/n, with i from 0 to n-1")
	}
	return nil
}

func (c *exporting) checkParts() error {
	switch {
	case c.verify && c.out == "":
		return errors.New("-verify wants -out DIR")
	case c.parts == 0 && c.shard.N > 0:
		return errors.New("-shard is set, -parts is not")
	case c.parts > 0 && (c.out == "" || c.lines() || c.as == "edges" || c.graphs):
		return errors.New("-parts writes files of fields: want -out DIR and -as parquet or arrow, and no -graphs")
	case c.parts > 0 && c.graph == "-":
		return errors.New("-parts reads the graph once for each part, and -graph is -: name a file")
	}
	return nil
}

var errNoPlan = errors.New("has no plan: it was not written with -parts")

// verifyParts compares the parts of a directory or a bucket with their plan.
func verifyParts(ctx context.Context, to io.Writer, place string) error {
	out, err := sources.OpenBucket(ctx, place)
	if err != nil {
		return err
	}
	plan, missing, err := part.Verify(ctx, out)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s %w", place, errNoPlan)
	}
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: %d of %d parts are missing or damaged: %s", place, len(missing), len(plan.Parts), strings.Trim(fmt.Sprint(missing), "[]"))
	}
	m, err := manifest.ReadBucket(ctx, out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %d parts, all whole, and %s is missing: run the export once more, which writes it", place, len(plan.Parts), manifest.Name)
	case err == nil && len(m.Files) != len(plan.Parts):
		err = fmt.Errorf("%s: %s names %d files, and there are %d parts", place, manifest.Name, len(m.Files), len(plan.Parts))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "%s: %d parts, all whole\n", place, len(plan.Parts))
	return err
}

// writeParts makes the parts of a shard, and the manifest if all parts exist.
func (c *exporting) writeParts(ctx context.Context, r *exported) error {
	begin := time.Now()
	c.release = func() {}
	defer func() { c.release() }()
	job, err := c.partJob(ctx, r)
	for c.graphsGone(err) {
		c.release()
		job, err = c.partJob(ctx, r)
	}
	if err != nil {
		return err
	}
	r.ReadSeconds, begin = time.Since(begin).Seconds(), time.Now()
	var mu sync.Mutex
	counted := flow.Observe(ctx, func(o flow.Observed) func(error) {
		return func(error) {
			mu.Lock()
			defer mu.Unlock()
			r.add(notesOf(o.Stats().Stages))
		}
	})
	all := len(job.Plan.Parts)
	mine := (all - c.shard.I + max(c.shard.N, 1) - 1) / max(c.shard.N, 1)
	bar := cli.NewProgress("parts", int64(mine))
	seen := int64(0)
	for {
		seen, r.Parts, r.Rows, r.Bytes = 0, 0, 0, 0
		err = job.Run(counted, c.shard, func(_ int, f manifest.File, made bool) {
			seen++
			bar.Set(seen)
			r.Parts++
			r.Rows += f.Rows
			r.Bytes += f.Bytes
			if made {
				r.Made++
			}
		})
		if !c.graphsGone(err) {
			break
		}
		if err = c.writeMapped(ctx); err != nil {
			break
		}
	}
	bar.Done()
	r.Seconds = time.Since(begin).Seconds()
	if err != nil {
		return err
	}
	absent, err := job.Absent(ctx)
	if err != nil {
		return err
	}
	if r.Left = len(absent); r.Left == 0 && c.mapped != "" {
		// All parts exist: no shard reads the mapped graphs again.
		if err := os.Remove(c.mapped); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// graphsGone reports whether err has the cause that another shard, which found all parts, has removed the
// mapped graphs.
func (c *exporting) graphsGone(err error) bool {
	if c.mapped == "" || !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err = os.Stat(c.mapped)
	return errors.Is(err, fs.ErrNotExist)
}

// partJob divides the fields into ranges of graphs, or of the chunks of roots of one graph.
func (c *exporting) partJob(ctx context.Context, r *exported) (*part.Job, error) {
	graphs, digest, err := c.mappedGraphs(ctx)
	if err != nil {
		return nil, err
	}
	tally := &tally{}
	if err := flow.From(graphs).Via(tally).Run(ctx); err != nil {
		return nil, err
	}
	r.Graphs, r.Nodes, r.Edges = tally.Graphs, tally.Nodes, tally.Edges
	if c.per == "graph" && c.roots.W == 0 {
		if c.selecting, err = c.roots.of(tally); err != nil {
			return nil, err
		}
	}
	r.W = c.selecting.W
	src, rows, chunked := flow.Source(graphs), tally.Graphs, c.per == "root" && tally.Graphs == 1
	if chunked {
		// The chunks share the mapped graph. All parts share the chunks, and the index of the graph, which
		// takes longer to build than the fields of a part.
		chunks := &collect.Sink{}
		if err := flow.From(graphs).Via(c.selecting).Via(operators.Chunk{Size: c.chunk}).To(chunks).Run(ctx); err != nil {
			return nil, err
		}
		if rows = chunks.Rows(); rows > 0 {
			src = flow.Records{Records: chunks.Records()}
		}
		c.indexed = &operators.Graphs{}
		c.release = func() { c.indexed.Close(); chunks.Release(); c.release = func() {} }
	}
	out, err := sources.OpenBucket(ctx, c.out)
	if err != nil {
		return nil, err
	}
	job := &part.Job{
		Plan: part.Plan{
			Recipe: fmt.Sprintf("fields k=%d bound=%d select=%s w=%d stride=%d per=%s normalize=%v scope=%s edges=%v as=%s compress=%s", c.k, c.bound, c.roots.By, c.selecting.W, c.selecting.Stride, c.per, c.normal, c.scope, c.edges, c.as, c.packed),
			Input:  digest, Ext: map[string]string{"parquet": ".parquet", "arrow": ".arrow"}[c.as], Parts: part.Cut(rows, c.parts),
		},
		Out: out,
		Pipeline: func(in part.Input) flow.Pipeline {
			p := flow.From(part.Rows{Source: src, Input: in})
			if !chunked {
				p = p.Via(c.selecting)
			}
			return c.fields(p, !chunked).With(flow.Options{Workers: c.workers})
		},
		Sink: func(w io.Writer) flow.Sink {
			if c.as == "arrow" {
				return ipc.Sink{W: w, Compression: c.packed}
			}
			return sink.Sink{W: w, Compression: c.packed}
		},
	}
	return job, nil
}

// mappedGraphs returns the graphs as a mapped file, and a digest of the input. A part then begins without
// reading the graphs before it. A file of -graphs -as arrow is used directly. Other inputs are written to
// a file beside the parts, or for a bucket in the cache directory of the user.
func (c *exporting) mappedGraphs(ctx context.Context) (flow.Source, string, error) {
	src, err := c.source(ctx)
	if err != nil {
		return nil, "", err
	}
	digest, err := c.digest(ctx)
	if err != nil {
		return nil, "", err
	}
	if m, ok := src.(sources.Mapped); ok {
		return m, digest, nil
	}
	dir := c.out
	if sources.InBucket(dir) {
		if dir, err = os.UserCacheDir(); err != nil {
			return nil, "", err
		}
		dir = filepath.Join(dir, "sanflow", "graphs")
	}
	c.mapped, c.written = filepath.Join(dir, fmt.Sprintf("_graphs-%.16s.arrow", digest)), src
	return sources.Mapped{Path: c.mapped}, digest, c.writeMapped(ctx)
}

// writeMapped writes the file of mapped graphs, or waits for another shard that writes it. A file that
// differs from its checksum is written again.
func (c *exporting) writeMapped(ctx context.Context) error {
	dir := filepath.Dir(c.mapped)
	for {
		switch err := wholeFile(ctx, c.mapped); {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(os.Stderr, "%s is damaged and is written again: %v\n", c.mapped, err)
			if err := os.Remove(c.mapped); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if _, err := file.MkdirAll(nil, dir); err != nil {
			return file.CannotWrite(dir, err)
		}
		err := flow.From(&named{Source: c.written}).To(ipc.Sink{Path: c.mapped}).Run(ctx)
		if !errors.Is(err, file.ErrHeld) {
			return err
		}
		select { // another shard writes the file
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// wholeFile compares a file of graphs with its checksum.
func wholeFile(ctx context.Context, path string) error {
	f, err := mapped.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if !f.HasSum() {
		return errors.New("it has no checksum")
	}
	return f.Verify(ctx)
}

// digest is a SHA-256 of the input files, and of the flags that decide how they are read.
func (c *exporting) digest(ctx context.Context) (string, error) {
	h := sha256.New()
	columns := c.tables
	columns.Edges, columns.Nodes = "", "" // the content of the files counts, not their paths
	fmt.Fprintf(h, "%q %q %v %v %v\n", c.format, columns, c.directed, c.weights, c.data != "")
	path := ""
	switch c.format {
	case "generated":
		fmt.Fprintf(h, "%s %d %d", c.graph, c.n, c.seed)
		return hex.EncodeToString(h.Sum(nil)), nil
	case "tables":
	default:
		var err error
		if path, err = sources.Locate(ctx, c.graph+c.data, sources.Options{Format: c.format}); err != nil {
			return "", err
		}
	}
	for _, root := range []string{path, c.tables.Edges, c.tables.Nodes} {
		if root == "" {
			continue
		}
		if sources.InBucket(root) {
			var err error
			if root, err = sources.Locate(ctx, root, sources.Options{}); err != nil {
				return "", err
			}
		}
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			fmt.Fprintf(h, "%q\n", e.Name())
			_, err = io.Copy(h, f)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
