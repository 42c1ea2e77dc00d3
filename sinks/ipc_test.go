package sinks_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
)

// files are the sinks that write files, to a place named by the field that is
// not empty.
var files = map[string]func(path, dir string, w io.Writer) flow.Sink{
	"arrow": func(path, dir string, w io.Writer) flow.Sink {
		return sinks.IPC{Path: path, Dir: dir, W: w, PartBytes: 2000}
	},
	"arrows": func(path, dir string, w io.Writer) flow.Sink {
		return sinks.IPC{Path: path, Dir: dir, W: w, PartBytes: 2000, Stream: true}
	},
	"parquet": func(path, dir string, w io.Writer) flow.Sink {
		return parquet.Sink{Path: path, Dir: dir, W: w, PartBytes: 500, RowGroupBytes: 1}
	},
}

// listing returns what a directory holds, hidden files too.
func listing(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestFiles(t *testing.T) {
	for name, open := range files {
		t.Run(name, func(t *testing.T) {
			flowtest.RunSink(t, func() (flow.Sink, func()) { return open(filepath.Join(t.TempDir(), "a"), "", nil), nil }, nil)
			flowtest.RunSink(t, func() (flow.Sink, func()) { return open("", filepath.Join(t.TempDir(), "a"), nil), nil }, nil)
			flowtest.RunSink(t, func() (flow.Sink, func()) { return open("", "", io.Discard), nil }, nil)
		})
	}
}

// run streams the sample, with an error at the end or none.
func run(sink flow.Sink, failing error) error {
	recs := flowtest.Sample(memory.DefaultAllocator)
	src := flow.Source(sources.Records{Records: recs})
	if failing != nil {
		src = broken{src, failing}
	}
	return flow.From(src).To(sink).Run(context.Background())
}

// broken is a source with an error instead of its end.
type broken struct {
	flow.Source
	err error
}

func (b broken) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	r, err := b.Source.Open(ctx, mem)
	return brokenReader{r, b.err}, err
}

type brokenReader struct {
	flow.Reader
	err error
}

func (b brokenReader) Next(ctx context.Context) (arrow.Record, error) {
	rec, err := b.Reader.Next(ctx)
	if err == io.EOF {
		err = b.err
	}
	return rec, err
}

// A directory has numbered parts and a manifest that fits them. The next run
// replaces them all, and one that fails leaves them alone.
func TestDirectory(t *testing.T) {
	for name, open := range files {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a")
			boom := errors.New("boom")
			if err := run(open("", dir, nil), boom); !errors.Is(err, boom) {
				t.Errorf("%v, want %v", err, boom)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("a run that failed left %v", listing(t, dir))
			}
			check := func(least int) {
				t.Helper()
				m, err := manifest.Read(dir)
				if err != nil {
					t.Fatal(err)
				}
				if m.Rows != 12 || len(m.Files) < least {
					t.Errorf("the manifest is %+v", m)
				}
				for _, f := range m.Files {
					if err := f.Verify(context.Background(), file.Dir{Path: dir}); err != nil {
						t.Error(err)
					}
				}
				if n := len(listing(t, dir)); n != len(m.Files)+1 {
					t.Errorf("there is %v", listing(t, dir))
				}
			}
			if err := run(open("", dir, nil), nil); err != nil {
				t.Fatal(err)
			}
			check(2)
			if err := run(open("", dir, nil), boom); !errors.Is(err, boom) {
				t.Errorf("%v, want %v", err, boom)
			}
			check(2)
			if err := run(sinks.IPC{Dir: dir}, nil); err != nil {
				t.Fatal(err)
			}
			check(1)
			stray := filepath.Join(dir, "part-00009.parquet")
			if err := os.WriteFile(stray, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := run(open("", dir, nil), nil); err == nil || !strings.Contains(err.Error(), "part-00009.parquet") {
				t.Errorf("%v, want one that names the stray part", err)
			}
		})
	}
}

// A file that cannot be completed is not there, and one that was there stays.
func TestNoHalfFile(t *testing.T) {
	boom := errors.New("boom")
	for name, open := range files {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a")
			if err := run(open(path, "", nil), boom); !errors.Is(err, boom) {
				t.Errorf("%v, want %v", err, boom)
			}
			if left := listing(t, dir); len(left) > 0 {
				t.Errorf("a run that failed left %v", left)
			}
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := run(open(path, "", nil), boom); !errors.Is(err, boom) {
				t.Errorf("%v, want %v", err, boom)
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
				t.Errorf("the old file is %q, %v", b, err)
			}
			full := errors.New("full")
			if err := run(open("", "", &limited{300, full}), nil); !errors.Is(err, full) {
				t.Errorf("%v, want %v", err, full)
			}
			if err := run(open("", "", &limited{2, full}), nil); !errors.Is(err, full) {
				t.Errorf("%v, want %v", err, full)
			}
		})
	}
}

// limited is a disk with so many bytes left.
type limited struct {
	left int
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if n < len(p) {
		return n, l.err
	}
	return n, nil
}

func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "bad")
	if err := os.MkdirAll(bad, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bad, manifest.Name), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sink flow.Sink
		want string
	}{
		{sinks.IPC{}, "0 of Path, Dir, Bucket and W are set, want one"},
		{sinks.IPC{Path: "a", Dir: "b"}, "2 of Path, Dir, Bucket and W"},
		{sinks.IPC{Path: "a", PartBytes: -1}, "PartBytes is -1"},
		{sinks.IPC{Path: "a", Compression: "gzip"}, `Compression is "gzip"`},
		{sinks.IPC{Path: filepath.Join(dir, "no", "a")}, "cannot write"},
		{sinks.IPC{Path: dir}, "no regular file"},
		{sinks.IPC{Path: "/dev/null"}, "no regular file"},
		{sinks.IPC{Dir: file}, "cannot write"},
		{sinks.IPC{Dir: bad}, "cannot be replaced"},
		{parquet.Sink{}, "0 of Path, Dir, Bucket and W are set, want one"},
		{parquet.Sink{Path: "a", RowGroupBytes: -1}, "RowGroupBytes is -1"},
		{parquet.Sink{Path: "a", Compression: "lz4"}, `Compression is "lz4"`},
		{parquet.Sink{Path: filepath.Join(dir, "no", "a")}, "cannot write"},
		{parquet.Sink{Dir: filepath.Join(file, "a")}, "cannot write"},
	} {
		if err := run(c.sink, nil); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v, want one with %q", c.sink, err, c.want)
		}
	}
	if left := listing(t, dir); len(left) != 3 {
		t.Errorf("there is %v", left)
	}
}
