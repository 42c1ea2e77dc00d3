package operators_test

import (
	"context"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// numbered is a source of n graphs without nodes in records of that many rows.
func numbered(n, rows int) flow.Source {
	s := sources.Graphs{Rows: rows, Items: make([]sources.Item, n)}
	for i := range s.Items {
		s.Items[i].Graph = &graph.Graph{Offsets: []int32{0}}
	}
	return s
}

// play runs src through op and returns the graph_ids that come out, and the
// rows of each record.
func play(t *testing.T, src flow.Source, op flow.Operator) (ids []int64, sizes []int) {
	t.Helper()
	var out sinks.Collect
	defer out.Release()
	err := flow.From(src).Via(op).To(&out).With(flow.Options{Allocator: record.Poison{}}).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range out.Records() {
		v, err := record.Values[int64](rec, record.GraphID)
		if err != nil {
			t.Fatal(err)
		}
		ids, sizes = append(ids, v...), append(sizes, len(v))
	}
	return ids, sizes
}

func upTo(n int) []int64 {
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(i)
	}
	return v
}

// sinkFunc is a sink made of a function.
type sinkFunc func(arrow.Record) error

func (f sinkFunc) Open(*arrow.Schema) (flow.Writer, error)         { return f, nil }
func (f sinkFunc) Write(_ context.Context, rec arrow.Record) error { return f(rec) }
func (f sinkFunc) Close(error) error                               { return nil }

// TestStreamErrors is the table of settings and graphs that are refused.
func TestStreamErrors(t *testing.T) {
	one := sources.Graphs{Items: []sources.Item{{Graph: &graph.Graph{Offsets: []int32{0, 0}}}}}
	for _, c := range []struct {
		op   flow.Operator
		want string
	}{
		{operators.Batch{Size: -1}, "batch: Size is -1, want 1 to 2147483647"},
		{operators.Shuffle{Size: -1}, "shuffle: Size is -1, want 1 or more"},
		{operators.Shuffle{Rows: -1}, "shuffle: Rows is -1, want 1 or more"},
		{operators.Replay{Epochs: -1}, "replay: Epochs is -1, want 1 or more"},
		{operators.Replay{Rows: -1}, "replay: Rows is -1, want 1 or more"},
		{operators.Select{W: -1}, "select: W is -1, want the number of fields per graph, or 0 for all nodes"},
		{operators.Select{Strict: true}, "select: Strict cuts to W nodes, but W is not set"},
		{operators.Chunk{}, "chunk: there is no column \"roots\" to cut: put Select before Chunk"},
		{operators.Chunk{Size: -1}, "chunk: Size is -1, want the number of roots of a row, 1 to 1048576"},
		{operators.Roots{}, "roots: Nodes is empty, want the roots"},
		{operators.Select{W: 1 << 21}, "select: W is 2097152, want at most 1048576"},
		{operators.Select{W: 1, Stride: -1}, "select: Stride is -1, want 1 to 2147483647"},
		{operators.Select{W: 1, Stride: 1 << 40}, "select: Stride is 1099511627776, want 1 to 2147483647"},
		{operators.Channel{}, "channel: the field By is not set"},
		{operators.Channel{By: huge(1e39)}, "channel: graph 0: huge of node 0 is 1e+39, beyond float32"},
	} {
		if err := flow.From(one).Via(c.op).Run(context.Background()); err == nil || err.Error() != c.want {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
	}
	all := flow.From(one).Via(operators.Select{})
	for _, c := range []struct {
		p    flow.Pipeline
		want string
	}{
		{all.Via(operators.Chunk{Size: 1 << 21}), "chunk: Size is 2097152, want the number of roots of a row, 1 to 1048576"},
		{all.Via(operators.Assemble{K: 2}).Via(operators.Chunk{}), `chunk: column "hood" belongs to the roots as they are: put Chunk before Assemble`},
		{flow.From(one).Via(operators.Select{W: 1}).Via(operators.Normalize{}), `normalize: K is not set, and there is no column "hood" that tells it: put Assemble before Normalize`},
		{flow.From(one).Via(operators.Select{W: 1}).Via(operators.Normalize{K: 2, Direction: 7}), "normalize: Direction is 7, want Both, Out or In"},
		{flow.From(one).Via(operators.Select{W: 1}).Via(operators.Assemble{K: 2}).Via(operators.Normalize{Direction: field.Out}), "normalize: Direction is that of Assemble: set it there"},
		{flow.From(one).Via(operators.Select{W: 1}).Via(operators.Assemble{K: 2}).Via(operators.Normalize{Bound: 9}), "normalize: Bound is that of Assemble: set it there"},
		{flow.From(one).Via(operators.Select{W: 1}).Via(operators.Assemble{K: 2, Bound: 1}), "assemble: Bound is 1, want 0 or at least K, 2"},
		{flow.From(one).Via(operators.Select{W: 1}).Via(operators.Normalize{K: 2, Bound: -1}), "normalize: Bound is -1, want 0 or at least K, 2"},
		{all.Via(operators.Assemble{K: 2}).Via(operators.Normalize{}), `normalize: there is no column "roots" of a fixed length: put Select with W, or Chunk, before Normalize`},
		{flow.From(one).Via(operators.Roots{Nodes: []int32{0, 1}}), "roots: graph 0: root 1 is not among the 1 nodes"},
	} {
		if err := c.p.Run(context.Background()); err == nil || err.Error() != c.want {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
	}
	twice := flow.From(one).Via(operators.Select{W: 1}).Via(operators.Select{W: 1})
	if err := twice.Run(context.Background()); err == nil || err.Error() != `select 2: record: there is a column "roots" already` {
		t.Errorf("the error is %v", err)
	}
}
