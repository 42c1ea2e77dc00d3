package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// results is the store of -checkpoint: an entry for each cell that is done, for each trial of a system
// with random numbers, and for each collection the SHA-256 of its graphs. A later run may have more
// collections and systems.
type results struct{ *store.Store }

// kept is the entry of a cell.
type kept struct {
	System string `json:"of_system"` // its identity
	Cell   *cell  `json:"cell"`
}

// openStore begins a run in the directory, or resumes one. Without a directory the store keeps nothing.
// The settings are those that decide all cells.
func openStore(c *config) (results, error) {
	if c.checkpoint == "" {
		return results{}, nil
	}
	settings := []store.Setting{
		cli.Setting("-folds", c.folds), cli.Setting("-repeats", c.repeats), cli.Setting("-seed", c.seed), cli.Setting("-inner", c.inner),
		cli.Setting("kernels", nn.Kernels()), // other kernels round differently
	}
	if c.onGiven() || c.score != "" {
		settings = append(settings, cli.Setting("splits", c.identity()), cli.Setting("-refit", c.refit), cli.Setting("-score", c.score))
	}
	if c.score != "" {
		settings = append(settings, cli.Setting("equal scores", "by the loss"))
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

// trialName is the start of the names of the trials of a cell. It has the identity of the system.
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

// same stores the SHA-256 of the Arrow IPC file of a collection, and refuses other graphs of that name.
func (s results) same(ctx context.Context, d *collection) error {
	if s.Store == nil {
		return nil
	}
	name, was, graphs := cellName(d, "graphs"), "", sha256.New()
	if err := flow.From(sources.Records{Records: d.Records()}).To(sinks.IPC{W: graphs}).Run(ctx); err != nil {
		return err
	}
	sum := hex.EncodeToString(graphs.Sum(nil))
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

// finished returns a stored cell, or nil. A cell that failed, or of another identity, is not returned.
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

// finish stores a cell.
func (s results) finish(d *collection, of *system, one *cell) error {
	return s.Put(cellName(d, of.name), kept{of.on(d), one})
}
