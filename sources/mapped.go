package sources

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/flow/record/mapped"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Mapped streams records of graphs, or of fields, out of an Arrow IPC file that is mapped into
// memory: a graph of millions of edges is there in less than a millisecond, no part of it is read
// before it is used, and the pages of the file are the memory of all programs that use it. The file
// is one that sinks.IPC has written without compression; [IPC] reads other files, and checks every
// value. Package mapped documents the supported columns and the effect of changes to a mapped file.
//
// A large graph is converted once:
//
//	flow.From(sources.EdgeList{Path: "web.edges.gz"}).To(sinks.IPC{Path: "web.arrow"})
//	flow.From(sources.Mapped{Path: "web.arrow"}).
//		Via(operators.Select{}).Via(operators.Chunk{}). …
//
// A resumed training begins at the row of its checkpoint (flow.Seeker) and reads no page before it.
// For one large graph, [Chunks] begins at a chunk. The file may have been copied meanwhile: it is
// known by its checksum, and one that has none by its size alone.
type Mapped struct {
	// Path is the file.
	Path string
	// Check compares the file with its checksum, if it has one, as those of
	// sinks.IPC do, and looks at every node, edge and attribute of each graph
	// before it is handed out, O(n + m log m), for files of unknown origin. Fields
	// are compared only, and must have a checksum. Without Check the lengths of
	// columns are checked alone, and a damaged graph ends the run with the panic of
	// the stage that stumbles over it, or gives wrong fields.
	Check bool

	beside *beside // nil: the manifest is not looked for
}

// beside is the comparison of a file with the manifest beside it, which all that open the file share.
type beside struct {
	mu   sync.Mutex
	done bool
}

func (b *beside) compare(ctx context.Context, path string) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return nil
	}
	f, _, ok, err := manifest.Of(path)
	if ok {
		err = f.Verify(ctx, file.Dir{Path: filepath.Dir(path)})
	}
	b.done = err == nil
	return err
}

// String names the file, for the plan of a pipeline.
func (s Mapped) String() string { return fmt.Sprintf("Mapped(%s)", s.Path) }

// Open maps the file and checks its schema.
func (s Mapped) Open(ctx context.Context, _ memory.Allocator) (flow.Reader, error) {
	if err := s.beside.compare(ctx, s.Path); err != nil {
		return nil, fmt.Errorf("sources: Mapped: %w", err)
	}
	f, err := mapped.Open(s.Path)
	if err != nil {
		return nil, fmt.Errorf("sources: Mapped: %w", err)
	}
	r := &mappedReader{Mapped: s, file: f, graphs: f.Schema().HasField(record.Offsets)}
	switch {
	case r.graphs:
		_, err = record.LayoutOf(f.Schema())
	case s.Check && !f.HasSum():
		err = fmt.Errorf("Check reads graphs and checksums, and there is no column %q and no checksum", record.Offsets)
	}
	if err == nil && s.Check {
		if err := f.Verify(ctx); err != nil {
			f.Close()
			return nil, fmt.Errorf("sources: Mapped: %w", err)
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("sources: Mapped: %s: %w", s.Path, err)
	}
	return r, nil
}

type mappedReader struct {
	Mapped
	file   *mapped.File
	graphs bool // are in the records
	next   int
	skip   int64 // rows of the next record that are passed over
	trail  trail
	closed bool
}

var _ flow.Seeker = (*mappedReader)(nil)

func (r *mappedReader) Schema() *arrow.Schema { return r.file.Schema() }

func (r *mappedReader) Next(ctx context.Context) (arrow.Record, error) {
	for {
		switch {
		case r.closed:
			return nil, reading.ErrClosed
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case r.next == r.file.Len():
			return nil, io.EOF
		}
		rec, err := r.file.Record(r.next)
		if err == nil {
			if err = r.check(ctx, rec); err != nil {
				rec.Release()
			}
		}
		if err != nil {
			if ctx.Err() == nil {
				err = fmt.Errorf("sources: Mapped: %s: record %d: %w", r.Path, r.next, err)
			}
			return nil, err
		}
		at := spot{int64(r.next), r.skip}
		r.next++
		if rec = behind(rec, &r.skip); rec != nil {
			r.trail.hand(at, rec.NumRows())
			return rec, nil
		}
	}
}

// Begin begins at a place, which may be of a copy of the file.
func (r *mappedReader) Begin(place string) error {
	var at placed
	if err := readPlace(place, &at); err != nil || at.Record < 0 || at.Record > int64(r.file.Len()) || at.Row < 0 {
		return fmt.Errorf("sources: Mapped: %s: the place cannot be read", r.Path)
	}
	if is := r.file.Identity(); at.Of != is {
		return fmt.Errorf("sources: Mapped: %s: the place is of another file: %s, and this is %s", r.Path, at.Of, is)
	}
	r.next, r.skip = int(at.Record), at.Row
	r.trail.begin(at.spot)
	return nil
}

// Place returns the place behind so many rows of this run.
func (r *mappedReader) Place(rows int64) (string, error) {
	return placed{r.file.Identity(), r.trail.find(rows)}.text()
}

// Keep has nothing to delete.
func (r *mappedReader) Keep(string) {}

func (r *mappedReader) check(ctx context.Context, rec arrow.Record) error {
	if !r.graphs {
		return nil
	}
	gs, err := record.GraphsOf(rec)
	if err != nil || !r.Check {
		return err
	}
	class := make([]int32, gs.Len())
	if len(gs.Layout.Classes) > 0 {
		if class, err = record.Values[int32](rec, record.Target); err != nil {
			return err
		}
	}
	for row := range gs.Len() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r := gs.Row(row)
		item := Item{Graph: &graph.Graph{}, Class: class[row], NodeClass: r.NodeClass, NodeID: r.NodeID}
		gs.At(row, item.Graph)
		if err := item.check(ctx, &gs.Layout); err != nil {
			return fmt.Errorf("graph %d: %w", gs.ID(row), err)
		}
	}
	return nil
}

func (r *mappedReader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("sources: Mapped: %s: %w", r.Path, err)
	}
	return nil
}
