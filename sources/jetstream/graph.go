package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/flow/record/mapped"
	"github.com/sanflow/sanflow/internal/jet"
)

// Attach gives rows of roots the columns of the graph that they are roots of,
// which messages do not carry: sinks/jetstream, with its setting Graph, sends the
// roots, and keeps the SHA-256 of the graph's file with the stream. The file is mapped:
// all pipelines of a machine share its pages, and rows share it without a copy.
//
//	flow.From(jetstream.Source{Stream: "graphs", Durable: "fields"}).
//		Via(jetstream.Attach{Dir: "graphs"}).
//		Via(operators.Normalize{K: 10}). …
type Attach struct {
	Connection
	// Dir has the file, as SHA256.arrow. If it has not, the file is fetched from
	// the object store Bucket, verified, and appears as a whole; of several
	// processes one fetches it.
	Dir string
	// Bucket is the object store. The default is graphs.
	Bucket string
}

var _ flow.Operator = Attach{}

// String is for the plan of a pipeline.
func (a Attach) String() string { return "Attach(" + a.Dir + ")" }

// Open finds the file, which may take as long as it takes to fetch it.
func (a Attach) Open(in *arrow.Schema) (flow.Stage, error) {
	m := in.Metadata()
	at := m.FindKey(jet.MetaGraph)
	switch {
	case at < 0:
		return nil, errors.New("the stream does not say which graph its roots are of: set Graph of the sink that makes it")
	case len(m.Values()[at]) != 64 || filepath.Base(m.Values()[at]) != m.Values()[at]:
		return nil, errors.New("the SHA-256 of the graph cannot be read")
	case a.Dir == "":
		return nil, errors.New("the field Dir is not set")
	}
	if a.Bucket == "" {
		a.Bucket = jet.GraphBucket
	}
	path, err := a.find(m.Values()[at])
	if err != nil {
		return nil, err
	}
	f, err := mapped.Open(path)
	if err != nil {
		return nil, err
	}
	s := &attacher{file: f, graphs: map[int64]arrow.Record{}}
	if err := s.index(in); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), s.Close())
	}
	return s, nil
}

// find returns the path of the file.
func (a Attach) find(name string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), time.Hour)
	defer stop()
	client, err := jet.Connection(a.Connection).Dial(ctx, "graph")
	if err != nil {
		return "", err
	}
	defer client.Close()
	return client.GetFile(ctx, a.Bucket, name, a.Dir)
}

// attacher is a running Attach. Its graphs are rows of the mapped file.
type attacher struct {
	file   *mapped.File
	graphs map[int64]arrow.Record // by graph_id
	schema *arrow.Schema
	shared bool // it is a copy, which owns nothing
}

var (
	_ flow.Forker = (*attacher)(nil)
	_ io.Closer   = (*attacher)(nil)
)

// index finds the rows of the file, and the columns that they add.
func (s *attacher) index(in *arrow.Schema) error {
	fields := in.Fields()
	for _, f := range s.file.Schema().Fields() {
		if !in.HasField(f.Name) {
			fields = append(fields[:len(fields):len(fields)], f)
		}
	}
	m := in.Metadata()
	s.schema = arrow.NewSchema(fields, &m)
	if _, err := record.LayoutOf(s.schema); err != nil {
		return err
	}
	for i := range s.file.Len() {
		rec, err := s.file.Record(i)
		if err != nil {
			return err
		}
		ids, err := record.Values[int64](rec, record.GraphID)
		for row := 0; err == nil && row < len(ids); row++ {
			s.graphs[ids[row]] = rec.NewSlice(int64(row), int64(row)+1)
		}
		rec.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *attacher) Schema() *arrow.Schema { return s.schema }

func (s *attacher) Fork() flow.Stage {
	c := *s
	c.shared = true
	return &c
}

// Process emits a record for each row, which shares the graph.
func (s *attacher) Process(rec arrow.Record, out *flow.Out) error {
	ids, err := record.Values[int64](rec, record.GraphID)
	if err != nil {
		return err
	}
	roots, err := record.ListsOf[int32](rec, record.Roots)
	if err != nil {
		return err
	}
	for row, id := range ids {
		out.Row(row)
		g, ok := s.graphs[id]
		if !ok {
			return errors.New("there is no such graph in the file")
		}
		one := rec.NewSlice(int64(row), int64(row)+1)
		joined, err := s.join(one, g, roots.Row(row))
		one.Release()
		if err != nil {
			return err
		}
		if err := out.Emit(joined); err != nil {
			return err
		}
	}
	return nil
}

// join returns a row with the columns of its graph.
func (s *attacher) join(row, g arrow.Record, roots []int32) (arrow.Record, error) {
	gs, err := record.GraphsOf(g)
	if err != nil {
		return nil, err
	}
	n := int32(gs.Nodes(0))
	for _, v := range roots {
		if v < -1 || v >= n {
			return nil, fmt.Errorf("root %d of a graph of %d nodes", v, n)
		}
	}
	cols := make([]arrow.Array, s.schema.NumFields())
	for i, f := range s.schema.Fields() {
		from := row
		if !row.Schema().HasField(f.Name) {
			from = g
		}
		cols[i] = from.Column(from.Schema().FieldIndices(f.Name)[0])
	}
	return array.NewRecord(s.schema, cols, 1), nil
}

// Close gives up the file, when the last of its rows does.
func (s *attacher) Close() error {
	if s.shared {
		return nil
	}
	for _, g := range s.graphs {
		g.Release()
	}
	s.graphs = nil
	return s.file.Close()
}
