package generate_test

import (
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources/generate"
)

// What has more entries than 32-bit offsets can tell is refused before any of it is
// made.
func TestTooManyEntries(t *testing.T) {
	for name, make := range map[string]func() (*graph.Graph, error){
		"ErdosRenyi":             func() (*graph.Graph, error) { return generate.ErdosRenyi(1<<20, 1<<30, 1) },
		"PreferentialAttachment": func() (*graph.Graph, error) { return generate.PreferentialAttachment(1<<30, 2, 1) },
		"Torus":                  func() (*graph.Graph, error) { return generate.Torus(1<<15, 1<<15) },
		"Torus of 2⁶²":           func() (*graph.Graph, error) { return generate.Torus(1<<31, 1<<31) },
		"RMAT":                   func() (*graph.Graph, error) { return generate.RMAT(30, 1<<30, 1) },
		"RandomDegrees":          func() (*graph.Graph, error) { return generate.RandomDegrees(math.MaxInt32, []float64{0, 1}, 1) },
		"too many nodes":         func() (*graph.Graph, error) { return generate.RandomDegrees(1<<31, []float64{0, 1}, 1) },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := make()
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; err == nil || strings.Contains(err.Error(), "\n") || taken > 1<<20 {
			t.Errorf("%s: %v, and %d bytes were taken", name, err, taken)
		}
	}
}
