package sinks

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// Pretrain lets an RBM or an autoencoder learn from the receptive fields of the stream, one
// field a row, without targets:
//
//	rbm := &nn.RBM{Seed: 1}
//	err := flow.From(src).
//		Via(operators.Select{}).                                // all nodes
//		Via(operators.Chunk{Size: 1}).                          // a row each, so that Replay can shuffle them
//		Via(operators.Assemble{K: 9}).
//		Via(operators.Normalize{Edges: true}).                  // (1, 9, 9, 1)
//		Via(operators.Replay{Epochs: 30, Seed: 1}).
//		To(sinks.Pretrain{Net: rbm, Of: sinks.Adjacency}).      // 81 units
//		Run(ctx)
//
// Zero fields are left out. A batch may span records and epochs. The last batch may be smaller.
type Pretrain struct {
	// Net learns. The sink calls Init with the number of units. Net must be set, and other
	// goroutines may not use it during the run.
	Net nn.Encoder
	// Of is the part of a field that is learned. The default is Adjacency.
	Of FieldPart
	// Batch is how many fields a step has. The default is 10.
	Batch int
	// OnStep, if set, is called after each step, on the goroutine of the sink.
	// An error ends the run.
	OnStep func(nn.Result) error
}

var _ flow.Sink = Pretrain{}

// Open initialises the model.
func (p Pretrain) Open(in *arrow.Schema) (flow.Writer, error) {
	if p.Net == nil {
		return nil, errors.New("the field Net is not set")
	}
	if p.Batch == 0 {
		p.Batch = 10
	}
	if p.Batch < 1 {
		return nil, fmt.Errorf("Batch is %d, want 1 or more", p.Batch)
	}
	c, err := cellsOf(in, p.Of)
	if err != nil {
		return nil, err
	}
	if err := p.Net.Init(c.width()); err != nil {
		return nil, err
	}
	return &pretrainer{Pretrain: p, cells: c}, nil
}

type pretrainer struct {
	Pretrain
	cells cells
	x     []float32     // (Batch, units) or less: fields of the next batch
	full  *tensor.Dense // over all of x; nil before the first full batch
	graph []int64       // graph_id of each field in x
}

func (p *pretrainer) Write(_ context.Context, rec arrow.Record) error {
	f, err := p.cells.of(rec)
	if err != nil {
		return err
	}
	ids, err := record.Values[int64](rec, record.GraphID)
	if err != nil {
		return err
	}
	width := p.cells.width()
	for i := range f.fields {
		if f.zero(i) {
			continue
		}
		at := len(p.graph) * width
		if at == len(p.x) {
			p.x = append(p.x, make([]float32, width)...)
		}
		if err := f.fill(p.x[at:at+width], i); err != nil {
			return rowFault(rec, i/f.w, err)
		}
		if p.graph = append(p.graph, ids[i/f.w]); len(p.graph) == p.Batch {
			if p.full == nil {
				p.full = tensor.New(tensor.WithShape(p.Batch, width), tensor.WithBacking(p.x))
			}
			if err := p.step(p.full); err != nil {
				return err
			}
		}
	}
	return nil
}

// step learns from the collected fields.
func (p *pretrainer) step(x *tensor.Dense) error {
	r, err := p.Net.Step(x)
	if err != nil {
		var row *nn.RowError
		if errors.As(err, &row) && row.Row < len(p.graph) {
			return &flow.Error{Stage: flow.Name(p.Pretrain), Graph: p.graph[row.Row], Err: row.Err}
		}
		return fmt.Errorf("after %d fields: %w", p.Net.Seen(), err)
	}
	p.graph = p.graph[:0]
	if p.OnStep == nil {
		return nil
	}
	return p.OnStep(r)
}

// Close learns from the last fields when the stream is complete.
func (p *pretrainer) Close(failed error) error {
	if failed != nil || len(p.graph) == 0 {
		return nil
	}
	width, rows := p.cells.width(), len(p.graph)
	return p.step(tensor.New(tensor.WithShape(rows, width), tensor.WithBacking(p.x[:rows*width])))
}

// rowFault returns an error with the graph of an unreadable row.
func rowFault(rec arrow.Record, row int, err error) error {
	return rowError(flow.Name(Pretrain{}), rec, &nn.RowError{Row: row, Err: err})
}
