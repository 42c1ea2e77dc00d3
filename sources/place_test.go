package sources_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

var errStopped = errors.New("stopped by the test")

// A training from a mapped file that is stopped again and again begins at the place that its checkpoint has: it
// learns the same, and the source reads nothing before the batch that was learned from last. So does one of chunks of
// graphs, each of which is a row with the position of its graph.
func TestResumeAtPlace(t *testing.T) {
	const graphs, perRecord, size = 120, 7, 16
	recipe := operators.Recipe{operators.Channel{By: labeling.NormalizedDegree}, operators.Select{W: 6}, operators.Normalize{K: 5}}
	families := sources.Mapped{Path: ipcFile(t, sources.Families{Graphs: graphs, Rows: perRecord})}
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

// A place of one file is none of another, and what is no place is an error.
func TestPlaceOfOtherFile(t *testing.T) {
	open := func(seed uint64) flow.Seeker {
		t.Helper()
		r, err := sources.Mapped{Path: ipcFile(t, sources.Families{Graphs: 8, Rows: 3, Seed: seed})}.Open(t.Context(), flowtest.Mem(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r.(flow.Seeker)
	}
	r := open(1)
	if _, err := r.Place(0); err != nil {
		t.Fatal(err)
	}
	rec, err := r.(flow.Reader).Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	place, err := r.Place(rec.NumRows())
	if err != nil {
		t.Fatal(err)
	}
	if err := open(1).Begin(place); err != nil { // the same again, elsewhere
		t.Error(err)
	}
	for text, want := range map[string]string{place: "another file", "": "cannot be read", `{"record":-1}`: "cannot be read", `{"of":"x"}`: "another file"} {
		if err := open(2).Begin(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", fmt.Sprint(text), err, want)
		}
	}
}
