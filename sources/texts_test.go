package sources

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestTexts compares numbers and order with those of a map and of a plain sort.
func TestTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]func() string{
		"numbers": func() string { return fmt.Sprint("user_", r.IntN(20_000)) },
		"same":    func() string { return "a" },
		"few":     func() string { return strings.Repeat("x", r.IntN(3)) },
		"bytes":   func() string { return string([]byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}) },
		"random":  func() string { return fmt.Sprintf("%x-%x", r.Uint64()>>52, r.Uint64()) },
		"long":    func() string { return strings.Repeat("long ", r.IntN(150)) + fmt.Sprint(r.IntN(9)) },
		"paths":   func() string { return fmt.Sprintf("%c/%s/%d", 'a'+r.IntN(9), "a common part", r.IntN(999)) },
	}
	for name, draw := range kinds {
		t.Run(name, func(t *testing.T) {
			taken := int64(0)
			x := texts{take: func(n int64) error { taken += n; return nil }}
			number, came := map[string]int32{}, []string{}
			for range 40 {
				var text []byte
				var spans []Span
				var want []int32
				for range r.IntN(1000) {
					s := draw()
					if _, ok := number[s]; !ok {
						number[s] = int32(len(number))
						came = append(came, s)
					}
					want = append(want, number[s])
					spans = append(spans, Span{int32(len(text)), int32(len(text) + len(s))})
					text = append(text, s...)
				}
				got := make([]int32, len(spans))
				for i, s := range spans {
					got[i], _ = x.add(text[s.From:s.To])
				}
				if !slices.Equal(got, want) {
					t.Fatal("other numbers than those of a map")
				}
			}
			if x.len() != len(came) || taken < int64(len(x.all)+8*len(x.slots)) {
				t.Fatalf("%d texts, want %d; %d bytes were taken for %d", x.len(), len(came), taken, len(x.all))
			}
			slices.Sort(came)
			order := x.order()
			ids, err := x.ids(order)
			if err != nil || ids.Len() != len(came) {
				t.Fatal(ids.Len(), err)
			}
			for i, s := range came {
				if !bytes.Equal(x.at(order[i]), []byte(s)) || ids.Name(int32(i)) != s {
					t.Fatalf("place %d has %q and id %q, want %q", i, x.at(order[i]), ids.Name(int32(i)), s)
				}
			}
		})
	}
}
