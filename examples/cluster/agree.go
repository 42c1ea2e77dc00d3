package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	in "github.com/sanflow/sanflow/sources/jetstream"
)

// terms are the settings that a role works by, and those that it was given, by flag. The
// feed and the workers keep them with the streams they make. A role that joins later has to have
// the same, or the model would silently be another.
type terms map[string]string

// termRows is what the feed says of a large graph beside its flags: rows to learn from.
const termRows = "rows"

func (c *config) terms() terms {
	t := terms{}
	feed, work, train := c.role == "feed", c.role == "work", c.role == "train"
	add := func(flag, value string, needed bool) {
		if needed || c.given[flag] {
			t[flag] = value
		}
	}
	generated := slices.Contains(input.Families, c.graph.Path)
	add("data", dataName(c.data), feed) // the path may be another on each machine
	add("graph", dataName(c.graph.Path), true)
	add("k", strconv.Itoa(c.k), work || feed && c.large())
	if !c.large() {
		add("w", strconv.Itoa(c.w), work)
	}
	if generated {
		add("n", strconv.Itoa(c.graph.N), feed)
	}
	if train || feed && (generated || !c.large() && c.data == "") { // else one may try several
		t["seed"] = strconv.FormatUint(c.seed, 10)
	}
	add("repeat", strconv.Itoa(c.repeat), feed)
	add("bound", strconv.Itoa(c.bound), work || train)
	return t
}

func dataName(path string) string {
	if path == "" {
		return ""
	}
	return cli.DataName(path)
}

// agree names a setting of a role that differs from that of a stream.
func (t terms) agree(there terms, stream string) error {
	for _, flag := range slices.Sorted(maps.Keys(t)) {
		if was, ok := there[flag]; ok && was != t[flag] {
			return fmt.Errorf("-%s is %s, and the stream %s was made with %s: set it so, use another -name, or start over with -reset", flag, orNone(t[flag]), stream, orNone(was))
		}
	}
	return nil
}

// join compares the settings with those of a stream, for which it waits that long, and
// returns those of the stream. If there is no stream yet, and there need not be one, they are
// its own.
func (c *config) join(ctx context.Context, name string, wait time.Duration) (terms, in.Info, error) {
	own := c.terms()
	info, err := in.Look(ctx, c.connection(), name, wait)
	if errors.Is(err, jetstream.ErrStreamNotFound) && wait == 0 {
		return own, info, nil
	}
	if err != nil || info.Recipe == "" {
		return own, info, err
	}
	var there terms
	if err := json.Unmarshal([]byte(info.Recipe), &there); err != nil {
		return nil, info, fmt.Errorf("stream %s was not made by this command: %w", name, err)
	}
	return there, info, own.agree(there, name)
}

// text is how a stream keeps them.
func (t terms) text() (string, error) {
	b, err := json.Marshal(t)
	return string(b), err
}

// rows returns how many there are to learn from in an epoch, where the feed has said
// it, or else -1.
func (t terms) rows() int64 {
	n, err := strconv.ParseInt(t[termRows], 10, 64)
	if err != nil {
		return -1
	}
	return n
}
