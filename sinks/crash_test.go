package sinks_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/internal/filetest"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	in "github.com/sanflow/sanflow/sources/parquet"
)

// formats are the files that are written, and how they are read. Each record of
// a directory is a part.
var formats = map[string]struct {
	sink   func(to sinks.IPC) flow.Sink // whose Path, Dir and FS count
	source func(path string) flow.Source
}{
	"arrow": {
		func(s sinks.IPC) flow.Sink { s.PartBytes = 1; return s },
		func(path string) flow.Source { return sources.IPC{Path: path} },
	},
	"parquet": {
		func(s sinks.IPC) flow.Sink {
			return parquet.Sink{Path: s.Path, Dir: s.Dir, FS: s.FS, PartBytes: 1, RowGroupBytes: 1}
		},
		func(path string) flow.Source { return in.Source{Path: path} },
	},
}

// read returns the rows of a file or a directory.
func read(src flow.Source) ([]string, error) {
	out := &sinks.Collect{}
	defer out.Release()
	if err := flow.From(src).To(out).Run(context.Background()); err != nil {
		return nil, err
	}
	return flowtest.Rows(out.Records()...), nil
}

func durableOf(w flow.Writer) int64 {
	n := w.(flow.DurableWriter).Durable()
	return n
}

// write runs a sink by hand. durable is called after each step.
func write(sink flow.Sink, recs []arrow.Record, durable func(records int64)) error {
	w, err := sink.Open(recs[0].Schema())
	if err != nil {
		return err
	}
	for _, rec := range recs {
		err = w.Write(context.Background(), rec)
		durable(durableOf(w))
		if err != nil {
			w.Close(err)
			durable(durableOf(w))
			return err
		}
	}
	err = w.Close(nil)
	durable(durableOf(w))
	return err
}

// rowsOf counts the rows of the first n records.
func rowsOf(recs []arrow.Record, n int64) (rows int) {
	for _, rec := range recs[:n] {
		rows += int(rec.NumRows())
	}
	return rows
}

// The sinks of files, failed and killed at each operation: afterwards there is
// the old, the new or a clear refusal; what was reported durable is there; and
// the next run writes the place, and leaves nothing of those before.
func TestCrash(t *testing.T) {
	all := flowtest.Sample(memory.DefaultAllocator)
	recs := slices.DeleteFunc(slices.Clone(all), func(r arrow.Record) bool { return r.NumRows() == 0 })
	was, now := recs[:2], recs[1:3]
	wasRows, nowRows, nextRows := flowtest.Rows(was...), flowtest.Rows(now...), flowtest.Rows(recs[0])
	for name, format := range formats {
		for _, c := range []struct {
			name     string
			old      bool
			to       sinks.IPC
			outcomes [][]string // nil: there is nothing
		}{
			{"file", false, sinks.IPC{Path: "a"}, [][]string{nil, nowRows}},
			{"file again", true, sinks.IPC{Path: "a"}, [][]string{wasRows, nowRows}},
			{"directory", false, sinks.IPC{Dir: "a"}, [][]string{nil, nowRows}},
			{"directory again", true, sinks.IPC{Dir: "a"}, [][]string{wasRows, nowRows}},
		} {
			if (name == "parquet" || race.Enabled) && c.name != "directory again" && os.Getenv("SANFLOW_LONG") == "" {
				continue // the places are the same
			}
			if name == "parquet" && race.Enabled {
				continue // and nothing of it runs beside anything
			}
			t.Run(name+" "+c.name, func(t *testing.T) {
				in := func(dir string, fsys file.FS) sinks.IPC {
					to := c.to
					to.FS = fsys
					if to.Path != "" {
						to.Path = filepath.Join(dir, to.Path)
					} else {
						to.Dir = filepath.Join(dir, to.Dir)
					}
					return to
				}
				tried, more := 0, 0 // directories; those whose parts are not those of the manifest
				var marks [][2]int  // so many operations, and rows that are durable then
				filetest.Torture(t, func(dir string) {
					if c.old {
						if err := write(format.sink(in(dir, filetest.New(t, dir))), was, func(int64) {}); err != nil {
							t.Fatal(err)
						}
					}
				}, func(d *filetest.Disk, dir string) error {
					marks = nil
					return write(format.sink(in(dir, d)), now, func(n int64) { marks = append(marks, [2]int{d.Len(), rowsOf(now, n)}) })
				}, func(t *testing.T, o filetest.Outcome) {
					least := 0
					for _, m := range marks {
						if m[0] <= o.Ops {
							least = m[1]
						}
					}
					path := filepath.Join(o.Dir, "a")
					if c.to.Dir != "" {
						tried++
						if !checkParts(t, o.What, path) {
							more++
						}
					}
					rows, err := read(format.source(path))
					refused := err != nil && (errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "has not finished"))
					if !c.old && err != nil && strings.Contains(err.Error(), "there is no file *") {
						refused = true // a directory with nothing in it
					}
					i := slices.IndexFunc(c.outcomes, func(want []string) bool { return slices.Equal(rows, want) })
					if err != nil && (!refused || c.old) || i < 0 || o.Done && i != len(c.outcomes)-1 || len(rows) < least {
						t.Errorf("%s: %d rows of %d, at least %d: %v", o.What, len(rows), len(c.outcomes[len(c.outcomes)-1]), least, err)
					}
					next := in(o.Dir, filetest.New(t, o.Dir)) // which is quicker
					if err := write(format.sink(next), recs[:1], func(int64) {}); err != nil {
						t.Errorf("%s: the next run: %v; there is %v", o.What, err, listing(t, o.Dir))
					}
					if rows, err := read(format.source(path)); err != nil || !slices.Equal(rows, nextRows) {
						t.Errorf("%s: the next run wrote %d rows, %v", o.What, len(rows), err)
					}
					names := 1
					if c.to.Dir != "" {
						names = 3 // and a part and a manifest
					}
					if left := listing(t, o.Dir); len(left) != names {
						t.Errorf("%s: there is %v", o.What, left)
					}
				})
				t.Logf("of %d directories %d have parts that the manifest does not name", tried, more)
			})
		}
	}
}

// checkParts compares a directory with its manifest, and reports whether it has the
// parts that the manifest names and no others. All of these are there and whole at any
// moment; there are others only beside a file _unfinished.json.
func checkParts(t *testing.T, what, dir string) bool {
	t.Helper()
	m, err := manifest.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		m, err = &manifest.Manifest{}, nil
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return false
	}
	var named []string
	for _, f := range m.Files {
		if err := f.Verify(context.Background(), file.Dir{Path: dir}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		named = append(named, filepath.Join(dir, f.Name))
	}
	slices.Sort(named)
	parts, _ := filepath.Glob(filepath.Join(dir, "part-*"))
	hidden, _ := filepath.Glob(filepath.Join(dir, manifest.Unfinished))
	same := slices.Equal(parts, named)
	if !same && len(hidden) == 0 {
		t.Errorf("%s: there are the parts %v, the manifest names %v, and there is nothing unfinished", what, parts, named)
	}
	return same
}

// Only one run writes a place.
func TestRefusedPlaces(t *testing.T) {
	recs := flowtest.Sample(memory.DefaultAllocator)
	root := t.TempDir()
	for _, name := range []string{"run[1]", "a[1]", "data[", "*", "a?"} {
		dir := filepath.Join(root, name)
		if err := run(sinks.IPC{Dir: dir, PartBytes: 1}, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if rows, err := read(sources.IPC{Path: dir}); err != nil || !slices.Equal(rows, flowtest.Rows(recs...)) {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
		stray := filepath.Join(dir, "part-00900.arrow")
		if err := os.WriteFile(stray, []byte("a stranger's"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run(sinks.IPC{Dir: dir}, nil); err == nil || !strings.Contains(err.Error(), "part-00900.arrow, which no manifest names") {
			t.Errorf("%s: %v, want one that names the stray part", name, err)
		}
		if b, err := os.ReadFile(stray); string(b) != "a stranger's" {
			t.Errorf("%s: the stray part is %q, %v", name, b, err)
		}
	}
	dir := filepath.Join(root, "held")
	w, err := sinks.IPC{Dir: dir, PartBytes: 1}.Open(recs[0].Schema())
	if err != nil {
		t.Fatal(err)
	}
	for _, sink := range []flow.Sink{sinks.IPC{Dir: dir}, parquet.Sink{Dir: dir}} {
		if err := run(sink, nil); !errors.Is(err, file.ErrHeld) {
			t.Errorf("%v, want %v", err, file.ErrHeld)
		}
	}
	// A stranger takes a name while we write.
	stray := filepath.Join(dir, "part-00000.arrow")
	if err := os.WriteFile(stray, []byte("a stranger's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(context.Background(), recs[0]); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want %v", err, fs.ErrExist)
	}
	if err := w.Close(fs.ErrExist); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(stray); string(b) != "a stranger's" {
		t.Errorf("the stray part is %q, %v", b, err)
	}

	// A single file of another program beside the parts stays.
	dir = filepath.Join(root, "beside")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	report, err := file.Create(nil, filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := run(sinks.IPC{Dir: dir}, nil); err != nil {
		t.Error(err)
	}
	if err := report.Publish(); err != nil {
		t.Error(err)
	}
}
