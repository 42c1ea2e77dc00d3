package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"
	"time"

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
}

func (f *fields) len() int             { return len(f.members) / f.k }
func (f *fields) row(i int) []float32  { return f.rows[i*f.k*f.k : (i+1)*f.k*f.k] }
func (f *fields) member(i int) []int32 { return f.members[i*f.k : (i+1)*f.k] }

// makeFields makes the field of every node.
func (c *config) makeFields(ctx context.Context) (*fields, error) {
	f := &fields{k: c.k}
	p := flow.From(sources.Graphs{Items: []sources.Item{{Graph: c.g}}}).
		Via(operators.Select{}).       // all nodes
		Via(operators.Chunk{Size: 1}). // a row each
		Via(operators.Assemble{K: c.k}).
		Via(operators.Normalize{Edges: true, IgnoreAttributes: true}). // 1-WL
		Via(operators.Batch{Size: 1024}).
		With(flow.Options{Workers: c.workers}).
		To(&f.collected)
	_, err := cli.Run(ctx, p, "receptive fields", int64(c.g.N()), cli.Last)
	if err == nil {
		f.rows, _, err = sinks.Adjacency.Rows(f.collected.Records()...)
	}
	for _, rec := range f.collected.Records() {
		if err == nil {
			var m []int32
			m, _, err = record.FixedValues[int32](rec, record.Members)
			f.members = append(f.members, m...)
		}
	}
	if err != nil {
		f.collected.Release()
	}
	return f, err
}

// learn trains the machine on the stream of fields.
func (c *config) learn(ctx context.Context, f *fields, r *report) (*nn.RBM, error) {
	rows := f.len()
	r.Batch = max(1, min(10, rows/100))
	rbm := &nn.RBM{Hidden: c.hidden, Rate: c.rate, Seed: c.seed, Info: map[string]string{
		"graph": r.Graph, "k": fmt.Sprint(c.k), "normalize": "wl", "units": "adjacency", "epochs": fmt.Sprint(c.epochs),
	}}
	if err := rbm.Init(c.k * c.k); err != nil {
		return nil, err
	}
	if err := rbm.InitBias(tensorOf(f.rows, c.k*c.k)); err != nil {
		return nil, err
	}
	total := rows * c.epochs
	bar := cli.NewProgress("learning", int64(total))
	defer bar.Done()
	var first, last mean
	start := time.Now()
	err := flow.From(sources.Records{Records: f.collected.Records()}).
		Via(operators.Replay{Epochs: c.epochs, Seed: c.seed, Rows: 1024}).
		To(sinks.Pretrain{Net: rbm, Of: sinks.Adjacency, Batch: r.Batch, OnStep: func(step nn.Result) error {
			if rbm.Seen() <= rows {
				first.add(step)
			}
			if rbm.Seen() > total-rows {
				last.add(step)
			}
			bar.Set(int64(rbm.Seen()))
			return nil
		}}).
		With(flow.Options{Workers: 1}).
		Run(ctx)
	r.Seconds = time.Since(start).Seconds()
	r.RowsPerS = float64(rbm.Seen()) / r.Seconds
	r.ErrorFirst, r.Error = first.value(), last.value()
	return rbm, err
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

// report is the JSON object of -json.
type report struct {
	Graph       string   `json:"graph"`
	Nodes       int      `json:"nodes"`
	Edges       int      `json:"edges"`
	K           int      `json:"k"`
	Rows        int      `json:"rows"` // fields
	Distinct    int      `json:"distinct_fields"`
	Epochs      int      `json:"epochs"`
	Hidden      int      `json:"hidden"`
	Rate        float64  `json:"lr"`
	Batch       int      `json:"batch"`
	Seed        uint64   `json:"seed"`
	Error       float64  `json:"reconstruction_error"`             // mean square a unit, over the last epoch
	ErrorFirst  float64  `json:"first_epoch_reconstruction_error"` // over the first
	Units       []*motif `json:"units"`                            // lines of the sheet
	Seconds     float64  `json:"seconds"`                          // of learning
	RowsPerS    float64  `json:"rows_per_s"`
	ModelSHA256 string   `json:"model_sha256"`

	c *config
}

// model returns the machine as a file.
func (r *report) model(rbm *nn.RBM) ([]byte, error) {
	var b bytes.Buffer
	err := rbm.Save(&b)
	sum := sha256.Sum256(b.Bytes())
	r.ModelSHA256 = hex.EncodeToString(sum[:])
	return b.Bytes(), err
}

// Print writes the closing table.
func (r *report) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s: %d nodes, %d edges; %d fields of %d nodes, %d of them different\n\n", r.Graph, r.Nodes, r.Edges, r.Rows, r.K, r.Distinct)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "unit\tstrength\tunits alike\troots of the fields that excite it most (nodes that have one like it)")
	for _, u := range r.Units {
		fmt.Fprintf(w, "%d\t%.2f\t%d\t", u.Unit, u.Strength, u.Alike)
		for i, f := range u.Fields {
			if i > 0 {
				fmt.Fprint(w, "   ")
			}
			fmt.Fprintf(w, "%d (%d)", f.Root, f.Nodes)
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nreconstruction error %.4f, in the first epoch %.4f; %d epochs at %v, %d fields a step, seed %d; %.0f rows/s\nthe sheet: %s\n",
		r.Error, r.ErrorFirst, r.Epochs, r.Rate, r.Batch, r.Seed, r.RowsPerS, filepath.Join(r.c.out, "motifs.svg"))
	return err
}
