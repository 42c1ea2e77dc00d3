package temporal

import (
	"bytes"
	"crypto/sha256"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
)

func rated(n, nodes int, seed uint64) []event.Event {
	rng := rand.New(rand.NewPCG(seed, 2))
	list := random(n, nodes, seed)
	for i := range list {
		if rng.IntN(3) == 0 {
			list[i].Attr = []float32{rng.Float32() - 0.5}
		}
	}
	return list
}

// same reports whether two slices have the same bits.
func same(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// A history that is saved and loaded after any event describes all that follows in the
// same way, and is saved as the same bytes.
func TestState(t *testing.T) {
	const nodes = 14
	all := make([]int32, nodes)
	for i := range all {
		all[i] = int32(i)
	}
	for i, set := range []History{{}, {Last: 40}, {Within: 30}, {Last: 25, Within: 60}} {
		a, b := set, set
		var x, y [nodes * Features]float32
		for at, e := range rated(500, nodes, uint64(i)) {
			for _, h := range []*History{&a, &b} {
				if err := h.Add(e); err != nil {
					t.Fatal(err)
				}
			}
			s := int32(at % nodes)
			if a.Describe(s, e.Time+3, 1, all, x[:]) != nil || b.Describe(s, e.Time+3, 1, all, y[:]) != nil || !same(x[:], y[:]) {
				t.Fatalf("%+v, event %d: other features", set, at)
			}
			if at%41 != 0 {
				continue
			}
			var text, again bytes.Buffer
			if err := a.Save(&text); err != nil {
				t.Fatal(err)
			}
			saved := bytes.Clone(text.Bytes())
			b = set
			if err := b.Load(&text); err != nil {
				t.Fatal(err)
			}
			if err := b.Save(&again); err != nil || !bytes.Equal(saved, again.Bytes()) {
				t.Fatalf("%+v, event %d: another state: %v", set, at, err)
			}
			other := History{Last: 7}
			if err := other.Load(bytes.NewReader(saved)); err == nil {
				t.Fatal("a state of another window is loaded")
			}
			saved[at%len(saved)] ^= 2
			if err := other.Load(bytes.NewReader(saved)); err == nil {
				t.Fatal("a damaged state is loaded")
			}
		}
	}
}

// FuzzState changes states and makes the checksum right: what is loaded can be used.
func FuzzState(f *testing.F) {
	sets := []History{{}, {Last: 12}, {Within: 20}}
	for i := range 3 {
		var text bytes.Buffer
		h := sets[i]
		for _, e := range rated(40, 6, uint64(i)) {
			if err := h.Add(e); err != nil {
				f.Fatal(err)
			}
		}
		if err := h.Save(&text); err != nil {
			f.Fatal(err)
		}
		f.Add(text.Bytes()[:text.Len()-sha256.Size], byte(i))
	}
	f.Fuzz(func(t *testing.T, b []byte, which byte) {
		sum := sha256.Sum256(b)
		r := bytes.NewReader(append(bytes.Clone(b), sum[:]...))
		h := sets[which%3]
		if h.Load(r) != nil {
			return
		}
		all := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8}
		x := make([]float32, len(all)*Features)
		for _, e := range rated(60, 9, 1) {
			if err := h.Describe(e.Source, e.Time, 0, all, x); err != nil {
				t.Fatal(err)
			}
			if err := h.Add(e); err != nil {
				t.Fatal(err)
			}
		}
	})
}
