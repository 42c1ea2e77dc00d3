package part_test

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/part"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

var errStopped = errors.New("stopped by the test")

// A training from parts of graphs that is stopped again and again begins at the place that its checkpoint has: it
// learns the same, and the source reads nothing before the batch that was learned from last. So does one of chunks of
// graphs, each of which is a row with the position of its graph.
func TestResumeAtPlace(t *testing.T) {
	const graphs, size = 120, 16
	j := job(file.Dir{Path: t.TempDir()}, 18)
	j.Plan.Parts = part.Cut(graphs, 18)
	j.Pipeline = func(in part.Input) flow.Pipeline {
		return flow.From(part.Rows{Source: sources.Families{Graphs: graphs, Rows: 5}, Input: in})
	}
	if err := j.Run(t.Context(), part.Shard{}, nil); err != nil {
		t.Fatal(err)
	}
	recipe := operators.Recipe{operators.Channel{By: labeling.NormalizedDegree}, operators.Select{W: 6}, operators.Normalize{K: 5}}
	families := part.Source{Plan: j.Plan, From: j.Out, Read: read}
	for name, p := range map[string]flow.Pipeline{
		"graphs": recipe.Onto(flow.From(families)),
		"chunks": append(recipe[:1:1], append(operators.Recipe{operators.Select{}, operators.Chunk{Size: 5}}, recipe[2:]...)...).Onto(flow.From(families)),
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(14, 4))
			p = p.Via(operators.Batch{Size: size})
			whole := &nn.CNN{Seed: 1}
			run := p.To(sinks.Train{Net: whole}).Start(t.Context())
			if err := run.Wait(); err != nil {
				t.Fatal(err)
			}
			all := run.Stats().Stages[0].RowsOut
			file := filepath.Join(t.TempDir(), "checkpoint")
			for learned, stops := int64(0), 0; ; stops++ {
				net, steps, last, before := &nn.CNN{Seed: 1}, 0, 1+rng.IntN(5), learned
				run := p.With(flow.Options{Allocator: flowtest.Mem(t)}).To(sinks.Train{
					Net: net, Checkpoint: sinks.Checkpoint{File: file, Resume: true, Every: -1},
					OnStep: func(r nn.Result) error {
						if steps++; steps > last { // within a step, which is done again
							return errStopped
						}
						learned += int64(r.Rows)
						return nil
					},
				}).Start(t.Context())
				err := run.Wait()
				if in := run.Stats().Stages[0].RowsOut; name == "graphs" && before > size && in > all-before+size {
					t.Errorf("behind %d rows it read %d of %d", before, in, all)
				}
				if err == nil {
					if net.Hash() != whole.Hash() || net.Seen() != whole.Seen() || stops < 2 {
						t.Errorf("%s after %d rows and %d stops, want %s after %d", net.Hash(), net.Seen(), stops, whole.Hash(), whole.Seen())
					}
					return
				}
				if !errors.Is(err, errStopped) {
					t.Fatal(err)
				}
			}
		})
	}
}
