package choose

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sources"
)

// rooted is a source of rows that share graphs. The operators of a recipe before its roots run once for each
// graph, not for each row.
type rooted struct {
	sources.Rooted
	ahead operators.Recipe
}

func (s rooted) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	rows, err := s.Rooted.Open(ctx, mem)
	if err != nil {
		return nil, err
	}
	ahead, err := flow.OpenDirect(rows.Schema(), flow.Options{Allocator: mem}, s.ahead...)
	if err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	return &rootedReader{Reader: rows, ahead: ahead}, nil
}

type rootedReader struct {
	flow.Reader // of the rows
	ahead       *flow.Direct
	graph       arrow.Record // output of ahead for the current graph, or nil
	id          int64        // graph_id of the current graph
}

func (r *rootedReader) Schema() *arrow.Schema { return r.ahead.Schema() }

func (r *rootedReader) Next(ctx context.Context) (arrow.Record, error) {
	row, err := r.Reader.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer row.Release()
	ids, err := record.Values[int64](row, record.GraphID)
	if err != nil {
		return nil, err
	}
	if r.graph == nil || r.id != ids[0] {
		r.drop()
		made, err := r.ahead.Process(ctx, row)
		if err != nil {
			return nil, err
		}
		if len(made) != 1 || made[0].NumRows() != 1 {
			record.Release(made)
			return nil, errors.New("choose: the operators in front of operators.Roots do not make one row of a graph")
		}
		r.graph, r.id = made[0], ids[0]
	}
	own := map[string]arrow.Array{} // columns that differ between rows of a graph
	for _, name := range []string{record.Pos, record.Roots, record.RootIDs, record.Target, record.Targets, record.RowColumns} {
		for _, at := range row.Schema().FieldIndices(name) {
			own[name] = row.Column(at)
			own[name].Retain()
		}
	}
	return record.Project(r.ahead.Schema(), r.graph, own)
}

// drop releases the current graph.
func (r *rootedReader) drop() {
	if r.graph != nil {
		r.graph.Release()
		r.graph = nil
	}
}

func (r *rootedReader) Close() error {
	r.drop()
	return errors.Join(r.ahead.Close(), r.Reader.Close())
}
