package main

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/fieldjob"
	"github.com/sanflow/sanflow/flow/record"
)

// arrowFile writes an Arrow IPC file, a record batch per chunk.
type arrowFile struct {
	stream *cli.Stream
	w      *ipc.FileWriter
	schema *arrow.Schema
}

func (a *arrowFile) begin(k int, l record.Layout) (err error) {
	fields := []arrow.Field{
		{Name: "graph", Type: arrow.PrimitiveTypes.Int64},
		{Name: "root", Type: arrow.PrimitiveTypes.Int32},
		record.TensorField[int32](record.Members, []int{k}, nil),
		record.TensorField[int32](record.Dist, []int{k}, nil),
		record.TensorField[int32](record.Edges, []int{k, k}, nil),
	}
	if n := len(l.NodeCat); n > 0 {
		fields = append(fields, record.TensorField[int32](record.NodesCat, []int{k, n}, l.NodeCat))
	}
	if n := len(l.NodeAttr); n > 0 {
		fields = append(fields, record.TensorField[float32](record.Nodes, []int{k, n}, l.NodeAttr))
	}
	a.schema = arrow.NewSchema(fields, nil)
	a.w, err = ipc.NewFileWriter(a.stream, ipc.WithSchema(a.schema))
	return err
}

func (a *arrowFile) encode(*fieldjob.Chunk) error { return nil }

func (a *arrowFile) emit(c *fieldjob.Chunk) error {
	rows := len(c.Roots)
	name := c.Job.Name
	if name == nil {
		name = func(v int32) int32 { return v }
	}
	graphs := array.NewInt64Builder(memory.DefaultAllocator)
	defer graphs.Release()
	roots := array.NewInt32Builder(memory.DefaultAllocator)
	defer roots.Release()
	for _, v := range c.Roots {
		graphs.Append(c.Job.ID)
		roots.Append(name(v))
	}
	members := make([]int32, len(c.Members))
	for i, v := range c.Members {
		if members[i] = v; v >= 0 {
			members[i] = name(v)
		}
	}
	columns := []arrow.Array{graphs.NewArray(), roots.NewArray(), column(rows, members), column(rows, c.Dist), column(rows, c.Edges)}
	if len(c.NodeCats) > 0 {
		columns = append(columns, column(rows, c.NodeCats))
	}
	if len(c.NodeAttrs) > 0 {
		columns = append(columns, column(rows, c.NodeAttrs))
	}
	rec := array.NewRecord(a.schema, columns, int64(rows))
	defer rec.Release()
	for _, col := range columns {
		defer col.Release()
	}
	return a.w.Write(rec)
}

// column copies rows of equal length.
func column[T record.Value](rows int, x []T) arrow.Array {
	b := record.NewFixed[T](memory.DefaultAllocator, len(x)/rows)
	copy(b.Grow(rows), x)
	return b.Finish(rows)
}

func (a *arrowFile) finish() error {
	if err := a.w.Close(); err != nil {
		return err
	}
	return a.stream.Finish()
}
