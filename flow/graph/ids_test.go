package graph_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sanflow/sanflow/flow/graph"
)

// stringIDs is graph.IDsOfStrings of few bytes.
func stringIDs(t interface{ Fatal(...any) }, list ...string) graph.IDs {
	ids, err := graph.IDsOfStrings(list)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// Whatever the ids and their order, the index finds each, and nothing else.
func TestIDIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ints := rapid.SliceOfDistinct(rapid.Int64(), rapid.ID[int64]).Draw(t, "ints")
		names := rapid.SliceOfDistinct(rapid.String(), rapid.ID[string]).Draw(t, "names")
		ofInts, err := graph.IDsOf(ints).Index()
		if err != nil {
			t.Fatal(err)
		}
		for v, id := range ints {
			if got, ok := ofInts.Int(id); !ok || int(got) != v {
				t.Fatalf("id %d is of node %d, %t; want %d", id, got, ok, v)
			}
			if got, ok := ofInts.Name(fmt.Sprint(id)); !ok || int(got) != v {
				t.Fatalf("id %q is of node %d, %t; want %d", fmt.Sprint(id), got, ok, v)
			}
		}
		ids := stringIDs(t, names...)
		ofNames, err := ids.Index()
		if err != nil || ids.Check() != nil {
			t.Fatal(err, ids.Check())
		}
		for v, id := range names {
			if got, ok := ofNames.Name(id); !ok || int(got) != v || ids.Name(int32(v)) != id {
				t.Fatalf("id %q is of node %d, %t, called %q; want %d", id, got, ok, ids.Name(int32(v)), v)
			}
		}
		other := rapid.String().Draw(t, "other")
		_, ok := ofNames.Name(other)
		if want := slices.Contains(names, other); ok != want {
			t.Fatalf("%q is found: %t, want %t", other, ok, want)
		}
		if len(names) > 0 {
			if err := stringIDs(t, append(names, names[0])...).Check(); err == nil {
				t.Fatal("two nodes with one id pass")
			}
		}
		perm := rapid.Permutation(upTo(len(names))).Draw(t, "perm")
		moved := ids.Renumber(perm)
		for v, p := range perm {
			if moved.Name(p) != names[v] {
				t.Fatalf("node %d is now %d, and called %q, want %q", v, p, moved.Name(p), names[v])
			}
		}
	})
}

func upTo(n int) (list []int32) {
	for v := range int32(n) {
		list = append(list, v)
	}
	return list
}

func TestIDs(t *testing.T) {
	ints := graph.IDsOf([]int64{math.MaxInt64, math.MinInt64, -1})
	names := stringIDs(t, "bob", "", "al\"ice", strings.Repeat("x", 100))
	cut := graph.IDsOfText([]int32{3, 3, 6}, []byte("bobann"))
	for _, c := range []struct {
		ids          graph.IDs
		v            int32
		name, quoted string
	}{
		{ints, 0, "9223372036854775807", "9223372036854775807"}, {ints, 1, "-9223372036854775808", "-9223372036854775808"},
		{names, 0, "bob", `"bob"`}, {names, 1, "", `""`}, {names, 2, `al"ice`, `"al\"ice"`},
		{names, 3, strings.Repeat("x", 100), `"` + strings.Repeat("x", 80) + `"…`},
		{cut, 0, "", `""`}, {cut, 1, "ann", `"ann"`}, {graph.IDs{}, 7, "7", "7"},
	} {
		if got := c.ids.Name(c.v); got != c.name {
			t.Errorf("the name is %q, want %q", got, c.name)
		}
		if got := c.ids.Quoted(c.v); got != c.quoted {
			t.Errorf("quoted: %s, want %s", got, c.quoted)
		}
	}
	if id, ok := ints.Int(1); !ok || id != math.MinInt64 {
		t.Error(id, ok)
	}
	if _, ok := names.Int(0); ok {
		t.Error("a string is an integer")
	}
	if x, err := ints.Index(); err != nil {
		t.Error(err)
	} else if _, ok := x.Name("+5"); ok {
		t.Error("+5 is an id")
	}
	if ints.Quoted(3) != "3" || names.Quoted(-1) != "-1" {
		t.Error("a node beyond the ids has one")
	}
}

// TestIDsOfDamage has ids that a file may hold.
func TestIDsOfDamage(t *testing.T) {
	text := []byte("abcdef")
	for want, ids := range map[string]graph.IDs{
		"offset 0 of the ids is -1, want 0 to 6":               graph.IDsOfText([]int32{-1, 2}, text),
		"the id of node 1 has the offsets 3 and 2, of 6 bytes": graph.IDsOfText([]int32{0, 3, 2}, text),
		"the id of node 0 has the offsets 0 and 7, of 6 bytes": graph.IDsOfText([]int32{0, 7}, text),
		`the id of node 1, "\xff", is not UTF-8`:               graph.IDsOfText([]int32{0, 1, 2}, []byte("a\xff")),
		`nodes 0 and 2 have the same id "a"`:                   graph.IDsOfText([]int32{0, 1, 2, 3}, []byte("aba")),
		"nodes 0 and 1 have the same id -3":                    graph.IDsOf([]int64{-3, -3}),
	} {
		if err := ids.Check(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := ids.Index(); err == nil || err.Error() != want {
			t.Errorf("index: %v, want %s", err, want)
		}
	}
}
