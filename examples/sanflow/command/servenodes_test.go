package command

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

// Events of edges and nodes, and a store that is opened again, give the answers of a server that began with tables of what is left.
func TestServeNodeEvents(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(4, 2))
	edges, nodes := []string{"from,to,kind,amount,time"}, []string{"name,city,age,role"}
	add := func(i int) {
		u, v := r.IntN(120), r.IntN(120)
		if r.IntN(3) > 0 {
			v = (v/2)*2 + u%2
		}
		edges = append(edges, fmt.Sprintf("p%d,p%d,%s,%d,%d", u, v, []string{"card", "cash"}[r.IntN(2)], r.IntN(50), i))
	}
	for i := range 400 {
		add(i)
	}
	for v := range 120 {
		nodes = append(nodes, fmt.Sprintf("p%d,%s,%d,%s", v, []string{"Rome", "Oslo", ""}[r.IntN(3)], 20+r.IntN(50), []string{"buyer", "seller"}[v%2]))
	}
	flags := func(edges, nodes []string, at string) []string {
		return []string{"-edges", write(t, dir, at+"edges.csv", edges), "-nodes", write(t, dir, at+"nodes.csv", nodes)}
	}
	tables, model := flags(edges, nodes, ""), filepath.Join(dir, "nodes.model")
	learn := append([]string{"-source", "from", "-target", "to", "-type", "kind", "-weight", "amount", "-time", "time", "-id", "name", "-class", "role", "-budget", "0", "-out", model}, tables...)
	clitest.JSON[scored](t, train, append(learn, "-systems", "words")...)
	events := strings.Join([]string{
		`{"from": "p1", "to": "new", "kind": "wire", "amount": 7, "time": 400}`,
		`{"kind": "add_edge", "row": {"from": "new", "to": "p1", "kind": "card", "amount": 9, "time": 401}}`,
		`{"kind": "add_row", "name": "new", "city": "Bonn", "age": 40}`,
		`{"kind": "remove_node", "name": "p9"}`,
		`{"kind": "set_class", "name": "new", "class": "seller"}`,
		`{"kind": "set_node", "id": "p2", "city": "Oslo", "age": null}`,
	}, "\n")
	events = strings.ReplaceAll(events, `"kind": "wire", "amount"`, `"amount"`) // the column kind is in "row" alone
	left := edges[:1:1]
	for _, row := range append(edges[1:], "p1,new,,7,400", "new,p1,card,9,401") {
		if f := strings.Split(row, ","); f[0] != "p9" && f[1] != "p9" {
			left = append(left, row)
		}
	}
	rows := nodes[:1:1]
	for _, row := range append(nodes[1:], "new,Bonn,40,seller") {
		switch {
		case strings.HasPrefix(row, "p2,"):
			row = "p2,Oslo,,buyer"
		case strings.HasPrefix(row, "p9,"):
			continue
		}
		rows = append(rows, row)
	}
	ids := `{"ids": ["p1", "p2", "p3", "p40", "p77", "new"]}`
	_, cold := started(t, append([]string{"-model", model}, flags(left, rows, "left")...)...)
	check := func(url string, after int) {
		t.Helper()
		for _, path := range []string{"/predict", "/explain"} {
			_, want, _ := sent(t, cold+path, ids)
			status, text, position := sent(t, url+path, ids, "X-Sanflow-After", fmt.Sprint(after))
			if status != http.StatusOK || text != want || position != fmt.Sprint(after) {
				t.Errorf("%s: %d at %s: %s, want %s", path, status, position, text, want)
			}
		}
	}
	store := append([]string{"-model", model, "-events", "post", "-store", filepath.Join(dir, "store")}, tables...)
	func() {
		s, url := startedAs(t, store...)
		defer s()
		if status, text, _ := sent(t, url+"/events", events); status != http.StatusOK || text != "{\"position\": 6}\n" {
			t.Fatal(status, text)
		}
		for body, want := range map[string]string{
			`{"from": "p1"}`: `400 event 1: the event has no "to", an end of the edge`,
			`{"from": "p1", "to": "p2", "colour": 1}`:                         `400 event 1: the model reads no column "colour"`,
			`{"kind": "remove_edge", "from": "p1", "to": "new", "amount": 7}`: `400 event 1: the model reads no column "amount" of remove_edge: it has the ends alone, and takes the oldest row of the edge`,
			`{"kind": "add_row", "name": " new "}`:                            `400 event 1: the node "new" has a row already: set_node changes it`,
			`{"kind": "add_row", "name": "new"}`:                              `400 event 1: the node "new" has a row already: set_node changes it`,
			`{"kind": "set_class", "id": "p9", "class": null}`:                `400 event 1: there is no node "p9"`,
			`{"kind": "set_class", "id": "p1", "class": "boy"}`:               `400 event 1: the class is "boy", want one of the model, or none`,
			`{"kind": "set_node", "city": "Oslo"}`:                            `400 event 1: the row has no "name", the id, nor the name id`,
			`{"kind": "set_class", "id": "p1"}`:                               `400 event 1: want {"kind": "set_class", "id": …, "class": …}, with the name id, or name`,
			`{"kind": "buy", "id": "p1"}`:                                     `400 event 1: the kind is "buy", want one of add_row, add_edge, remove_edge, remove_node, set_node, set_edge, set_class; a row with a column "kind" is written {"row": {"kind": …}}`,
		} {
			if status, text, _ := sent(t, url+"/events", body); fmt.Sprint(status, " ", strings.TrimSpace(text)) != want {
				t.Errorf("%s: %d %s, want %s", body, status, text, want)
			}
		}
		if status, text, _ := sent(t, url+"/predict", `{"ids": ["p9"]}`); status != http.StatusUnprocessableEntity {
			t.Error(status, text)
		}
		check(url, 6)
	}()
	func() { // the store alone
		s, url := startedAs(t, store...)
		defer s()
		check(url, 6)
	}()
	for id, want := range map[string]string{"new": "erased: 3 rows, 1 classes, 0 refused lines\nleft out: rows of the tables,", "p1 ": "erased: 0 rows, 0 classes, 0 refused lines\nthe store has no event with the id p1 \nleft out: rows of the tables,"} {
		if said, _ := printed(t, "forget", "-store", filepath.Join(dir, "store"), "-id", id); !strings.HasPrefix(said, want) {
			t.Errorf("%s, want %s", said, want)
		}
	}
	func() {
		s, url := startedAs(t, store...)
		defer s()
		if status, text, _ := sent(t, url+"/predict", `{"ids": ["new"]}`); status != http.StatusUnprocessableEntity {
			t.Error(status, text)
		}
	}()
	// A window of the last rows.
	window := append([]string{"-model", model, "-events", "post", "-store", filepath.Join(dir, "window"), "-last", "50"}, tables...)
	last := append(edges[:1:1], append(edges[353:], "p1,p3,card,1,402", "p3,p1,card,1,402")...)
	_, cold = started(t, append([]string{"-model", model}, flags(last, nodes, "last")...)...)
	ids = `{"ids": ["p1", "p2", "p3", "p40", "p77"]}`
	for round := range 2 {
		func() {
			s, url := startedAs(t, window...)
			defer s()
			if round == 0 {
				sent(t, url+"/events", `{"row": {"from": "p1", "to": "p3", "kind": "card", "amount": 1, "time": 402}}`+"\n"+`{"row": {"from": "p3", "to": "p1", "kind": "card", "amount": 1, "time": 402}}`)
			}
			check(url, 2)
			if facts := factsOf(t, url, ""); facts["windows"] != "last 50" {
				t.Error(facts)
			}
		}()
	}
	// A start with another window is refused, by a line that names both.
	for want, other := range map[string][]string{
		"the start has no window, and the store began with a window of last 50":             {},
		"the start has a window of last 51, and the store began with a window of last 50":   {"-last", "51"},
		"the start has a window of within 50, and the store began with a window of last 50": {"-within", "50"},
	} {
		if err := run(t.Context(), append(append([]string{"serve", "-listen", "localhost:0"}, append(window[:6:6], tables...)...), other...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", other, err, want)
		}
	}
	// Smoothed answers are refused.
	smooth := filepath.Join(dir, "smooth.model")
	learn[len(learn)-5] = smooth
	clitest.JSON[scored](t, train, append(learn, "-systems", "ensemble")...)
	err := run(t.Context(), append([]string{"serve", "-model", smooth, "-events", "post", "-store", filepath.Join(dir, "other")}, tables...))
	if err == nil || !strings.Contains(err.Error(), "train -live-only") {
		t.Errorf("smoothed: %v", err)
	}
	if err := run(t.Context(), append([]string{"train", "-live-only", "-systems", "ensemble"}, learn...)); err == nil || !strings.Contains(err.Error(), "left out") {
		t.Errorf("ensemble: %v", err)
	}
}
