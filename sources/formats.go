package sources

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/flow/record/mapped"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

func init() {
	Register(Format{
		Name: "edges", Endings: []string{".edges", ".edgelist", ".txt", ".csv", ".tsv"},
		Graphs: func(_ context.Context, path string, o Options) (flow.Source, error) { return o.edgeList(path), nil },
		Nodes: func(ctx context.Context, path string, o Options) (*NodeSet, error) {
			set, err := o.edgeList(path).Read(ctx)
			if err != nil {
				return nil, err
			}
			for _, note := range set.Notes {
				if o.Note != nil {
					o.Note(note)
				}
			}
			return &NodeSet{Graph: set.Items[0].Graph, IDs: set.Items[0].NodeID}, nil
		},
	})
	Register(Format{
		Name: "nodes", Endings: []string{".zip", "/"}, Is: hasLabels,
		Graphs: func(_ context.Context, path string, _ Options) (flow.Source, error) { return Nodes{Path: path}, nil },
		Nodes: func(ctx context.Context, path string, _ Options) (*NodeSet, error) {
			return Nodes{Path: path}.Read(ctx)
		},
	})
	Register(Format{
		Name: "arrow", Endings: arrowEndings,
		Is:     func(path string, _ Options) bool { return Holds(path, arrowEndings...) },
		Graphs: func(_ context.Context, path string, _ Options) (flow.Source, error) { return arrowFile(path), nil },
	})
	Register(Format{
		Name: "csv", Endings: []string{".csv", ".tsv"},
		Table: func(path string, o Options) (Table, error) {
			return CSV{Path: path, Reader: o.Reader, Comma: o.Comma}, nil
		},
	})
	Register(Format{
		Name: "text", Endings: []string{".txt", ".edges", ".edgelist", ".mtx"},
		Table: func(path string, o Options) (Table, error) { return Text{Path: path, Reader: o.Reader}, nil },
	})
	Register(Format{
		Name: "jsonlines", Endings: []string{".jsonl", ".ndjson", ".json"},
		Table: func(path string, o Options) (Table, error) { return JSONLines{Path: path, Reader: o.Reader}, nil },
	})
}

func (o Options) edgeList(path string) EdgeList {
	return EdgeList{Path: path, Reader: o.Reader, Directed: o.Directed, Weights: o.Weights, Workers: o.Workers, Progress: o.Bar("reading")}
}

var arrowEndings = []string{".arrow", ".arrows", ".feather", ".ipc"}

// Holds reports whether a path is a directory of files with one of the endings: as its manifest says, or
// without one by their names.
func Holds(path string, endings ...string) bool {
	is := func(name string) bool { return slices.Contains(endings, filepath.Ext(name)) }
	if m, err := manifest.Read(path); err == nil && len(m.Files) > 0 {
		return is(m.Files[0].Name)
	}
	entries, _ := os.ReadDir(path) // an error gives no entries
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return is(e.Name()) })
}

// hasLabels reports whether a directory or zip contains labels.txt, there or in a folder of it, and so is read by Nodes.
func hasLabels(path string, _ Options) bool {
	f, err := reading.OpenPlace(path, nil, 0, nil)
	if err != nil {
		return false
	}
	defer f.Close()
	top, _ := fs.Glob(f.Fsys, "labels.txt")
	below, _ := fs.Glob(f.Fsys, "*/labels.txt")
	return len(top)+len(below) > 0
}

// arrowFile returns the source of an Arrow file or directory. A single uncompressed file of sinks.IPC with
// graphs is memory-mapped, so opening takes constant time. Mapped compares the checksum of an adjacent
// manifest once.
func arrowFile(path string) flow.Source {
	file := path
	if m, err := manifest.Read(path); err == nil && len(m.Files) == 1 {
		file = filepath.Join(path, m.Files[0].Name)
	}
	if f, err := mapped.Open(file); err == nil {
		defer f.Close()
		if f.HasSum() && f.Schema().HasField(record.Offsets) && f.Len() > 0 {
			if rec, err := f.Record(0); err == nil { // the file is not compressed
				rec.Release()
				return Mapped{Path: file, beside: new(beside)}
			}
		}
	}
	return IPC{Path: path}
}
