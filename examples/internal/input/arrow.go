package input

import (
	"path/filepath"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/flow/record/mapped"
	"github.com/sanflow/sanflow/sources"
)

// Arrow returns the source of an .arrow file, or of the directory of an export. A
// single file of graphs that sanflow has written is mapped: it is there at once,
// however large, and is not compared with its checksum. Others are read and checked.
func Arrow(path string) flow.Source {
	file := path
	if p := parts(path); len(p) == 1 {
		file = filepath.Join(path, p[0])
	}
	if f, err := mapped.Open(file); err == nil {
		defer f.Close()
		if f.HasSum() && f.Schema().HasField(record.Offsets) && f.Len() > 0 {
			if rec, err := f.Record(0); err == nil { // not compressed
				rec.Release()
				return sources.Mapped{Path: file}
			}
		}
	}
	return sources.IPC{Path: path}
}

// parts are the files of an export as Arrow.
func parts(dir string) (names []string) {
	m, err := manifest.Read(dir)
	if err != nil {
		return nil
	}
	for _, f := range m.Files {
		if filepath.Ext(f.Name) == ".arrow" {
			names = append(names, f.Name)
		}
	}
	return names
}

// edges shows how far an edge list is read.
func edges(s sources.EdgeList) sources.EdgeList {
	s.Progress = progress(func(size int64) *cli.Progress { return cli.NewBytes("reading", size) })
	return s
}

// Bar shows how much of something was read.
func Bar(what string) func(read, of int64) {
	return progress(func(of int64) *cli.Progress { return cli.NewProgress(what, of) })
}

func progress(begin func(of int64) *cli.Progress) func(read, of int64) {
	var bar *cli.Progress
	return func(read, of int64) {
		if bar == nil {
			bar = begin(of)
		}
		if bar.Set(read); read == of {
			bar.Done()
		}
	}
}
