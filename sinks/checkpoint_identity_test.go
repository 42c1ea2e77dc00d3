package sinks_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// A training goes on with the stream that it began with or not at all, whatever
// it is that differs, and it says so before it has learned anything.
func TestCheckpointIdentity(t *testing.T) {
	race.Skip(t)
	rings := bonds(t, 60)
	other := sources.Graphs{Items: append([]sources.Item(nil), rings.Items...)}
	other.Items[0].Value += 1e-3
	ring := operators.Recipe{operators.Select{W: 4}, operators.Assemble{K: 3}, operators.Normalize{Edges: true}}
	families := sources.Families{Graphs: 60, Rows: 16}
	family := func(channel, by, norm labeling.Labeling) operators.Recipe {
		return operators.Recipe{
			operators.Channel{By: channel}, operators.Select{W: 10, By: by}, operators.Assemble{K: 5}, operators.Normalize{By: norm},
		}
	}
	plain := family(labeling.NormalizedDegree, labeling.Betweenness, labeling.WL)
	first := operators.Replay{Epochs: 2, Seed: 1, Rows: 20}
	for name, test := range map[string]struct {
		src, again   flow.Source
		how, changed operators.Recipe
		order        operators.Replay
		want         string
	}{
		"the same":            {families, families, plain, plain, first, ""},
		"numeric target":      {rings, other, ring, ring, first, "are not those of the checkpoint"},
		"select":              {families, families, plain, family(labeling.NormalizedDegree, labeling.Degree, labeling.WL), first, "are not those of the checkpoint"},
		"normalize":           {families, families, plain, family(labeling.NormalizedDegree, labeling.Betweenness, labeling.Degree), first, "are not those of the checkpoint"},
		"channel":             {families, families, plain, family(labeling.Betweenness, labeling.Betweenness, labeling.WL), first, `column "nodes" is`},
		"seed of the order":   {families, families, plain, plain, operators.Replay{Epochs: 2, Seed: 2, Rows: 20}, "are not those of the checkpoint"},
		"a later epoch":       {families, families, plain, plain, operators.Replay{Epochs: 3, Seed: 1, Rows: 20}, ""},
		"fewer epochs":        {families, families, plain, plain, operators.Replay{Epochs: 1, Seed: 1, Rows: 20}, "the stream has 3 batches, the checkpoint was made after 6"},
		"other edges, no use": {rings, rings, ring, operators.Recipe{ring[0], ring[1], operators.Normalize{}}, first, "another shape of the data"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "checkpoint")
			run := func(src flow.Source, r operators.Recipe, order operators.Replay) (steps int, err error) {
				err = r.Onto(flow.From(src)).Via(order).To(sinks.Train{
					Net:        &nn.CNN{Seed: 1, Size2: 2, Hidden: 8},
					OnStep:     func(nn.Result) error { steps++; return nil },
					Checkpoint: sinks.Checkpoint{File: file, Resume: true},
				}).Run(context.Background())
				return steps, err
			}
			if _, err := run(test.src, test.how, first); err != nil {
				t.Fatal(err)
			}
			steps, err := run(test.again, test.changed, test.order)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || steps > 0):
				t.Errorf("after %d steps: %v, want %q", steps, err, test.want)
			}
		})
	}
}
