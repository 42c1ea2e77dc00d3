package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	neturl "net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/message"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Format is a kind of file, folder or URL that [Open], [OpenTable] and [ReadNodes] know. A package
// registers its formats when it is linked:
//
//	import _ "github.com/sanflow/sanflow/sources/parquet"
//
// A format has at least one of Graphs, Nodes, Table, Topic, Sink and Bucket.
type Format struct {
	// Name is what Options.Format selects the format by.
	Name string
	// Endings are those of the names of its files, such as ".g6", in lower case and without the
	// ending of a compression; "/" is a directory of which no format is known by Is.
	Endings []string
	// Schemes are those of the URLs that Graphs, Table, Topic, Sink and Bucket take, such as "nats".
	Schemes []string
	// Is, if set, tells the format of what is at a path by its content, or by the options. It is asked
	// before the endings of all formats.
	Is func(path string, o Options) bool
	// Graphs returns the source of a stream of graphs.
	Graphs func(ctx context.Context, path string, o Options) (flow.Source, error)
	// Nodes reads one graph whose nodes or links are learned.
	Nodes func(ctx context.Context, path string, o Options) (*NodeSet, error)
	// Table returns the table of a file.
	Table func(path string, o Options) (Table, error)
	// Topic returns the topic of a URL, for messages that are no records of graphs, such as events.
	Topic func(ctx context.Context, url string) (message.Topic, error)
	// Sink returns the sink of a URL.
	Sink func(ctx context.Context, url string) (flow.Sink, error)
	// Bucket opens the bucket of the files in the folder of a URL, such as s3://company/fields/?region=eu.
	Bucket func(ctx context.Context, url string) (file.Bucket, error)
	// Find, if set, returns the path of a collection of that name, for instance after a download.
	// It is asked for names that are no path and have no ending of a format.
	Find func(ctx context.Context, name string, o Options) (string, error)
}

// Options are the settings of a source that its name does not tell. A format reads those that its
// source has; the zero value is that of the source.
type Options struct {
	Format string    // Format.Name; "" = by file name
	Reader io.Reader // replaces the file, whose name then only appears in errors

	Directed, Weights bool // of edge lists, edge tables and TU collections
	Workers           int
	Comma             byte // separator of CSV

	// Of molecules and node-link JSON. ID and SMILES are columns or data items, Class is a key of node-link JSON.
	Class, ID, SMILES string
	Targets           []record.TargetChannel // of molecules, with the allowed classes; nil = all that occur
	Numbers           bool                   // Targets are numbers
	Ignore            []string               // keys that are not attributes
	Missing           []string               // texts for a missing value, as in Tables
	Layout            *record.Layout         // layout of node-link JSON, from a model
	Parts             []Subset               // subset of each molecule
	Refused           func(row int64, err error)
	Skip              func(row int64, class string) // called for graphs dropped because of their class

	// Note gets lines about the data: repeated rows, what is left out.
	Note func(line string)
	// Progress is called with the number of bytes or rows that were read, and all there are; -1 if
	// that is unknown.
	Progress func(what string, read, of int64)
}

// Bar is Progress of one kind, for a source that does not name what it reads.
func (o Options) Bar(what string) func(read, of int64) {
	if o.Progress == nil {
		return nil
	}
	return func(read, of int64) {
		if o.Progress(what, read, of); read == of {
			o.Progress("", 0, 0)
		}
	}
}

// Named is a source of graphs that have ids in their file.
type Named interface {
	flow.Source
	// Names returns the ids, in the order of the graphs.
	Names(ctx context.Context) (graph.IDs, error)
}

var (
	registerMu sync.RWMutex
	registered []Format
)

// Register makes a format known to Open, OpenTable and ReadNodes. It is for the init function of a
// package. It panics if the name or a scheme is taken.
func Register(f Format) {
	registerMu.Lock()
	defer registerMu.Unlock()
	for _, other := range registered {
		same := slices.ContainsFunc(f.Schemes, func(s string) bool { return slices.Contains(other.Schemes, s) })
		if other.Name == f.Name || same {
			panic(fmt.Sprintf("sources: the format %s or its scheme is registered twice", f.Name))
		}
	}
	registered = append(registered, f)
}

// Formats returns the registered formats, in the order of their names.
func Formats() []Format {
	registerMu.RLock()
	defer registerMu.RUnlock()
	all := slices.Clone(registered)
	slices.SortFunc(all, func(a, b Format) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// packages maps file extensions to the package that reads them.
var packages = map[string]string{
	".parquet": "parquet", ".g6": "graph6", ".d6": "graph6", ".graph6": "graph6", ".digraph6": "graph6", ".dot": "dot", ".gv": "dot",
	".json": "nodelink", ".jsonl": "nodelink", ".ndjson": "nodelink", ".zip": "tu", "/": "tu",
	".sdf": "molecules", ".sd": "molecules", ".mol": "molecules", ".smi": "molecules", ".smiles": "molecules", ".cxsmiles": "molecules",
}

// networkx maps extensions of unsupported formats to the NetworkX function that reads them.
var networkx = map[string]string{
	".graphml": "read_graphml", ".gexf": "read_gexf", ".net": "read_pajek", ".paj": "read_pajek", ".gml": "read_gml",
}

// Ending returns the ending of a name, in lower case, without that of a compression: ".edges" of
// power.edges.gz.
func Ending(name string) string {
	name = strings.ToLower(name)
	return filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst"))
}

// ErrUnknown is the error of a name whose format no linked package reads.
var ErrUnknown = errors.New("the format is not known by the name")

// unknownError is an ErrUnknown with advice.
type unknownError string

func (e unknownError) Error() string        { return string(e) }
func (e unknownError) Is(target error) bool { return target == ErrUnknown }

func unknown(format string, args ...any) error { return unknownError(fmt.Sprintf(format, args...)) }

// FormatOf returns the name of the format that Open reads a file, a folder or a URL in, or "" if none is
// known: the name may be that of a collection.
func FormatOf(name string, o Options) string {
	f, _ := known(Place(name, folders...), o, func(f Format) bool { return f.Graphs != nil })
	return f.Name
}

// Open returns the source of the graphs in a file, a folder, or a collection of that name, or at a
// URL, and the empty name stands for [Families]. It does not read the graphs.
//
//	.edges .edgelist .txt        EdgeList
//	.csv .tsv                    EdgeList; with Options.SMILES package molecules
//	.g6 .d6 .graph6 .digraph6    package graph6
//	.dot .gv                     package dot
//	.json .jsonl .ndjson         package nodelink
//	.sdf .sd .mol                package molecules
//	.smi .smiles .cxsmiles       package molecules
//	.arrow .arrows .feather .ipc Mapped or IPC, and a directory of such files with a manifest
//	.parquet                     package parquet: records, or a table of edges
//	.zip, a directory            Nodes where it has labels.txt, else package tu
//
// A URL of a bucket (Format.Bucket), such as s3://company/graphs/power.edges.gz, names a file or a folder, which is
// copied once a process, see [RemoveCopies]; other URLs are those of Format.Schemes.
// Files may be packed by gzip or zstd, with another .gz or .zst. A name that is no path is looked
// up in the folders tu, nodes, graphs and mol of $SANFLOW_DATA, then by the formats with Find.
func Open(ctx context.Context, name string, o Options) (flow.Source, error) {
	if name == "" {
		return Families{}, nil
	}
	f, path, err := find(ctx, name, o, graphs, func(f Format) bool { return f.Graphs != nil })
	if err != nil {
		return nil, err
	}
	return f.Graphs(ctx, path, o)
}

// Locate returns the path of the file or folder that Open opens, for instance that of a download.
func Locate(ctx context.Context, name string, o Options) (string, error) {
	_, path, err := find(ctx, name, o, graphs, func(f Format) bool { return f.Graphs != nil })
	return path, err
}

// OpenTable returns the table in a file or at a URL, by the ending of its name. It does not read the table.
func OpenTable(ctx context.Context, name string, o Options) (Table, error) {
	f, path, err := find(ctx, name, o, tables, func(f Format) bool { return f.Table != nil })
	if err != nil {
		return nil, err
	}
	return f.Table(path, o)
}

// ReadNodes reads the graph whose nodes or links are learned: of [Nodes], package nodelink or EdgeList.
func ReadNodes(ctx context.Context, name string, o Options) (*NodeSet, error) {
	f, path, err := find(ctx, name, o, "one graph", func(f Format) bool { return f.Nodes != nil })
	if err != nil {
		return nil, err
	}
	return f.Nodes(ctx, path, o)
}

// Place returns the path that a name stands for: the name itself where something is there, else the file
// of that name in a folder of $SANFLOW_DATA, with its ending or without, else the name itself.
func Place(name string, folders ...string) string {
	data := os.Getenv("SANFLOW_DATA")
	if _, err := os.Stat(name); err == nil || data == "" || !filepath.IsLocal(name) {
		return name
	}
	for _, folder := range folders {
		for _, end := range []string{"", ".zip", ".edges.gz"} {
			path := filepath.Join(data, folder, name+end)
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	return name
}

// Descriptions in errors of what a caller wants to read.
const (
	graphs = "graphs"
	tables = "tables"
)

// folders are searched within $SANFLOW_DATA.
var folders = []string{"tu", "nodes", "graphs", "mol"}

// find resolves a name to a path and a format that has the wanted function.
func find(ctx context.Context, name string, o Options, what string, can func(Format) bool) (Format, string, error) {
	path, all := name, Formats()
	scheme, _, url := strings.Cut(name, "://")
	if !url {
		path = Place(name, folders...)
	}
	if InBucket(path) {
		at, err := ofProcess.fetch(ctx, path)
		if err != nil {
			return Format{}, "", err
		}
		return find(ctx, at, o, what, can)
	}
	if f, ok := known(path, o, can); ok {
		return f, path, nil
	}
	info, err := os.Stat(path)
	ending := Ending(path)
	if err == nil && info.IsDir() {
		ending = "/"
	}
	switch {
	case url:
		return Format{}, "", unknown("%s: no linked package reads URLs %s://", name, scheme)
	case o.Format != "":
		return Format{}, "", unknown("%s: no linked package reads %s in the format %s, want %s", name, what, o.Format, names(all, can))
	case networkx[ending] != "" && what != tables:
		return Format{}, "", unknown("%s: files %s are not read; write node-link JSON: python3 -c 'import json, networkx as n; print(json.dumps(n.node_link_data(n.%s(%q))))' > g.jsonl", name, ending, networkx[ending], filepath.Base(path))
	case packages[ending] != "" && (what == graphs || packages[ending] != "tu"):
		return Format{}, "", unknown("%s: import _ \"github.com/sanflow/sanflow/sources/%s\" to read files %s", name, packages[ending], ending)
	case err == nil || what != graphs && ending != "":
		return Format{}, "", unknown("%s: want a name that ends in %s", name, strings.Join(endings(all, can), ", "))
	case what != graphs:
		return Format{}, "", reading.InFile(name, err)
	}
	for _, f := range all {
		if f.Find == nil {
			continue
		}
		if path, err = f.Find(ctx, name, o); err != nil {
			return Format{}, "", err
		}
		return find(ctx, path, o, what, can)
	}
	return Format{}, "", fmt.Errorf("sources: %s: %w; import _ \"github.com/sanflow/sanflow/sources/download\" to find a collection by its name", name, fs.ErrNotExist)
}

// known returns the format of a path. A scheme, Options.Format or Format.Is decides first, then the
// extension. Of two formats with the extension, one without Is wins.
func known(path string, o Options, can func(Format) bool) (of Format, ok bool) {
	scheme, _, url := strings.Cut(path, "://")
	if InBucket(path) { // the extension in a bucket is that of the URL path
		if u, err := neturl.Parse(path); err == nil {
			path, url = u.Path, false
		}
	}
	ending := Ending(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		ending = "/"
	}
	for _, f := range Formats() {
		switch {
		case !can(f):
		case url && slices.Contains(f.Schemes, scheme), o.Format == f.Name, !url && o.Format == "" && f.Is != nil && f.Is(path, o):
			return f, true
		case !url && o.Format == "" && slices.Contains(f.Endings, ending) && (!ok || of.Is != nil):
			of, ok = f, true
		}
	}
	return of, ok
}

// names lists the formats with the wanted function.
func names(all []Format, can func(Format) bool) string {
	var names []string
	for _, f := range all {
		if can(f) {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

// endings lists the extensions of the formats with the wanted function.
func endings(all []Format, can func(Format) bool) (endings []string) {
	for _, f := range all {
		if can(f) {
			endings = append(endings, slices.DeleteFunc(slices.Clone(f.Endings), func(e string) bool { return e == "/" })...)
		}
	}
	slices.Sort(endings)
	return slices.Compact(endings)
}
