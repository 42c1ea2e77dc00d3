package dynamic_test

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/sanflow/sanflow/flow/graph/dynamic"
)

// A graph that was saved and loaded is the same, and goes on the same.
func TestState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		g, err := dynamic.New(s)
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.SampledFrom([]int{4, 12, 300}).Draw(t, "n")
		run := func(events int, graphs ...*dynamic.Graph) {
			for i := range events {
				e := drawEvent(t, s, n, int64(i), int64(i))
				for _, g := range graphs {
					if err := g.Apply(&e, nil, nil); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		run(rapid.IntRange(0, 60).Draw(t, "before"), g)
		var text bytes.Buffer
		if err := g.Save(&text); err != nil {
			t.Fatal(err)
		}
		saved := bytes.Clone(text.Bytes())
		text.WriteString("more")
		h, err := dynamic.Load(&text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if text.String() != "more" {
			t.Fatalf("%q is left, want what follows the state", text.String())
		}
		run(rapid.IntRange(0, 40).Draw(t, "after"), g, h)
		if !reflect.DeepEqual(g.Graph(), h.Graph()) || g.M() != h.M() || g.Stats() != h.Stats() {
			t.Fatal("the graph that was loaded goes on in another way")
		}
		var a, b bytes.Buffer
		if err := g.Save(&a); err != nil {
			t.Fatal(err)
		}
		if err := h.Save(&b); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatalf("the states differ: %v", err)
		}
		// Damage is found, by the checksum or, where that is right, by the rules.
		at := rapid.IntRange(0, len(saved)-1).Draw(t, "at")
		saved[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, err := dynamic.Load(bytes.NewReader(saved), 0); err == nil {
			t.Fatalf("no error with bit flipped at %d", at)
		}
		if _, err := dynamic.Load(bytes.NewReader(saved[:at]), 0); err == nil {
			t.Fatalf("no error cut at %d", at)
		}
	})
}

// FuzzState changes states and makes the checksum right: what is loaded can be used.
func FuzzState(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, s := range []dynamic.Settings{{}, {Directed: true, EdgeCats: 1}, {NodeCats: 1, NodeAttrs: 2, Last: 9}, {Within: 4, Directed: true}} {
		g, err := dynamic.New(s)
		if err != nil {
			f.Fatal(err)
		}
		for i := range 40 {
			e := randomEvent(rng, i, s)
			if err := g.Apply(&e, nil, nil); err != nil {
				f.Fatal(err)
			}
		}
		var text bytes.Buffer
		if err := g.Save(&text); err != nil {
			f.Fatal(err)
		}
		f.Add(text.Bytes()[:text.Len()-sha256.Size], int64(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, seed int64) {
		sum := sha256.Sum256(b)
		g, err := dynamic.Load(bytes.NewReader(append(bytes.Clone(b), sum[:]...)), 1<<12)
		if err != nil {
			return
		}
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		for i := range 30 {
			e := randomEvent(rng, i, g.Settings())
			_ = g.Apply(&e, nil, nil)
		}
		if err := g.Graph().Check(); err != nil {
			t.Fatal(err)
		}
	})
}
