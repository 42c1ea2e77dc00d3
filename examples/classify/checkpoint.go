package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/collection"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
)

// store is the directory of -checkpoint; a nil one keeps nothing.
//
//	run.json           what the run is of: another cannot go on with it
//	NAME.json          the outcome of a training that has ended
//	NAME.safetensors   the state of one that has not, or of the last
type store struct{ dir string }

// openStore begins a run in the directory, or goes on with the one there.
func (e *evaluation) openStore() (*store, error) {
	c := e.c
	if c.checkpoint == "" {
		return nil, nil
	}
	if err := os.MkdirAll(c.checkpoint, 0o755); err != nil {
		return nil, fmt.Errorf("-checkpoint: %w", err)
	}
	s := &store{c.checkpoint}
	this, err := e.identity()
	if err != nil {
		return nil, err
	}
	var there []setting
	switch err := s.read("run", &there); {
	case errors.Is(err, fs.ErrNotExist):
		return s, s.write("run", this)
	case err != nil:
		return nil, err
	case !c.resume:
		return nil, fmt.Errorf("-checkpoint: %s holds a run; go on with it by -resume, or name another directory", s.dir)
	}
	if len(there) != len(this) {
		return nil, fmt.Errorf("-resume: %s was written by another version of this command", s.dir)
	}
	for i, a := range there {
		if b := this[i]; a != b {
			return nil, fmt.Errorf("-resume: %s is of a run with %s %s, this one has %s %s", s.dir, a.Name, a.Value, b.Name, b.Value)
		}
	}
	return s, nil
}

// setting is something that decides the result of a run.
type setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// identity is all that decides the result of a run.
func (e *evaluation) identity() ([]setting, error) {
	c := e.c
	sum, err := digest(e.fields.Record)
	var list []setting
	for _, s := range []struct {
		name  string
		value any
	}{
		{"-data", e.data.Name}, {"-seed", c.seed}, {"-k", c.k}, {"-w", e.fields.W}, {"-stride", c.stride},
		{"-select", c.selecting}, {"-normalize", c.normal},
		{"-epochs", c.epochs}, {"-batch", c.batch}, {"-folds", c.folds}, {"-repeats", c.repeats}, {"-protocol", c.protocol},
		{"-edges", c.edges}, {"-model-kind", c.kind}, {"-pretrain", c.pretrain},
		{"fields of SHA-256", sum}, {"kernels", nn.Kernels()}, {"learning by", e.learning()},
	} {
		list = append(list, setting{s.name, fmt.Sprint(s.value)})
	}
	return list, err
}

// learning says in full what is learned beside the rows, and among what is chosen.
func (e *evaluation) learning() string {
	if e.c.kind == machine {
		return fmt.Sprintf("svm, C %g, kernels %v", costs, kernels)
	}
	return fmt.Sprintf("%s, batches %v", e.job(nn.Trial{}, e.epochs).Identity(), e.batches)
}

// digest returns the SHA-256 of the columns that are learned from.
func digest(rec arrow.Record) (string, error) {
	h := sha256.New()
	for i, field := range rec.Schema().Fields() {
		var values any
		var err error
		switch field.Name {
		case record.NodesCat, record.EdgesCat:
			values, _, err = record.FixedValues[int32](rec, field.Name)
		case record.Nodes, record.Edges:
			values, _, err = record.FixedValues[float32](rec, field.Name)
		case record.Target:
			values, err = record.Values[int32](rec, field.Name)
		default:
			continue
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", field.Name, rec.Column(i).Len())
		binary.Write(h, binary.LittleEndian, values) // a hash returns no error
	}
	for _, name := range sinks.CountNames(rec.Schema()) {
		counts, err := sinks.CountsOf(rec, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", name, counts.Len())
		for row := range counts.Len() {
			ids, values := counts.Row(row)
			binary.Write(h, binary.LittleEndian, ids)
			binary.Write(h, binary.LittleEndian, values)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (s *store) path(name string) string { return filepath.Join(s.dir, name+".json") }

func (s *store) read(name string, v any) error {
	b, err := os.ReadFile(s.path(name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("-resume: %s is damaged: %w", s.path(name), err)
	}
	return nil
}

func (s *store) write(name string, v any) error {
	f, err := cli.Create(s.path(name))
	if err != nil {
		return err
	}
	defer f.Cleanup()
	return f.FinishJSON(v)
}

// training is what a store keeps of a job beside the network.
type training struct {
	Curve    [][]float64 `json:"curve"` // number correct, sum of losses, loss of rows held out
	Examples int         `json:"examples"`
	Seconds  float64     `json:"seconds"`
}

func trainingOf(o *collection.Outcome) training {
	t := training{Curve: [][]float64{}, Examples: o.Examples, Seconds: o.Seconds}
	for _, p := range o.Curve {
		t.Curve = append(t.Curve, []float64{float64(p.Correct), p.Loss, p.HeldOut})
	}
	return t
}

func (t training) outcome() (*collection.Outcome, error) {
	o := &collection.Outcome{Examples: t.Examples, Seconds: t.Seconds}
	for _, p := range t.Curve {
		if len(p) != 3 {
			return nil, fmt.Errorf("its scores are %d numbers, want 3: another version of this command wrote it", len(p))
		}
		o.Curve = append(o.Curve, nn.Score{Correct: int(p[0]), Loss: p[1], HeldOut: p[2]})
	}
	return o, nil
}

// finished returns the outcome of a job that has ended, without its network, or
// nil.
func (s *store) finished(name string) (*collection.Outcome, error) {
	if s == nil {
		return nil, nil
	}
	var t training
	switch err := s.read(name, &t); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	o, err := t.outcome()
	if err != nil {
		return nil, fmt.Errorf("-resume: %s: %w", s.path(name), err)
	}
	return o, nil
}

// finish keeps the outcome of a job.
func (s *store) finish(name string, o *collection.Outcome) error {
	if s == nil {
		return nil
	}
	if err := s.write(name, trainingOf(o)); err != nil {
		return err
	}
	err := os.Remove(s.state(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s *store) state(name string) string { return filepath.Join(s.dir, name+".safetensors") }

// checkpointEvery is the least time between two checkpoints of a training.
var checkpointEvery = time.Second

// checkpoint is how the training of a job is kept up to its last steps.
func (s *store) checkpoint(name string) sinks.Checkpoint {
	if s == nil {
		return sinks.Checkpoint{}
	}
	return sinks.Checkpoint{File: s.state(name), Every: checkpointEvery, Resume: true}
}
