package generate

import "testing"

// Every edge is within a group or between two, as many as asked for.
func TestCommunities(t *testing.T) {
	for _, test := range []struct{ n, groups, inside, outside int }{{60, 3, 6, 2}, {400, 4, 8, 2}, {10, 2, 2, 0}, {30, 5, 0, 4}} {
		g, group, err := Communities(test.n, test.groups, test.inside, test.outside, 1)
		if err != nil {
			t.Fatal(err)
		}
		within := 0
		for u := range int32(g.N()) {
			for _, v := range g.Adj(u) {
				if group[u] == group[v] {
					within++
				}
			}
		}
		if g.N() != test.n || within != test.n*test.inside || 2*g.M()-within != test.n*test.outside || g.Check() != nil {
			t.Errorf("%v: %d nodes, %d entries within, %d edges, %v", test, g.N(), within, g.M(), g.Check())
		}
	}
	for _, bad := range [][4]int{{10, 1, 2, 2}, {3, 2, 0, 0}, {20, 2, 9, 1}, {20, 2, 2, 9}, {20, 2, -1, 2}, {20, 0, 1, 1}} {
		if _, _, err := Communities(bad[0], bad[1], bad[2], bad[3], 1); err == nil {
			t.Errorf("%v was made", bad)
		}
	}
}
