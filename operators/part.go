package operators

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/internal/scatter"
)

// Part keeps the graphs of one of several parts, to split a stream into training and test
// graphs:
//
//	train := flow.From(src).Via(operators.Part{Of: 10, Rest: true}) // nine tenths
//	test := flow.From(src).Via(operators.Part{Of: 10})              // the other tenth
//
// A hash of graph_id and Seed gives the part of a graph. It does not depend on the order, the
// number of workers or the number of graphs, and all rows of a graph are in one part. Parts
// have about the same size. They are not stratified by class; validation.Folds stratifies
// graphs in memory. Part reads only graph_id, so it may stand anywhere. Graphs left out count
// as complete. A second split, for validation graphs, needs another Seed or another Of, since
// the same ones give the same part.
type Part struct {
	// Of is the number of parts. The default is 10.
	Of int
	// Number is the number of the part that passes, from 0 to Of-1.
	Number int
	// Rest lets the other parts go on instead.
	Rest bool
	// Seed deals the graphs otherwise.
	Seed uint64
}

var _ flow.Operator = Part{}

// Open checks the settings.
func (p Part) Open(in *arrow.Schema) (flow.Stage, error) {
	if p.Of == 0 {
		p.Of = 10
	}
	if p.Of < 2 {
		return nil, fmt.Errorf("Of is %d, want 2 or more", p.Of)
	}
	if p.Number < 0 || p.Number >= p.Of {
		return nil, fmt.Errorf("Number is %d, want 0 to %d", p.Number, p.Of-1)
	}
	if !in.HasField(record.GraphID) {
		return nil, fmt.Errorf("there is no column %q", record.GraphID)
	}
	return RowStage(in, &parting{Part: p}), nil
}

// of returns the part of a graph. Of is in the hash, so that graphs of one part of ten
// are of all parts of five.
func (p Part) of(graph int64) int {
	return int(scatter.Bits(scatter.Bits(scatter.Bits(p.Seed)^uint64(p.Of))^uint64(graph)) >> 1 % uint64(p.Of))
}

// parting is a Part at work.
type parting struct {
	Part
	ids []int64 // of the record
}

func (p *parting) Fork() RowBuilder { return &parting{Part: p.Part} }

func (p *parting) Begin(_ memory.Allocator, rec arrow.Record) (err error) {
	p.ids, err = record.Values[int64](rec, record.GraphID)
	return err
}

func (p *parting) Row(_ context.Context, row int) error {
	if (p.of(p.ids[row]) == p.Number) == p.Rest {
		return ErrLeftOut
	}
	return nil
}

func (p *parting) Finish(int) map[string]arrow.Array { return nil }

func (p *parting) Release() {}
