package operators_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// The probabilities stand behind the attributes of each node: of all classes, and of two of the second.
func TestBeliefs(t *testing.T) {
	g, class, err := generate.Communities(60, 3, 5, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for _, names := range [][]string{{"a", "b", "c"}, {"a", "b"}} {
		for _, attrs := range []int{0, 2} {
			set := &sources.NodeSet{Graph: g, Class: class, Classes: []string{"a", "b", "c"}}
			g.NodeAttrs, g.NodeAttr = attrs, nil
			var probs, want []float32
			var channels []string
			for c := range attrs {
				channels = append(channels, []string{"x", "y"}[c])
				set.Channels.NodeAttr = append(set.Channels.NodeAttr, record.Channel{Name: channels[c]})
			}
			for range 60 {
				for range attrs {
					g.NodeAttr = append(g.NodeAttr, rng.Float32())
					want = append(want, g.NodeAttr[len(g.NodeAttr)-1])
				}
				for i := range names {
					probs = append(probs, rng.Float32())
					if i > 0 || len(names) > 2 {
						want = append(want, probs[len(probs)-1])
					}
				}
			}
			for i, name := range names {
				if i > 0 || len(names) > 2 {
					channels = append(channels, "class="+name)
				}
			}
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			var out sinks.Collect
			run := func(b operators.Beliefs) error {
				return flow.From(set).Via(b).With(flow.Options{Allocator: mem}).To(&out).Run(t.Context())
			}
			if err := run(operators.Beliefs{Probs: probs, Names: names}); err != nil {
				t.Fatal(err)
			}
			rec := out.Records()[0]
			l, err := record.LayoutOf(rec.Schema())
			if err != nil {
				t.Fatal(err)
			}
			lists, err := record.ListsOf[float32](rec, record.NodeAttr)
			if err != nil || !slices.Equal(lists.Row(0), want) {
				t.Errorf("%d attributes, %d names: %v, %v", attrs, len(names), lists.Row(0), err)
			}
			if !slices.EqualFunc(l.NodeAttr, channels, func(c record.Channel, name string) bool { return c.Name == name }) {
				t.Errorf("channels %v, want %q", l.NodeAttr, channels)
			}
			out.Release()
			for want, b := range map[string]operators.Beliefs{
				"want the names of two classes": {Probs: probs, Names: names[:1]},
				"the field Probs is empty":      {Names: names},
				"want those of":                 {Probs: probs[1:], Names: names},
			} {
				if err := run(b); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
			}
			mem.AssertSize(t, 0)
		}
	}
}
