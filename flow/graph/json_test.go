package graph_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
)

// Edges come back from JSON as they went, and nothing else is taken for one.
func TestEdgeJSON(t *testing.T) {
	want := []graph.Edge{{U: 0, V: 1}, {U: -1, V: math.MaxInt32}, {U: math.MinInt32, V: 7}}
	text, err := json.Marshal(want)
	if err != nil || string(text) != "[[0,1],[-1,2147483647],[-2147483648,7]]" {
		t.Errorf("%s, %v", text, err)
	}
	for _, text := range []string{string(text), " [ [\t0 , 1 ] , [ -1,\n2147483647],[-2147483648 ,7 ] ] "} {
		var got []graph.Edge
		if err := json.Unmarshal([]byte(text), &got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{
		"[1]", "[]", "[1,2,3]", "[1,null]", "null", "[null,null]", "1", `"1,2"`, `["1",2]`, "[1.0,2]", "[1e1,2]", "[[1,2]]",
		"[[1],2]", "[2147483648,0]", "{}", `{"U":1,"V":2}`, "[1,2147483648]", "true", "[" + strings.Repeat("1", 1000) + ",2]",
	} {
		var e graph.Edge
		if err := json.Unmarshal([]byte(bad), &e); err == nil || len(err.Error()) > 200 {
			t.Errorf("%s is taken for the edge %v: %v", bad, e, err)
		}
	}
	var got []graph.Edge
	if err := json.Unmarshal([]byte("[[0,1],[2]]"), &got); err == nil || !strings.Contains(err.Error(), "[2]") {
		t.Errorf("%v, want what is wrong", err)
	}
}
