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
	"slices"
	"strings"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/collection"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// store is the directory of -checkpoint; a nil one keeps nothing.
//
//	run.json              what the cells have in common: another run cannot go on
//	DATASET.SYSTEM.json   a cell that is done
//
// Files appear whole or not at all. Collections and systems may be added later.
type store struct{ dir string }

// common is what decides all cells.
type common struct {
	Folds   int    `json:"folds"`
	Repeats int    `json:"repeats"`
	Seed    uint64 `json:"seed"`
	Inner   bool   `json:"inner,omitempty"`
	Kernels string `json:"kernels"` // round otherwise than others
}

// kept is a file of a cell.
type kept struct {
	Graphs string        `json:"graphs_sha256"`
	System string        `json:"of_system"` // in full
	Limit  time.Duration `json:"limit"`
	Cell   *cell         `json:"cell"`
}

// openStore begins a run in the directory, or goes on with the one there.
func openStore(c *config) (*store, error) {
	if c.checkpoint == "" {
		return nil, nil
	}
	if err := os.MkdirAll(c.checkpoint, 0o755); err != nil {
		return nil, fmt.Errorf("-checkpoint: %w", err)
	}
	s := &store{c.checkpoint}
	this, there := common{c.folds, c.repeats, c.seed, c.inner, nn.Kernels()}, common{}
	switch err := s.read("run.json", &there); {
	case errors.Is(err, fs.ErrNotExist):
		return s, s.write("run.json", this)
	case err != nil:
		return nil, err
	case s.empty(): // it came to an end before its first cell
		return s, s.write("run.json", this)
	case !c.resume:
		return nil, fmt.Errorf("-checkpoint: %s holds a run; go on with it by -resume, or name another directory", s.dir)
	}
	for _, v := range []struct {
		name       string
		there, now any
	}{
		{"-folds", there.Folds, this.Folds}, {"-repeats", there.Repeats, this.Repeats}, {"-seed", there.Seed, this.Seed}, {"-inner", there.Inner, this.Inner}, {"kernels", there.Kernels, this.Kernels},
	} {
		if v.there != v.now {
			return nil, fmt.Errorf("-resume: %s is of a run with %s %v, this one has %s %v", s.dir, v.name, v.there, v.name, v.now)
		}
	}
	return s, nil
}

// empty reports whether no cell is kept.
func (s *store) empty() bool {
	files, err := os.ReadDir(s.dir)
	return err == nil && !slices.ContainsFunc(files, func(f fs.DirEntry) bool {
		return f.Name() != "run.json" && filepath.Ext(f.Name()) == ".json"
	})
}

func (s *store) read(name string, v any) error {
	path := filepath.Join(s.dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("-resume: %s is damaged: %w", path, err)
	}
	return nil
}

func (s *store) write(name string, v any) error {
	f, err := cli.Create(filepath.Join(s.dir, name))
	if err != nil {
		return err
	}
	defer f.Cleanup()
	return f.FinishJSON(v)
}

func cellFile(d *collection.Data, s *system) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, d.Name)
	return name + "." + s.name + ".json"
}

// finished returns a cell that was done before, or nil. One that failed, ran out of
// a shorter limit, or is of a system that another version made otherwise, is tried
// again.
func (s *store) finished(c *config, d *collection.Data, of *system) (*cell, error) {
	if s == nil {
		return nil, nil
	}
	name := cellFile(d, of)
	var k kept
	err := s.read(name, &k)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sum, err := digest(d)
	switch {
	case err != nil:
		return nil, err
	case k.Graphs != sum:
		return nil, fmt.Errorf("-resume: %s is of other graphs", filepath.Join(s.dir, name))
	case k.Cell == nil || k.Cell.Dataset != d.Name || k.Cell.System != of.name:
		return nil, fmt.Errorf("-resume: %s is damaged: it is of another cell", filepath.Join(s.dir, name))
	case k.System != of.on(d):
		return nil, nil
	case k.Cell.Status == done && !k.Cell.whole(c.folds*c.repeats):
		return nil, fmt.Errorf("-resume: %s is damaged: it has not the results of %d folds", filepath.Join(s.dir, name), c.folds*c.repeats)
	case k.Cell.Status == done || strings.HasPrefix(k.Cell.Status, ">") && c.limit > 0 && c.limit <= k.Limit:
		return k.Cell, nil
	}
	return nil, nil
}

// finish keeps a cell.
func (s *store) finish(d *collection.Data, of *system, one *cell, limit time.Duration) error {
	if s == nil {
		return nil
	}
	sum, err := digest(d)
	if err != nil {
		return err
	}
	return s.write(cellFile(d, of), kept{sum, of.on(d), limit, one})
}

// digest returns the SHA-256 of the graphs and their classes.
func digest(d *collection.Data) (string, error) {
	h := sha256.New()
	for _, rec := range d.Graphs.Records() {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			return "", err
		}
		var g graph.Graph
		for row := range gs.Len() {
			gs.At(row, &g)
			parts := []any{g.Offsets, g.Neighbors, g.NodeCat, g.NodeAttr, g.EdgeCat, g.EdgeAttr}
			if g.Directed {
				parts = append(parts, []byte("directed"))
			}
			if g.SparseCard > 0 {
				parts = append(parts, []byte("sparse"), int64(g.SparseCard), g.NodeSparse)
				for v := range int32(g.N()) { // offsets need not begin at 0
					parts = append(parts, g.SparseOffsets[v+1]-g.SparseOffsets[v])
				}
			}
			for _, v := range parts {
				binary.Write(h, binary.LittleEndian, v) // a hash returns no error
			}
		}
	}
	binary.Write(h, binary.LittleEndian, d.Class)
	return hex.EncodeToString(h.Sum(nil)), nil
}
