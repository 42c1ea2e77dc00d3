package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/file/store"
	in "github.com/sanflow/sanflow/sources/jetstream"
)

// settings are the flags that decide what is learned.
func (c *config) settings() []store.Setting {
	s := []store.Setting{cli.Setting("data", c.data), cli.Setting("graph", c.graph.Path), cli.Setting("k", c.k)}
	if c.large() {
		s = append(s, cli.Setting("n", c.graph.N))
	} else {
		s = append(s, cli.Setting("w", c.w))
	}
	return append(s, cli.Setting("repeat", c.repeat), cli.Setting("seed", c.seed), cli.Setting("epochs", c.epochs))
}

// openJob takes the directory for this run, and keeps its settings there. The caller
// closes it: until then the directory is no other run's.
func (c *config) openJob() (*store.Store, error) {
	s, err := store.Open(nil, c.dir)
	if err != nil {
		return nil, fmt.Errorf("-dir: %w", err)
	}
	if err = c.sameJob(s); err == nil {
		err = s.Put("job", c.settings())
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// sameJob refuses a directory with a run of other settings, whose model would be taken
// for this one's. More epochs are no others: they come behind those that were.
func (c *config) sameJob(s *store.Store) error {
	var job []store.Setting
	if _, err := s.Get("job", &job); err != nil || len(job) == 0 || !c.begun() {
		return err
	}
	then := map[string]string{}
	for _, s := range job {
		then[s.Name] = s.Value
	}
	for _, s := range c.settings() {
		old := then[s.Name]
		if s.Name == "epochs" {
			if n, err := strconv.Atoi(old); err == nil && n <= c.epochs {
				continue
			}
		}
		if old != s.Value {
			return fmt.Errorf("-%s is %s, and the run in -dir %s has %s: set it so, or another -dir", s.Name, orNone(s.Value), c.dir, orNone(old))
		}
	}
	return nil
}

// startOver says how to start over under the same name.
func (c *config) startOver() string {
	graphs, fields := c.streams()
	return fmt.Sprintf("cluster -url … -name %s -reset -dir DIR deletes what the run keeps, to start over: the streams %s, %s and %[3]s-late, and the checkpoint in the -dir of the trainer", c.name, graphs, fields)
}

// deleteAll deletes the streams of the name and the checkpoint in the directory, and says which.
func (c *config) deleteAll(ctx context.Context) error {
	graphs, fields := c.streams()
	what := fmt.Sprintf("the streams %s, %s and %[2]s-late, with their object stores", graphs, fields)
	if c.dir != "" {
		if _, err := os.Stat(c.dir); err != nil {
			return fmt.Errorf("-dir: %w", err)
		}
		job, err := store.Open(nil, c.dir) // no trainer runs in it
		if err != nil {
			return fmt.Errorf("-dir: %w", err)
		}
		defer job.Close()
		what += ", and " + c.checkpoint()
	}
	fmt.Println("to delete, where it is there:", what)
	deleted, err := in.Delete(ctx, c.connection(), graphs, fields)
	if err == nil && c.dir != "" {
		if err = os.Remove(c.checkpoint()); err == nil {
			deleted = append(deleted, c.checkpoint())
		} else if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	fmt.Println("deleted:", cmp.Or(strings.Join(deleted, ", "), "nothing"))
	return err
}

func orNone(s string) string {
	if s == "" {
		return "not set"
	}
	return s
}

func (c *config) checkpoint() string { return filepath.Join(c.dir, "model.checkpoint") }

// begun reports whether the directory has fields or a model of a run.
func (c *config) begun() bool {
	for _, name := range []string{c.checkpoint(), filepath.Join(c.dir, "broker-0")} {
		if _, err := os.Stat(name); err == nil {
			return true
		}
	}
	return false
}

// earlier is what the model in the directory had learned from before this run.
type earlier struct {
	Rows   int64 `json:"rows"`
	Fields int64 `json:"fields"`
}

// resumed takes what was there before out of the rate, and says so.
func (r *report) resumed(e earlier) {
	if e.Rows == 0 {
		return
	}
	r.FieldsPerS = float64(max(0, r.Fields-e.Fields)) / r.Seconds
	if r.Trained == e.Rows {
		fmt.Fprintf(os.Stderr, "already complete in %s: nothing was left to learn\n", r.config.dir)
		return
	}
	fmt.Fprintf(os.Stderr, "went on in %s, where %d rows were learned from before\n", r.config.dir, e.Rows)
}
