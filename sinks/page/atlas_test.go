package page

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/molecules"
)

// learnedAtlas returns the first 100 motifs of a model that learns from graphs.
func learnedAtlas(t *testing.T, items []sources.Item, layout record.Layout, recipe operators.Recipe, epochs int) *sinks.Atlas {
	t.Helper()
	ctx, net, graphs := context.Background(), nn.Best(), flow.From(sources.Graphs{Items: items, Layout: layout})
	if _, err := (sinks.Fit{Net: net, Epochs: epochs}).Run(ctx, recipe.Onto(graphs)); err != nil {
		t.Fatal(err)
	}
	p, err := sinks.NewPredictor(net, recipe)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	a, err := p.Atlas(ctx, graphs, sinks.AtlasOptions{Motifs: 100})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The name and the drawing of a motif are true of all places of its word in all graphs.
func TestMotifsAreTrue(t *testing.T) {
	defer leak.VerifyNone(t)
	var items []sources.Item
	for i, smiles := range []string{"CCO", "CCN", "CC(C)O", "CC(C)N", "FC(F)(F)CO", "FCCN", "OC1CC1", "NC1CC1", "CC(=O)[O-]", "C[NH3+]", "c1ccccc1O", "Clc1ccccc1N", "C#N", "CSC"} {
		items = append(items, sources.Item{ID: int64(i), Graph: parse(t, smiles), Class: int32(i % 2)})
	}
	layout := molecules.Layout()
	layout.Classes = []string{"acid", "base"}
	names := count.Dictionary{
		Node: func(c int, x int32) string { return wordOf(layout.NodeCat[c], x) },
		Edge: func(c int, x int32) string { return wordOf(layout.EdgeCat[c], x) },
	}
	for _, channel := range layout.NodeCat {
		names.NodeChannels = append(names.NodeChannels, channel.Name)
	}
	for _, channel := range layout.EdgeCat {
		names.EdgeChannels = append(names.EdgeChannels, channel.Name)
	}
	counters := []count.Counter{count.Labels{Each: true}, count.WL{Height: 2}, count.WL{Height: 2, Coarse: 1}, count.WL{Height: 2, Coarse: 2}, count.Fields{K: []int{3}}}
	recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: counters}}
	a := learnedAtlas(t, items, layout, recipe, 5)
	c := chemistryOf(&layout)
	heads, found, partial := map[string]string{}, map[string]bool{}, 0
	for _, m := range a.Motifs {
		head := Atlas{Atlas: a, Layout: layout}.Head(m)
		if other, ok := heads[head]; ok && len(m.Pattern.Nodes) == 1 {
			t.Errorf("%q and %q have the name %q", other, m.Text, head)
		}
		heads[head] = m.Text
		nodes, edges := 0, 0
		for _, v := range m.Examples[0].Nodes {
			if v.Member || v.Root {
				nodes++
			}
		}
		for _, e := range m.Examples[0].Edges {
			if e.Member {
				edges++
			}
		}
		if d := m.Pattern.Drawn; d.N() != nodes || d.M() != edges {
			t.Errorf("%q is drawn with %d nodes and %d edges, and its first example has %d and %d", m.Text, d.N(), d.M(), nodes, edges)
		}
		places := 0
		for _, it := range items {
			for _, counter := range counters {
				_, err := count.Find(counter, count.Input{Graph: it.Graph}, names, func(o count.Occurrence) {
					if o.Text() != m.Text || len(o.Nodes) == 0 {
						return
					}
					places++
					members := o.Nodes
					if o.Members != nil {
						members, _ = o.Members()
					}
					only, err := it.Graph.Only(slices.Sorted(slices.Values(members)))
					if err != nil {
						t.Fatal(err)
					}
					var has []string
					for i, channel := range layout.NodeCat {
						has = append(has, channel.Name+" = "+c.of(it.Graph, i, o.Nodes[0]))
					}
					stated := strings.Split(head, ", ")
					if such, ok := strings.CutPrefix(head, "such as "); ok {
						if short(c.name(only), 62) == such {
							such = ""
						}
						if found[m.Text] = found[m.Text] || such == ""; len(members) > 1 {
							return
						}
					}
					switch {
					case head == short(m.Text, 70) || c.name(only) == head:
					case len(members) > 1 || slices.ContainsFunc(stated, func(one string) bool { return !slices.Contains(has, one) }):
						t.Errorf("%q is called %q, and is at %s", m.Text, head, c.name(only))
					default:
						partial++
					}
					// The root of the drawing has no attribute that the place does not have.
					for i, n := range m.Pattern.Nodes {
						for channel := range layout.NodeCat {
							x := m.Pattern.Drawn.NodeCat[i*len(layout.NodeCat)+channel]
							if n.Root && x != sinks.Unread && x != it.Graph.NodeCat[int(o.Nodes[0])*len(layout.NodeCat)+channel] {
								t.Errorf("%q is drawn with %s at its root, and is at %s", m.Text, names.Node(channel, x), c.name(only))
							}
						}
					}
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if strings.HasPrefix(head, "such as ") && !found[m.Text] {
			t.Errorf("%q is called %q, which is nowhere", m.Text, head)
		}
		if len(m.Pattern.Nodes) == 1 && places == 0 {
			t.Errorf("%q has no place", m.Text)
		}
	}
	if partial == 0 {
		t.Error("no motif is about some attributes of an atom")
	}
}

func wordOf(c record.Channel, x int32) string {
	word, _ := c.Word(x)
	return word
}

// A motif of directed graphs is drawn with the arcs that its word depends on.
func TestMotifsOfArcs(t *testing.T) {
	defer leak.VerifyNone(t)
	random := rand.New(rand.NewPCG(9, 10))
	layout := record.Layout{Directed: true, Classes: []string{"a", "b"}}
	for _, name := range []string{"colour", "size"} {
		layout.NodeCat = append(layout.NodeCat, record.WordsChannel(name, []string{"x", "y"}))
	}
	layout.EdgeCat = []record.Channel{record.WordsChannel("way", []string{"in", "out"})}
	var items []sources.Item
	for i := range 30 {
		b := sources.Builder{Directed: true}
		for range 6 {
			b.Node(random.Int32N(2), random.Int32N(2))
		}
		for u := range int32(6) {
			for v := range int32(6) {
				if u != v && random.IntN(3) == 0 {
					b.Edge(u, v, random.Int32N(2))
				}
			}
		}
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, sources.Item{ID: int64(i), Graph: g, Class: int32(i % 2)})
	}
	recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: []count.Counter{count.Labels{Each: true}, count.WL{Height: 1}, count.WL{Height: 1, Triangles: true}}}}
	a := learnedAtlas(t, items, layout, recipe, 3)
	for _, m := range a.Motifs {
		for _, e := range m.Pattern.Edges {
			if m.Pattern.Drawn.Entry(e.Source, e.Target) < 0 {
				t.Errorf("%q: the arc %d-%d is not drawn", m.Text, e.Source, e.Target)
			}
		}
	}
	checkPage(t, Atlas{Atlas: a, Layout: layout})
}
