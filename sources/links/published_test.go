package links

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// published is a table of two splits of a random graph, rows in random order, with names as ids or numbers.
func published(t *testing.T, named, valid bool, order uint64) string {
	t.Helper()
	g, err := generate.ErdosRenyi(40, 120, 7)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for split := range 2 {
		rng := rand.New(rand.NewPCG(9, uint64(split)))
		tr, err := Split{Share: 0.2, Folds: 2}.Hide(t.Context(), g, rng)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range append([]Fold{tr.Test}, tr.Folds...) {
			part := "train"
			if i == 0 {
				part = "test"
			} else if valid && i == 1 {
				part = "val"
			}
			for j, p := range f.Pairs {
				link := 0
				if f.Link[j] {
					link = 1
				}
				if named {
					rows = append(rows, fmt.Sprintf("s%d,%s,%d,n%03d,n%03d", split, part, link, p[0], p[1]))
				} else {
					rows = append(rows, fmt.Sprintf("s%d,%s,%d,%d,%d", split, part, link, p[0], p[1]))
				}
			}
		}
	}
	rand.New(rand.NewPCG(order, 0)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return "split,part,link,source,target\n" + strings.Join(rows, "\n") + "\n"
}

// No pair to test on is joined in any graph of the trial, the training links are each hidden once, in a graph without
// them, and pairs that are not joined are those of the table. Names of nodes and the order of rows do not matter.
func TestPublished(t *testing.T) {
	for _, valid := range []bool{false, true} {
		var first []string
		for order, named := range []bool{false, true, false} {
			all, err := ReadPublished(t.Context(), sources.CSV{Path: "splits.csv", Reader: strings.NewReader(published(t, named, valid, uint64(order)))})
			if err != nil || len(all) != 2 {
				t.Fatal(len(all), err)
			}
			p := &all[slices.IndexFunc(all, func(p Published) bool { return p.Name == "s1" })]
			tr, err := p.Trial(t.Context(), Split{Folds: 4}, rand.New(rand.NewPCG(5, 5)))
			if err != nil {
				t.Fatal(err)
			}
			given := map[Pair]bool{} // of the training pairs, whether they are links
			for i, pair := range p.Train.Pairs {
				given[Pair{min(pair[0], pair[1]), max(pair[0], pair[1])}] = p.Train.Link[i]
			}
			hidden, begin := map[Pair]int{}, 0
			if valid {
				begin = 1
				if !slices.Equal(tr.Folds[0].Pairs, p.Valid.Pairs) || tr.Folds[0].Graph != tr.Test.Graph {
					t.Error("the first fold is not the validation part")
				}
			}
			if len(tr.Folds) != begin+4 {
				t.Fatalf("%d folds", len(tr.Folds))
			}
			for _, f := range tr.Folds[begin:] {
				for i, pair := range f.Pairs {
					key := Pair{min(pair[0], pair[1]), max(pair[0], pair[1])}
					hidden[key]++
					if link, ok := given[key]; !ok || link != f.Link[i] {
						t.Errorf("%v is no training pair, or has the wrong answer", pair)
					}
					if f.Graph.Entry(pair[0], pair[1]) >= 0 {
						t.Errorf("%v is joined in the graph of its fold", pair)
					}
				}
				for i, pair := range p.Test.Pairs {
					if f.Graph.Entry(pair[0], pair[1]) >= 0 || tr.Test.Graph.Entry(pair[0], pair[1]) >= 0 {
						t.Errorf("the test pair %v, link %v, is joined", pair, p.Test.Link[i])
					}
				}
			}
			for key, link := range given {
				if hidden[key] != 1 || (tr.Test.Graph.Entry(key[0], key[1]) >= 0) != link {
					t.Errorf("%v, link %v, is in %d folds", key, link, hidden[key])
				}
			}
			if !slices.Equal(tr.Test.Pairs, p.Test.Pairs) || !slices.Equal(tr.Test.Link, p.Test.Link) {
				t.Error("the pairs to test on are not those of the table")
			}
			var rows []string
			for _, f := range tr.Folds {
				rows = append(rows, fmt.Sprint(f.Pairs, f.Link, f.Graph.Neighbors))
			}
			if first == nil {
				first = rows
			} else if !slices.Equal(first, rows) {
				t.Error("names of nodes, or the order of rows, change the folds")
			}
		}
	}
}

func TestPublishedErrors(t *testing.T) {
	const head = "split,part,link,source,target\n"
	for text, want := range map[string]string{
		"split,part,link,source\n1,train,1,2\n": `there is no column "target"`,
		head:                                    "there are no rows",
		head + "1,train,1,2,2\n":                ":2: row 1: column \"target\": the pair of \"2\" with itself",
		head + "1,train,1,2,3\n1,test,0,3,2\n":  ":3: row 2: column \"target\": split \"1\" has the pair \"3\" and \"2\" twice",
		head + "1,train,2,2,3\n":                ":2: row 1: column \"link\": \"2\", want 0 or 1",
		head + "1,learn,1,2,3\n":                ":2: row 1: column \"part\": \"learn\", want train, valid or test",
		head + "1,train,1,2,\n":                 ":2: row 1: column \"target\": there is no value",
		head + "1,train,1,2,3\n1,test,0,4,5\n":  "split \"1\" has no links to learn from, or none to test on",
	} {
		if _, err := ReadPublished(t.Context(), sources.CSV{Path: "splits.csv", Reader: strings.NewReader(text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
	}
	p := Published{Name: "few", Train: Pairs{Pairs: []Pair{{0, 1}}, Link: []bool{true}}}
	if _, err := p.Trial(t.Context(), Split{}, rand.New(rand.NewPCG(1, 1))); err == nil || !strings.Contains(err.Error(), "too few") {
		t.Error(err)
	}
}
