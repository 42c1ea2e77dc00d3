package count_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/count"
)

// The counters of package count keep the rules.
func TestCounters(t *testing.T) {
	race.Skip(t)
	for _, c := range append(count.Standard(), count.Around{}, count.Pair{}, count.Attributes{}, count.Fields{K: []int{4}, Selected: true}) {
		t.Run(c.String(), func(t *testing.T) { checkRules(t, c) })
	}
}

// broken is a counter made of a function.
type broken struct {
	name string
	f    func(in count.Input, bag *count.Bag) error
}

func (b broken) Prepare() (count.Worker, error)             { return b, nil }
func (b broken) String() string                             { return b.name }
func (b broken) Count(in count.Input, bag *count.Bag) error { return b.f(in, bag) }

// Each check finds a counter that breaks its rule, and the error has a graph that can be
// pasted.
func TestBrokenCounters(t *testing.T) {
	patience = 100 * time.Millisecond
	defer func() { patience = 10 * time.Second }()
	var calls atomic.Int64
	for name, c := range map[string]struct {
		broken
		want string
	}{
		"name": {broken{"", func(count.Input, *count.Bag) error { return nil }}, "the name is empty"},
		"counts": {broken{"panics", func(in count.Input, bag *count.Bag) error {
			if in.Graph.N() == 7 {
				panic("of seven")
			}
			return nil
		}}, "panic: of seven\nroots: []\n# undirected, nodes: 7, edges: 6\n0 1\n0 2\n0 3\n0 4\n0 5\n0 6\n"},
		"numbering": {broken{"first", func(in count.Input, bag *count.Bag) error {
			if in.Graph.N() > 0 {
				bag.Add(uint64(in.Graph.Degree(0)), 1)
			}
			return nil
		}}, "renumbered by"},
		"bag": {broken{"empties", func(in count.Input, bag *count.Bag) error {
			bag.Reset()
			return nil
		}}, "with a bag that is not empty: there are 0 different things, want 2"},
		"input": {broken{"writes", func(in count.Input, bag *count.Bag) error {
			if len(in.Roots) > 0 {
				in.Roots[0]++
			}
			return nil
		}}, "was written to"},
		"concurrent": {broken{"remembers", func(in count.Input, bag *count.Bag) error {
			if n := calls.Add(1); n > int64(len(ruleInputs())) {
				bag.Add(uint64(n), 1)
			}
			return nil
		}}, "in 8 goroutines"},
		"context": {broken{"sleeps", func(in count.Input, bag *count.Bag) error {
			time.Sleep(time.Second)
			return nil
		}}, "after its context has ended"},
	} {
		for _, check := range checks {
			if check.name != name {
				continue
			}
			if err := check.run(c.broken); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		}
	}
	n := 0
	for message, f := range map[string]func(in count.Input, bag *count.Bag) error{
		": entry 0 is": func(in count.Input, bag *count.Bag) error {
			n++
			bag.Add(uint64(n), 1)
			return nil
		},
		": the error is": func(in count.Input, bag *count.Bag) error {
			if n++; n%2 == 0 {
				return errors.New("every other")
			}
			return nil
		},
	} {
		if err := checkCounts(broken{"broken", f}); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%v, want %s", err, message)
		}
	}
}
