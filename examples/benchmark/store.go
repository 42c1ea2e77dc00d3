package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/collection"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// results is what -checkpoint keeps: an entry for each cell that is done.
// Collections and systems may be added later.
type results struct{ *store.Store }

// kept is an entry.
type kept struct {
	Graphs string        `json:"graphs_sha256"`
	System string        `json:"of_system"` // in full
	Limit  time.Duration `json:"limit"`
	Cell   *cell         `json:"cell"`
}

// openStore begins a run in the directory, or resumes the one there. Its settings are
// what decides all cells.
func openStore(c *config) (results, error) {
	if c.one != nil { // which keeps trials
		return results{}, nil
	}
	settings := []store.Setting{
		cli.Setting("-folds", c.folds), cli.Setting("-repeats", c.repeats), cli.Setting("-seed", c.seed), cli.Setting("-inner", c.inner),
		cli.Setting("kernels", nn.Kernels()), // others round otherwise
	}
	if c.onGiven() || c.score != "" {
		settings = append(settings, cli.Setting("splits", c.identity()), cli.Setting("-refit", c.refit), cli.Setting("-score", c.score))
	}
	if c.score != "" {
		settings = append(settings, cli.Setting("equal scores", "by the loss"))
	}
	s, err := cli.OpenStore(c.checkpoint, c.resume, settings)
	return results{s}, err
}

// trialName stands before the names of the trials of a cell: they are of these graphs and of
// this version of the system.
func trialName(d *collection.Data, s *system) (string, error) {
	sum, err := record.Digest(d.Graphs.Records()...)
	identity := sha256.Sum256([]byte(sum + s.on(d)))
	return fmt.Sprintf("trial-%s-%x-", cellName(d, s), identity[:6]), err
}

func cellName(d *collection.Data, s *system) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, d.Name)
	return name + "." + s.name
}

// finished returns a cell that was done before, or nil. One that failed, ran out of
// a shorter limit, or is of a system that another version made otherwise, is tried
// again.
func (s results) finished(c *config, d *collection.Data, of *system) (*cell, error) {
	name := cellName(d, of)
	var k kept
	if ok, err := s.Get(name, &k); err != nil {
		return nil, fmt.Errorf("-resume: %w", err)
	} else if !ok {
		return nil, nil
	}
	sum, err := record.Digest(d.Graphs.Records()...)
	switch {
	case err != nil:
		return nil, err
	case k.Graphs != sum:
		return nil, fmt.Errorf("-resume: %s is of other graphs", s.Path(name))
	case k.Cell == nil || k.Cell.Dataset != d.Name || k.Cell.System != of.name:
		return nil, fmt.Errorf("-resume: %s is of another cell", s.Path(name))
	case k.System != of.on(d):
		fmt.Fprintf(os.Stderr, "%s is of another version of %s: the cell is computed again\n", s.Path(name), of.name)
		return nil, nil
	case k.Cell.Status == done && !k.Cell.whole(c, of):
		return nil, fmt.Errorf("-resume: %s has not the results of %d folds", s.Path(name), c.folds*c.repeats)
	case k.Cell.Status == done || strings.HasPrefix(k.Cell.Status, ">") && c.limit > 0 && c.limit <= k.Limit:
		return k.Cell, nil
	}
	return nil, nil
}

// finish keeps a cell.
func (s results) finish(d *collection.Data, of *system, one *cell, limit time.Duration) error {
	if s.Store == nil {
		return nil
	}
	sum, err := record.Digest(d.Graphs.Records()...)
	if err != nil {
		return err
	}
	return s.Put(cellName(d, of), kept{sum, of.on(d), limit, one})
}
