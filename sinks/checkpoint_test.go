package sinks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// studying trains on a stream of 12 batches in random order.
func studying(o flow.Options, graphs int, seed uint64, t sinks.Train) error {
	return fields(graphs, 32).With(o).
		Via(operators.Replay{Epochs: 3, Rows: 25, Seed: seed}).
		To(t).Run(context.Background())
}

// Stopped at any batch, by an error or by the end of the context, and resumed:
// the same weights.
func TestCheckpoint(t *testing.T) {
	checked(t, func(o flow.Options) {
		whole := &nn.CNN{Seed: 3}
		if err := studying(o, 100, 5, sinks.Train{Net: whole}); err != nil {
			t.Fatal(err)
		}
		power := errors.New("no power")
		for _, stop := range race.Some([]int{6, 0, 1, 11}) {
			file := filepath.Join(t.TempDir(), "checkpoint")
			steps := 0 // that OnStep has seen, kept in the checkpoint
			train := func(limit int) sinks.Train {
				return sinks.Train{
					Net: &nn.CNN{Seed: 3},
					OnStep: func(nn.Result) error {
						if steps == limit {
							return power
						}
						steps++
						return nil
					},
					Checkpoint: sinks.Checkpoint{
						File: file, Every: -1, Resume: true,
						State:   func() (string, error) { return fmt.Sprint(steps), nil },
						Restore: func(s string) error { _, err := fmt.Sscan(s, &steps); return err },
					},
				}
			}
			if err := studying(o, 100, 5, train(stop)); !errors.Is(err, power) {
				t.Fatalf("stopped at %d: %v", stop, err)
			}
			steps = 0 // a new process knows nothing
			rest := train(99)
			if err := studying(o, 100, 5, rest); err != nil {
				t.Fatalf("resumed at %d: %v", stop, err)
			}
			net := rest.Net.(*nn.CNN)
			if net.Hash() != whole.Hash() || net.Seen() != whole.Seen() || steps != 12 {
				t.Errorf("stopped at %d: %s after %d graphs and %d steps, want %s after %d and 12",
					stop, net.Hash(), net.Seen(), steps, whole.Hash(), whole.Seen())
			}
			// Once more, when there is nothing left to do.
			again := train(99)
			if err := studying(o, 100, 5, again); err != nil || again.Net.(*nn.CNN).Hash() != whole.Hash() {
				t.Errorf("resumed at the end: %v", err)
			}
		}
	})
}

func TestCheckpointErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "checkpoint")
	checkpoint := sinks.Checkpoint{File: file, Resume: true}
	if err := studying(flow.Options{}, 100, 5, sinks.Train{Net: &nn.CNN{Seed: 3}, Checkpoint: checkpoint}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, content[:len(content)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		graphs int
		seed   uint64
		train  sinks.Train
		want   string
	}{
		{100, 6, sinks.Train{Net: &nn.CNN{Seed: 3}, Checkpoint: checkpoint}, "the first 12 batches of the stream are not those of the checkpoint; remove "},
		{60, 5, sinks.Train{Net: &nn.CNN{Seed: 3}, Checkpoint: checkpoint}, "the first 12 batches of the stream are not those of the checkpoint; remove "},
		{100, 5, sinks.Train{Net: &nn.CNN{Seed: 4}, Checkpoint: checkpoint}, "another settings"},
		{100, 5, sinks.Train{Net: &nn.CNN{Seed: 3}, Checkpoint: sinks.Checkpoint{File: broken, Resume: true}}, "truncated"},
		{100, 5, sinks.Train{Net: &nn.CNN{Seed: 3}, Checkpoint: sinks.Checkpoint{Resume: true}}, "Checkpoint.File is not"},
	} {
		checked(t, func(o flow.Options) {
			err := studying(o, test.graphs, test.seed, test.train)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
