package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sanflow/sanflow/examples/internal/cli"
)

// setting is a flag that decides what is learned.
type setting struct{ Flag, Value string }

func (c *config) settings() []setting {
	s := []setting{{"data", c.data}, {"graph", c.graph.Path}, {"k", strconv.Itoa(c.k)}}
	if c.large() {
		s = append(s, setting{"n", strconv.Itoa(c.graph.N)})
	} else {
		s = append(s, setting{"w", strconv.Itoa(c.w)})
	}
	return append(s, setting{"repeat", strconv.Itoa(c.repeat)}, setting{"seed", strconv.FormatUint(c.seed, 10)}, setting{"epochs", strconv.Itoa(c.epochs)})
}

// sameJob refuses a directory with a run of other settings, whose model would be taken
// for this one's. More epochs are no others: they come behind those that were.
func (c *config) sameJob() error {
	path := filepath.Join(c.dir, "job.json")
	if was, err := os.ReadFile(path); err == nil && c.begun() {
		var job []setting
		if err := json.Unmarshal(was, &job); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		then := map[string]string{}
		for _, s := range job {
			then[s.Flag] = s.Value
		}
		for _, s := range c.settings() {
			old := then[s.Flag]
			if s.Flag == "epochs" {
				if n, err := strconv.Atoi(old); err == nil && n <= c.epochs {
					continue
				}
			}
			if old != s.Value {
				return fmt.Errorf("-%s is %s, and the run in -dir %s has %s: set it so, or another -dir", s.Flag, orNone(s.Value), c.dir, orNone(old))
			}
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := cli.Create(path)
	if err != nil {
		return err
	}
	defer f.Cleanup()
	return f.FinishJSON(c.settings())
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
