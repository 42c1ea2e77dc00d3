package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// fields is the receptive fields of all nodes, in the order of the nodes.
type fields struct {
	k         int
	collected sinks.Collect
	rows      []float32 // (nodes, k·k): their adjacency matrices
	members   []int32   // (nodes, k): node, or -1
	held      int       // the last so many in a random order are not learned from
}

func (f *fields) release()             { f.collected.Release() }
func (f *fields) len() int             { return len(f.members) / f.k }
func (f *fields) row(i int) []float32  { return f.rows[i*f.k*f.k : (i+1)*f.k*f.k] }
func (f *fields) member(i int) []int32 { return f.members[i*f.k : (i+1)*f.k] }

// makeFields makes the field of every node.
func (c *config) makeFields(ctx context.Context, in *input) (*fields, error) {
	if in.graph.N() == 0 {
		return nil, errors.New("the graph has no nodes")
	}
	f := &fields{k: c.k, held: int(c.held * float64(in.graph.N()))}
	p := flow.From(sources.Graphs{Items: []sources.Item{{Graph: in.graph}}}).
		Via(operators.Select{}).       // all nodes
		Via(operators.Chunk{Size: 1}). // a row each
		Via(operators.Assemble{K: c.k}).
		Via(operators.Normalize{Edges: true, IgnoreAttributes: true}). // 1-WL
		Via(operators.Batch{Size: 1024}).
		With(flow.Options{Workers: c.workers}).
		To(&f.collected)
	_, err := cli.Run(ctx, p, "receptive fields", int64(in.graph.N()), cli.Last)
	if err == nil {
		err = f.read()
	}
	if err != nil {
		f.release()
	}
	return f, err
}

// read copies what the pictures need out of the records.
func (f *fields) read() (err error) {
	for _, rec := range f.collected.Records() {
		m, _, err := record.FixedValues[int32](rec, record.Members)
		if err != nil {
			return err
		}
		f.members = append(f.members, m...)
	}
	f.rows, _, err = sinks.Adjacency.Rows(f.collected.Records()...)
	return err
}

// learned is a machine, and how it went.
type learned struct {
	rbm         *nn.RBM
	batch       int
	first, last float64 // reconstruction error, mean over an epoch
	gap         float64 // of free energies, where fields were held back
	seconds     float64
	rowsPerS    float64
}

// learn trains the machine on the stream of fields.
func (c *config) learn(ctx context.Context, f *fields) (*learned, error) {
	train, held, err := f.split(c.seed)
	if err != nil {
		return nil, err
	}
	defer train.Release()
	rows := int(train.NumRows())
	l := &learned{batch: c.batch, rbm: &nn.RBM{Hidden: c.hidden, Rate: c.rate, Seed: c.seed}}
	if l.batch == 0 {
		l.batch = max(1, min(10, rows/100))
	}
	x, width, err := sinks.Adjacency.Rows(train)
	if err != nil {
		return nil, err
	}
	if err := l.rbm.Init(width); err != nil {
		return nil, err
	}
	if err := l.rbm.InitBias(tensorOf(x, width)); err != nil {
		return nil, err
	}
	total := rows * c.epochs
	bar := cli.NewProgress("learning", int64(total))
	defer bar.Done()
	var first, last mean
	start := time.Now()
	err = flow.From(sources.Records{Records: []arrow.Record{train}}).
		Via(operators.Replay{Epochs: c.epochs, Seed: c.seed, Rows: 1024}).
		To(sinks.Pretrain{Net: l.rbm, Of: sinks.Adjacency, Batch: l.batch, OnStep: func(r nn.Result) error {
			seen := l.rbm.Seen()
			if seen <= rows {
				first.add(r)
			}
			if seen > total-rows {
				last.add(r)
			}
			bar.Set(int64(seen))
			return nil
		}}).
		With(flow.Options{Workers: 1}).
		Run(ctx)
	if err != nil {
		return nil, err
	}
	l.seconds = time.Since(start).Seconds()
	l.rowsPerS = float64(l.rbm.Seen()) / l.seconds
	l.first, l.last = first.value(), last.value()
	if held != nil {
		l.gap, err = l.rbm.FreeEnergyGap(tensorOf(x, width), tensorOf(held, width))
	}
	return l, err
}

// split returns the fields to learn from, and the rows of those held back.
func (f *fields) split(seed uint64) (train arrow.Record, held []float32, err error) {
	var refs []record.Ref
	for i, rec := range f.collected.Records() {
		for row := range int32(rec.NumRows()) {
			refs = append(refs, record.Ref{Record: int32(i), Row: row})
		}
	}
	if f.held > 0 {
		order := newRand(seed).Perm(len(refs))
		mixed := make([]record.Ref, len(refs))
		for i, j := range order {
			mixed[i] = refs[j]
		}
		refs = mixed[:len(refs)-f.held]
		for _, j := range order[len(refs):] {
			held = append(held, f.row(j)...)
		}
	}
	train, err = record.Take(memory.DefaultAllocator, f.collected.Records(), refs)
	return train, held, err
}

// mean is a mean weighted by rows.
type mean struct {
	sum  float64
	rows int
}

func (m *mean) add(r nn.Result) {
	m.sum += r.Loss * float64(r.Rows)
	m.rows += r.Rows
}

func (m *mean) value() float64 { return m.sum / float64(max(m.rows, 1)) }

// tensorOf is rows of that width as a tensor.
func tensorOf(x []float32, width int) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(x)/width, width), tensor.WithBacking(x))
}

// describe returns the machine as a file that says what it was trained on.
func (c *config) describe(l *learned, in *input) ([]byte, error) {
	l.rbm.Info = map[string]string{
		"graph": in.name, "k": fmt.Sprint(c.k), "normalize": "wl", "units": "adjacency", "epochs": fmt.Sprint(c.epochs),
	}
	var b bytes.Buffer
	err := l.rbm.Save(&b)
	return b.Bytes(), err
}
