package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// results is what -checkpoint keeps: an entry for each cell that is done, or for each trial of one model or
// of splits that were given, and for each collection the SHA-256 of its graphs. Collections and systems may
// be added later.
type results struct{ *store.Store }

// kept is an entry of a cell.
type kept struct {
	System string `json:"of_system"` // in full
	Cell   *cell  `json:"cell"`
}

// openStore begins a run in the directory, or resumes the one there; without a directory it keeps
// nothing. Its settings are what decides all cells.
func openStore(c *config) (results, error) {
	if c.checkpoint == "" {
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
	if o := c.one; o != nil {
		settings = append(settings,
			cli.Setting("-k", o.k), cli.Setting("-w", o.w), cli.Setting("-stride", o.stride), cli.Setting("-select", o.selecting), cli.Setting("-normalize", o.normal),
			cli.Setting("-epochs", o.epochs), cli.Setting("-batch", o.batch), cli.Setting("-protocol", c.protocol),
			cli.Setting("-field-edges", o.edges), cli.Setting("-model-kind", o.kind), cli.Setting("-pretrain", o.pretrain))
	}
	s, err := store.Open(nil, c.checkpoint)
	if err != nil {
		return results{}, fmt.Errorf("-checkpoint: %w", err)
	}
	switch err = s.Begin(settings, c.resume); {
	case err == nil:
		return results{s}, nil
	case errors.Is(err, store.ErrBegun):
		err = fmt.Errorf("-checkpoint: %w; resume it by -resume, or name another directory", err)
	default:
		err = fmt.Errorf("-resume: %w", err)
	}
	return results{}, errors.Join(err, s.Close())
}

// trialName stands before the names of the trials of a cell: they are of this version of the system.
func trialName(d *collection, s *system) string {
	identity := sha256.Sum256([]byte(s.on(d)))
	return fmt.Sprintf("trial-%s-%x-", cellName(d, s.name), identity[:6])
}

func cellName(d *collection, of string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, d.Name)
	return name + "." + of
}

// same notes the graphs of a collection, and refuses others of that name.
func (s results) same(d *collection) error {
	if s.Store == nil {
		return nil
	}
	name, was := cellName(d, "graphs"), ""
	sum, err := record.Digest(d.Graphs.Records()...)
	if err != nil {
		return err
	}
	switch ok, err := s.Get(name, &was); {
	case err != nil:
		return fmt.Errorf("-resume: %w", err)
	case !ok:
		return s.Put(name, sum)
	case was != sum:
		return fmt.Errorf("-resume: %s is of other graphs", s.Path(name))
	}
	return nil
}

// finished returns a cell that was done before, or nil. One that failed, or is of a
// system that another version made otherwise, is tried again.
func (s results) finished(c *config, d *collection, of *system) (*cell, error) {
	name := cellName(d, of.name)
	var k kept
	ok, err := s.Get(name, &k)
	switch {
	case err != nil:
		return nil, fmt.Errorf("-resume: %w", err)
	case !ok:
		return nil, nil
	case k.Cell == nil || k.Cell.Dataset != d.Name || k.Cell.System != of.name:
		return nil, fmt.Errorf("-resume: %s is of another cell", s.Path(name))
	case k.System != of.on(d):
		fmt.Fprintf(os.Stderr, "%s is of another version of %s: the cell is computed again\n", s.Path(name), of.name)
		return nil, nil
	case k.Cell.Status == done && !k.Cell.whole(c, of):
		return nil, fmt.Errorf("-resume: %s has not the results of %d folds", s.Path(name), c.folds*c.repeats)
	case k.Cell.Status == done:
		return k.Cell, nil
	}
	return nil, nil
}

// finish keeps a cell; one model has a report beside it, and keeps trials alone.
func (s results) finish(c *config, d *collection, of *system, one *cell) error {
	if c.one != nil {
		return nil
	}
	return s.Put(cellName(d, of.name), kept{of.on(d), one})
}
