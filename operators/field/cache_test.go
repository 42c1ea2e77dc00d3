package field_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/field"
)

// counted is what a cache must not change.
func counted(s field.Stats) field.Stats {
	s.CacheHits, s.CacheLookups = 0, 0
	return s
}

// sameFields compares the fields of one graph with and without a cache.
func sameFields(t *testing.T, name string, c named, dir field.Direction, plain, cached *field.Normalizer) {
	t.Helper()
	want := fields(t, c.g, dir, plain, nil)
	for range 2 {
		plain.Stats, cached.Stats = field.Stats{}, field.Stats{}
		fields(t, c.g, dir, plain, nil)
		got := fields(t, c.g, dir, cached, nil)
		for v := range want {
			if !slices.Equal(got[v], want[v]) {
				t.Fatalf("%s, %s, k=%d, root %d: %v, without a cache %v", c.name, name, plain.K, v, got[v], want[v])
			}
		}
		if counted(cached.Stats) != plain.Stats {
			t.Fatalf("%s, %s, k=%d: counts %+v, without a cache %+v", c.name, name, plain.K, cached.Stats, plain.Stats)
		}
	}
}

// One cache serves all graphs, sizes and settings in turn and changes nothing.
func TestCacheChangesNothing(t *testing.T) {
	settings := map[string]field.Normalizer{
		"default":  {},
		"uniform":  {Uniform: true},
		"no attrs": {IgnoreAttributes: true},
	}
	list := variants()
	rng := rand.New(rand.NewPCG(21, 22))
	for i := range 25 {
		g := random(rng, 2+rng.IntN(40), rng.IntN(80), i%3 == 2)
		if i%2 == 1 {
			g = withNodeAttributes(rng, g, i%3, i%2)
		}
		if i%5 == 1 {
			g = withEdgeAttributes(rng, g, 1, i%2)
		}
		list = append(list, named{"random", g})
	}
	list = race.Some(list)
	for bytes, cache := range map[string]*field.Cache{"small": field.NewCache(1 << 14), "large": field.NewCache(1 << 24)} {
		for name, s := range settings {
			for _, c := range list {
				for _, k := range race.Some([]int{1, 3, 5, 10, 25}) {
					plain := s
					plain.K = k
					cached := plain
					cached.Cache = cache
					sameFields(t, name+", "+bytes, c, field.Both, &plain, &cached)
				}
			}
		}
	}
}

func TestCacheChangesNothingOnRealGraphs(t *testing.T) {
	cache := field.NewCache(1 << 24)
	for _, name := range []string{"polbooks", "power"} {
		g := dataGraph(t, name)
		for _, k := range []int{5, 10, 25, 50} {
			plain, cached := field.Normalizer{K: k}, field.Normalizer{K: k, Cache: cache}
			sameFields(t, "real", named{name, g}, field.Both, &plain, &cached)
			t.Logf("%s, k=%d: %d of %d found", name, k, cached.Stats.CacheHits, cached.Stats.CacheLookups)
		}
	}
}

// Workers that share a cache, which is too small and so replaced again and
// again, still get what they get alone.
func TestSharedCache(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	list := []named{{"grid", grid(30, 30, 4, false)}, {"random", random(rng, 600, 1000, false)}}
	for _, c := range list {
		want := fields(t, c.g, field.Both, &field.Normalizer{K: 8}, nil)
		cache := field.NewCache(1 << 15)
		ix := field.NewIndex(c.g, field.Both)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				var a field.Assembler
				z := field.Normalizer{K: 8, Cache: cache}
				members := make([]int32, 8)
				for range 3 {
					for v := range int32(c.g.N()) {
						hood, dist := a.Assemble(ix, v, 8)
						if err := z.Normalize(ix, hood, dist, nil, members); err != nil {
							t.Error(err)
							return
						}
						if !slices.Equal(members, want[v]) {
							t.Errorf("%s, root %d: %v, alone %v", c.name, v, members, want[v])
							return
						}
					}
				}
			})
		}
		wg.Wait()
	}
}

// On a torus all fields but those at the seams of the numbering are the same.
func TestCacheHitsOnATorus(t *testing.T) {
	z := field.Normalizer{K: 10, Cache: field.NewCache(1 << 20)}
	fields(t, grid(60, 60, 4, true), field.Both, &z, nil)
	if s := z.Stats; s.CacheHits*10 < s.CacheLookups*9 {
		t.Errorf("%d of %d found, want nine of ten", s.CacheHits, s.CacheLookups)
	}
}

// A cache stays within its bytes however many fields go through it, and then
// allocates nothing for fields that do not come back.
func TestCacheIsBounded(t *testing.T) {
	const bytes = 1 << 16
	cache := field.NewCache(bytes)
	rng := rand.New(rand.NewPCG(41, 42))
	for range 5 {
		z := field.Normalizer{K: 10, Cache: cache}
		fields(t, random(rng, 2000, 4000, false), field.Both, &z, nil)
		if got := field.Bytes(cache); got == 0 || got > bytes/2 {
			t.Fatalf("%d bytes in use, want 1 to %d", got, bytes/2)
		}
	}
}

func TestCacheAllocatesNothingPerField(t *testing.T) {
	g := grid(30, 30, 4, true)
	ix := field.NewIndex(g, field.Both)
	var a field.Assembler
	z := field.Normalizer{K: 10, Cache: field.NewCache(1 << 22)}
	members := make([]int32, 10)
	run := func() {
		for v := range int32(g.N()) {
			hood, dist := a.Assemble(ix, v, 10)
			if err := z.Normalize(ix, hood, dist, nil, members); err != nil {
				t.Fatal(err)
			}
		}
	}
	run()
	if n := testing.AllocsPerRun(3, run); n > 0 {
		t.Errorf("%v allocations for %d fields, want 0", n, g.N())
	}
}

// What is forgotten is not found again, and comes back as it was.
func TestCacheReset(t *testing.T) {
	cache := field.NewCache(1 << 20)
	for _, c := range []named{{"grid", grid(30, 30, 4, false)}, {"random", random(rand.New(rand.NewPCG(51, 52)), 600, 1000, false)}} {
		want := fields(t, c.g, field.Both, &field.Normalizer{K: 8}, nil)
		var hits []int64
		for range 2 {
			cache.Reset()
			z := field.Normalizer{K: 8, Cache: cache}
			got := fields(t, c.g, field.Both, &z, nil)
			for v := range want {
				if !slices.Equal(got[v], want[v]) {
					t.Fatalf("%s, root %d: %v, without a cache %v", c.name, v, got[v], want[v])
				}
			}
			hits = append(hits, z.Stats.CacheHits)
		}
		if hits[0] == 0 || hits[1] > hits[0]+64 { // the second time the array does not have to grow
			t.Errorf("%s: %d hits, and after a reset %d", c.name, hits[0], hits[1])
		}
	}
}

// What one Normalizer remembers of small graphs with attributes, and of the same
// graphs with others and without, is never taken for one another.
func TestCacheTellsAttributesApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	var list []named
	for range 40 {
		g := random(rng, 2+rng.IntN(10), 1+rng.IntN(16), false)
		list = append(list, named{"plain", g})
		for range 4 {
			h := withNodeAttributes(rng, g, 1, 0)
			list = append(list, named{"one attribute", h}, named{"and types", withEdgeAttributes(rng, h, 1, 0)})
		}
		large := withNodeAttributes(rng, g, 1, 0)
		large.NodeCat[0] = 1 << 16
		list = append(list, named{"large", large}, named{"real", withNodeAttributes(rng, g, 0, 1)})
	}
	for k := 1; k <= 8; k++ {
		plain, cached := field.Normalizer{K: k}, field.Normalizer{K: k, Cache: field.NewCache(1 << 20)}
		for _, c := range list {
			sameFields(t, "mixed", c, field.Both, &plain, &cached)
		}
	}
}
