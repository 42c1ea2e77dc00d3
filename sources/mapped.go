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
// Only the lengths of columns are checked: a damaged graph ends the run with the panic of the stage
// that uses it, or gives wrong fields. [IPC] is for files of unknown origin.
type Mapped struct {
	// Path is the file.
	Path string

	beside *beside // nil = no manifest check
}

// beside verifies a file against an adjacent manifest once for all readers.
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
	if r.graphs {
		if _, err = record.LayoutOf(f.Schema()); err != nil {
			f.Close()
			return nil, fmt.Errorf("sources: Mapped: %s: %w", s.Path, err)
		}
	}
	return r, nil
}

type mappedReader struct {
	Mapped
	file   *mapped.File
	graphs bool // records contain graphs
	next   int
	closed bool
}

func (r *mappedReader) Schema() *arrow.Schema { return r.file.Schema() }

func (r *mappedReader) Next(ctx context.Context) (arrow.Record, error) {
	switch {
	case r.closed:
		return nil, reading.ErrClosed
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case r.next == r.file.Len():
		return nil, io.EOF
	}
	rec, err := r.file.Record(r.next)
	if err == nil && r.graphs {
		if _, err = record.GraphsOf(rec); err != nil {
			rec.Release()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sources: Mapped: %s: record %d: %w", r.Path, r.next, err)
	}
	r.next++
	return rec, nil
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
