package dynamic_test

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/internal/race"
)

// States with changed bytes and right checksums are refused, or are graphs that can be used.
func TestHostileState(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var seeds [][]byte
	for _, s := range []dynamic.Settings{{}, {Directed: true, EdgeCats: 1}, {NodeCats: 1, NodeAttrs: 2, Last: 9}, {Within: 4, Directed: true}} {
		g, err := dynamic.New(s)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			e := randomEvent(rng, i, s)
			if err := g.Apply(&e, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		var text bytes.Buffer
		if err := g.Save(&text); err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, text.Bytes()[:text.Len()-sha256.Size])
	}
	loaded := 0
	for range race.Share(8000) {
		b := bytes.Clone(seeds[rng.IntN(len(seeds))])
		for range 1 + rng.IntN(3) {
			switch at := rng.IntN(len(b)); rng.IntN(3) {
			case 0:
				b[at] ^= 1 << rng.IntN(8)
			case 1:
				b[at] = byte(rng.IntN(256))
			default:
				b[at/4*4] = byte(rng.IntN(4))
			}
		}
		sum := sha256.Sum256(b)
		g, err := dynamic.Load(bytes.NewReader(append(b, sum[:]...)), 1<<12)
		if err != nil {
			continue
		}
		loaded++
		for i := range 30 {
			e := randomEvent(rng, i, g.Settings())
			_ = g.Apply(&e, nil, nil)
		}
		if err := g.Graph().Check(); err != nil {
			t.Fatal(err)
		}
	}
	if loaded == 0 {
		t.Error("no state was loaded")
	}
}
