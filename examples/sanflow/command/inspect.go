package command

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/flow/record/mapped"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
)

func inspect(ctx context.Context, args []string) error {
	f := cli.Flags("sanflow inspect", about("inspect")+"\n\n  sanflow inspect FILE …\n\nA FILE is a model, a checkpoint of a training, the directory FILE.train of a training that has\nnot ended, a graph or fields as .arrow or .parquet, or the directory of an export.")
	var files cli.List
	f.Var(&files, "model", "a `FILE`, as the other commands name a model; again for each other one")
	if err := cli.ParseArgs(f, args); err != nil {
		return err
	}
	if files = append(files, f.Args()...); len(files) == 0 {
		return cli.Usage(errors.New("want the files to inspect"))
	}
	var all error
	for _, path := range files { // an error of one file does not end the others
		all = errors.Join(all, describe(ctx, os.Stdout, strings.TrimPrefix(path, "file://")))
	}
	return all
}

// local refuses a URL for a file of this machine.
func local(what, path string) error {
	if strings.Contains(path, "://") {
		return cli.Usage(fmt.Errorf("%s reads a file of this machine, and a URL was given: copy the file first", what))
	}
	return nil
}

// describe prints the kind and the content of a file or a directory.
func describe(ctx context.Context, out io.Writer, path string) error {
	if err := local("inspect", path); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return describeDir(ctx, out, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 8)
	if _, err := io.ReadFull(f, head); err != nil {
		return fmt.Errorf("%s: neither a model, a graph, an export nor a checkpoint: %w", path, err)
	}
	switch {
	case bytes.HasPrefix(head, []byte("ARROW1")):
		return describeArrow(ctx, out, path)
	case bytes.HasPrefix(head, []byte("PAR1")):
		return describeParquet(ctx, out, path)
	}
	return describeModel(out, path)
}

// describeParquet prints the columns of graphs and fields with their shapes, or those of a table.
func describeParquet(ctx context.Context, out io.Writer, path string) error {
	table, err := parquet.Table{Path: path}.OpenTable(ctx)
	if err != nil {
		return err
	}
	defer table.Close()
	table.Choose(nil)
	rows := 0
	for {
		batch, err := table.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		rows += batch.Rows
	}
	if schema, err := flow.From(parquet.Source{Path: path}).Schema(ctx); err == nil {
		fmt.Fprintf(out, "%s: Parquet, records of graphs or fields, %d rows\n", path, rows)
		listColumns(out, schema)
		layout, err := record.LayoutOf(schema)
		if err == nil && schema.HasField(record.Offsets) {
			fmt.Fprintf(out, "  %s\n", describeLayout(layout))
		}
		if err == nil {
			listClasses(out, layout)
		}
		return nil
	}
	fmt.Fprintf(out, "%s: Parquet, a table, %d rows\n", path, rows)
	for _, c := range table.Columns() {
		fmt.Fprintf(out, "  %s: %s\n", cli.Printable(c.Name), c.Type)
	}
	return nil
}

// listClasses prints the classes of a layout.
func listClasses(out io.Writer, l record.Layout) {
	if len(l.Classes) > 0 {
		fmt.Fprintf(out, "  classes: %s\n", list(l.Classes))
	}
	if len(l.NodeClasses) > 0 {
		fmt.Fprintf(out, "  classes of nodes: %s\n", list(l.NodeClasses))
	}
}

// storedSum is the metadata with the checksum of a model file.
const storedSum = "sanflow.sha256"

// metaOf returns the metadata of a safetensors file of this library, which is a model or a checkpoint.
func metaOf(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var head int64 // length of the header
	var header struct {
		Meta map[string]string `json:"__metadata__"`
	}
	if binary.Read(f, binary.LittleEndian, &head) != nil || json.NewDecoder(io.LimitReader(f, head)).Decode(&header) != nil || header.Meta["sanflow.model"] == "" {
		return nil, fmt.Errorf("%s: neither a model, a graph, an export nor a checkpoint", path)
	}
	return header.Meta, nil
}

// describeModel prints a model or a checkpoint.
func describeModel(out io.Writer, path string) error {
	meta, err := metaOf(path)
	if err != nil {
		return err
	}
	sum, err := manifest.Sum(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	kind, isCheckpoint := strings.CutPrefix(meta["sanflow.model"], "checkpoint of ")
	what := "model"
	if isCheckpoint {
		what = "checkpoint of a training"
	}
	fmt.Fprintf(out, "%s: %s, %s, %d bytes\n", path, what, cli.Printable(kind), info.Size())
	if !isCheckpoint && meta["recipe"] != "" { // Load compares the checksum
		p, err := sinks.Load(path)
		if err != nil {
			return err
		}
		defer p.Close()
		what := "classes: " + list(p.Classes())
		if n := len(p.Targets()); n > 0 {
			what = fmt.Sprintf("%d targets", n)
		}
		fmt.Fprintf(out, "  the file is whole; %s\n  reads %s\n", what, describeLayout(p.Layout()))
		for _, t := range p.Targets() {
			fmt.Fprintf(out, "  target %q: classes: %s\n", t.Name, list(t.Classes))
		}
		for i, op := range p.Recipe()[1:] {
			fmt.Fprintf(out, "  step %d: %s\n", i+1, cli.Printable(strings.TrimSpace(flow.Name(op)+" "+clip(settingsOf(op)))))
		}
	}
	fmt.Fprintf(out, "  file_sha256: %s\n  stored_sha256: %s (of the file with zeros in its place)\n", sum, cli.Printable(meta[storedSum]))
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		short, text := strings.TrimPrefix(key, "sanflow."), plain(meta[key])
		if short == "known" {
			text = knownRows(meta[key])
		}
		if text != "" && !slices.Contains([]string{"recipe", "sanflow.model", "classes", storedSum}, key) {
			fmt.Fprintf(out, "  %s: %s\n", cli.Printable(short), cli.Printable(clip(text)))
		}
	}
	return nil
}

// knownRows is the number of ids of sinks.Known as text.
func knownRows(text string) string {
	var known struct{ IDs, Learned []byte } // Learned has a bit for each of IDs
	if json.Unmarshal([]byte(text), &known) != nil {
		return ""
	}
	rows := 8 * len(known.IDs) / sinks.KnownBits
	if known.Learned != nil {
		rows = 0
		for _, b := range known.Learned {
			rows += bits.OnesCount8(b)
		}
	}
	return fmt.Sprintf("%d rows, from which the model has learned or by which it was chosen", rows)
}

// plain returns a JSON object or list as names and values; the names of an inner object have its name before
// them, and the values of a list are numbered unless they are plain. Empty values are left out. Other text is
// unchanged.
func plain(text string) string {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return text
	}
	var value any
	read := json.NewDecoder(strings.NewReader(text))
	read.UseNumber()
	if read.Decode(&value) != nil {
		return text
	}
	var parts []string
	var list func(name string, v any)
	list = func(name string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				list(strings.TrimSpace(name+" "+key), v[key])
			}
		case []any:
			var words []string
			for i, one := range v {
				switch one.(type) {
				case map[string]any, []any:
					list(strings.TrimSpace(fmt.Sprint(name, " ", i+1)), one)
				default:
					words = append(words, fmt.Sprint(one))
				}
			}
			list(name, strings.Join(words, " "))
		case nil:
		default:
			if value := fmt.Sprint(v); value != "" {
				parts = append(parts, strings.TrimSpace(name+" "+value))
			}
		}
	}
	list("", value)
	return strings.Join(parts, ", ")
}

// clip shortens a long text.
func clip(s string) string {
	if len(s) > 200 {
		return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:200], ""), len(s))
	}
	return s
}

func list(names []string) string {
	if len(names) == 0 {
		return "none, numbers are learned"
	}
	return clip(strings.Join(cli.Printables(names), ", "))
}

// describeLayout is a layout of graphs in a line.
func describeLayout(l record.Layout) string {
	what := "undirected graphs"
	if l.Directed {
		what = "directed graphs"
	}
	for _, a := range l.Attributes() {
		for i, c := range a.Channels {
			if i == 0 {
				what += ", " + a.Column + ":"
			}
			if what += " " + cli.Printable(c.Name); c.Words != nil {
				what += fmt.Sprintf(" (%d words, and one value for unseen words)", len(c.Words))
			} else if c.Card > 0 {
				what += fmt.Sprintf(" (%d values)", c.Card)
			}
		}
	}
	return what
}

// describeArrow prints a mapped file, with the number of its graphs.
func describeArrow(ctx context.Context, out io.Writer, path string) error {
	f, err := mapped.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(out, "%s: Arrow, %d records, with a checksum: %v\n", path, f.Len(), f.HasSum())
	listColumns(out, f.Schema())
	if !f.Schema().HasField(record.Offsets) {
		return nil
	}
	all := new(tally)
	if err := flow.From(sources.Mapped{Path: path}).Via(all).Run(ctx); err != nil {
		return err
	}
	layout, err := record.LayoutOf(f.Schema())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "  %d %s; %d nodes, %d edges\n", all.Graphs, describeLayout(layout), all.Nodes, all.Edges)
	listClasses(out, layout)
	return nil
}

// listColumns prints the columns of a schema with their shapes.
func listColumns(out io.Writer, s *arrow.Schema) {
	for _, f := range s.Fields() {
		shape, _ := f.Metadata.GetValue(record.MetaShape)
		fmt.Fprintf(out, "  %s: %s %s\n", cli.Printable(f.Name), f.Type, cli.Printable(shape))
	}
}

// describeDir prints an export, or a training that has not ended.
func describeDir(ctx context.Context, out io.Writer, path string) error {
	m, err := manifest.Read(path)
	switch {
	case err == nil:
		fmt.Fprintf(out, "%s: export of %d rows in %d files, %d bytes\n", path, m.Rows, len(m.Files), m.Bytes)
		for _, f := range m.Files {
			if err := f.Verify(ctx, file.Dir{Path: path}); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintln(out, "  all files have their checksums")
		return err
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	if err := verifyParts(ctx, out, path); !errors.Is(err, errNoPlan) {
		return err
	}
	run, err := os.ReadFile(filepath.Join(path, "run.json"))
	if err != nil {
		return fmt.Errorf("%s: neither an export nor a checkpoint: it has no %s and no run.json", path, manifest.Name)
	}
	fmt.Fprintf(out, "%s: checkpoint of a run\n  %s\n", path, cli.Printable(clip(plain(string(run)))))
	files, err := filepath.Glob(filepath.Join(path, "*.json"))
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".json"); name != "run" {
			fmt.Fprintf(out, "  done: %s\n", name)
		}
	}
	return err
}

// settingsOf are the settings of an operator: names with values, and lists of numbers by how many there are.
func settingsOf(op flow.Operator) string {
	return inBraces.ReplaceAllStringFunc(flow.Settings(op), func(text string) string {
		return fmt.Sprintf("%d bounds", strings.Count(text, ",")+1)
	})
}

// inBraces matches a JSON object in the settings of an operator.
var inBraces = regexp.MustCompile(`\{[^{}]*\}`)
