package field_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/operators/field"
)

// edgesOf reads the lines "source target", or "source target time", of a file.
func edgesOf(t *testing.T, path string) (events []event.Event) {
	t.Helper()
	if os.Getenv("SANFLOW_LONG") == "" {
		t.Skip("takes minutes: set SANFLOW_LONG=1 and SANFLOW_DATA")
	}
	f, err := os.Open(filepath.Join(os.Getenv("SANFLOW_DATA"), path))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(z); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		e := event.Event{Pos: int64(len(events))}
		if n, err := fmt.Sscan(lines.Text(), &e.Source, &e.Target, &e.Time); n < 2 {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// Kept fields are those of the graph computed anew, at ten moments of large graphs that
// arrive in a random order, and of contacts in a window.
func TestLongFields(t *testing.T) {
	for _, c := range []struct {
		path     string
		settings dynamic.Settings
		batch    int
	}{
		{"graphs/astro-ph.edges.gz", dynamic.Settings{}, 100},
		{"graphs/email-Enron.edges.gz", dynamic.Settings{}, 18_000},
		{"temporal/CollegeMsg.txt.gz", dynamic.Settings{Last: 5000}, 20},
		{"temporal/CollegeMsg.txt.gz", dynamic.Settings{Directed: true, Within: 14 * 24 * 3600}, 20},
		{"temporal/email-Eu-core-temporal.txt.gz", dynamic.Settings{Last: 20_000}, 200},
	} {
		t.Run(fmt.Sprint(c.path, c.settings.Last, c.settings.Within), func(t *testing.T) {
			events := edgesOf(t, c.path)
			if strings.HasPrefix(c.path, "graphs") {
				rng := rand.New(rand.NewPCG(1, 2))
				rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
			}
			f := emptyKept(t, c.settings, field.Both, &field.Normalizer{K: 10, Cache: field.NewCache(16 << 20)})
			moment := len(events) / 10
			for i, e := range events {
				if err := f.Apply(&e); err != nil {
					t.Fatal(err)
				}
				if i%c.batch == c.batch-1 || i%moment == moment-1 {
					if err := f.Refresh(func(int32, []int32, []uint8) error { return nil }); err != nil {
						t.Fatal(err)
					}
				}
				if i%moment == moment-1 {
					if err := madeAnew(f, field.Both, field.Normalizer{K: 10}); err != nil {
						t.Fatalf("after event %d: %v", i, err)
					}
				}
			}
			t.Logf("%+v of %+v", f.Stats(), f.Graph().Stats())
		})
	}
}
