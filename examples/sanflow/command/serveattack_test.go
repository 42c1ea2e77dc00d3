package command

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks"
)

// Keys that are written in another way are those that a table of all rows has: of a column of declared integers, of one of numbers that were guessed, and of
// one of declared strings.
func TestServeKeys(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	for types, c := range map[string]struct {
		posted string   // values of a key
		cold   []string // of the table
		wrong  string   // a value that is refused, and why
	}{
		"from=integer,to=integer": {`7, 7.0, "7.0", " 7", "7"`, []string{"7", "7", "7", "7", "7"}, `"x": "from" is "x", want an integer, as is declared`},
		"":                        {`7, 7.0, "7.0", "007", "x"`, []string{"7", "7", "7", "007", "x"}, `true: "from" is true, want a string or a number`},
		"from=string,to=string":   {`7, "007", "7.0", "7"`, []string{"7", "007", "7.0", "7"}, `{}: "from" is an object or an array, want a number or a string`},
	} {
		dir := t.TempDir()
		var rows []string
		for _, row := range thefts(500) {
			rows = append(rows, regexp.MustCompile(`\ba(\d+)`).ReplaceAllString(row, "$1"))
		}
		table, model := write(t, dir, "payments.csv", rows), filepath.Join(dir, "rows.model")
		flags := append([]string{"-rows", table, "-windows", "50", "-systems", "trees-words", "-out", model}, theftFlags...)
		if types != "" {
			flags = append(flags, "-types", types)
		}
		clitest.JSON[scored](t, train, flags...)
		_, url := started(t, "-model", model, "-rows", table, "-events", "post", "-store", filepath.Join(dir, "store"))
		columns := strings.Split(rows[0], ",")
		n := 0
		for _, value := range strings.Split(c.posted, ", ") {
			if status, text, _ := sent(t, url+"/events", `{"when": 300, "from": `+value+`, "to": 3, "amount": 5}`); status != http.StatusOK {
				t.Errorf("%s: %d %s", value, status, text)
			}
			var cells []string
			for _, column := range columns {
				cells = append(cells, map[string]string{"when": "300", "from": c.cold[n], "to": "3", "amount": "5"}[column])
			}
			rows = append(rows, strings.Join(cells, ","))
			n++
		}
		value, want, _ := strings.Cut(c.wrong, ": ")
		if status, text, _ := sent(t, url+"/events", `{"when": 300, "from": `+value+`}`); status != http.StatusBadRequest || text != "event 1: "+want+"\n" {
			t.Errorf("%s: %d %s", value, status, text)
		}
		_, cold := started(t, "-model", model, "-rows", write(t, dir, "all.csv", rows), "-labels", "all")
		question := fmt.Sprintf(`{"ids": [%d, %d, %d, 499], "rows": [{"when": 301, "from": "7"}, {"when": 301, "from": 7, "to": 3}]}`, 501, 502, 500+n)
		for _, path := range []string{"/predict", "/explain"} {
			_, got, _ := sent(t, url+path, question)
			if _, want, _ := sent(t, cold+path, question); got != want || len(want) < 200 {
				t.Errorf("%s %s:\n%s\nwant\n%s", types, path, got, want)
			}
		}
	}
}

// A model that learned from edges before a time says so where no time is named.
func TestBeforeIsNamed(t *testing.T) {
	clitest.Silence(t)
	dir, edges, nodes := coins(t)
	model := filepath.Join(dir, "model")
	must(t, "train", "-edges", edges, "-nodes", nodes, "-class", "role", "-time", "amount", "-before", "40", "-systems", "linear", "-out", model)
	args := []string{"predict", "-edges", edges, "-nodes", nodes, "-model", model, "-out", filepath.Join(dir, "out.csv")}
	const line = "guessed: edges of all times are read, and the model has learned from those before 40: -before names a time\n"
	if _, errors := printed(t, args...); !strings.Contains(errors, line) {
		t.Errorf("without -before: %s", errors)
	}
	if _, errors := printed(t, append(args, "-before", "50")...); strings.Contains(errors, "edges of all times") {
		t.Errorf("with -before: %s", errors)
	}
}

// What an attacker sends is a clear line of its own status each, changes nothing, and the server goes on.
func TestServeAttacks(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	flags := append(paid(t, dir), "-events", "post", "-store", filepath.Join(dir, "store"))
	s, url := started(t, flags...)
	var many strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&many, `,"a%d":1`, i)
	}
	const good = `{"when": 300, "from": "a4"}`
	for _, c := range []struct{ path, body, want string }{
		{"/events", `{"when": 300, "from": "a4", "from": "a5"}`, `400 event 1: jsontext: duplicate object member name "from"`},
		{"/events", good + "\n" + `{"row": {"when": 300, "when": 301}}`, `400 event 2: jsontext: duplicate object member name "when"`},
		{"/events", `{"when": 300, "to": true}`, `400 event 1: "to" is true, want a string or a number`},
		{"/events", `{"when": 300, "amount": {"a": 1}}`, `400 event 1: "amount" is an object or an array, want a number or a string`},
		{"/events", `{"when": 300, "amount": "much"}`, `400 event 1: "amount" is "much", want a finite decimal number`},
		{"/events", `{"when": 300, "amount": 1e999}`, `400 event 1: "amount" is "1e999", want a finite decimal number`},
		{"/events", `{"when": "soon", "from": "a4"}`, `400 event 1: "when": `},
		{"/events", `{"when": 1e300}`, `400 event 1: "when" is "1e+300", want a time up to`},
		{"/events", `{"from": "a4"}`, `400 event 1: the row has no "when", the time: null is an unknown one`},
		{"/events", `{"when": 300, "colour": "red"}`, `400 event 1: the model reads no column "colour"`},
		{"/events", `{"when": 300` + many.String() + `}`, `400 event 1: the model reads no column "a0"`},
		{"/events", `{"kind": "set_class", "id": 100000, "class": "yes"}`, `400 event 1: there is no row "100000"`},
		{"/events", `{"kind": "set_class", "id": 3, "class": "maybe"}`, `400 event 1: the class is "maybe", want one of the model, or none`},
		{"/events", `{"kind": "set_class", "id": true, "class": "yes"}`, `400 event 1: want {"kind": "set_class", "id": …, "class": …}, with the name id`},
		{"/events", `{"kind": "remove_all"}`, `400 event 1: the kind is "remove_all", want `},
		{"/events", "{\"when\": 300, \"from\": \"\xff\"}", `400 event 1: jsontext: invalid UTF-8`},
		{"/events", "{\"when\": 300, \"from\": \"\x00\"}", `400 event 1: want a JSON object: invalid character`},
		{"/events", `{"when": 300, "from": "` + strings.Repeat("a", 1<<20) + `"}`, `400 event 1: "from" is 1048576 bytes, want at most 32000`},
		{"/events", `{"kind": "set_class", "id": "` + strings.Repeat("a", 1<<20) + `", "class": "yes"}`, `400 event 1: the id has 1048576 bytes, want at most 32000`},
		{"/events", strings.Repeat("[", 100_000), `400 event 1: want a JSON object`},
		{"/events", strings.Repeat(",", 1<<21), `413 the request takes `},
		{"/events", strings.Repeat(" ", 9<<20), `413 the body has more than 8388608 bytes`},
		{"/events", packed(t, strings.Repeat(" ", 64<<20)), `413 the body has more than 8388608 bytes`},
		{"/predict", `{"rows": [{"when": 300, "from": true}]}`, `422 rows[0]: "from" is true, want a string or a number`},
		{"/predict", `{"ids": [3], "ids": [4]}`, `400 jsontext: duplicate object member name "ids"`},
		{"/predict", `{"ids": [` + strings.Repeat("3,", 10_000) + `3]}`, `413 the request is about 10001 rows, want at most 10000 (-max-ids)`},
		{"/explain", `{"ids": [` + strings.Repeat("3,", 9_999) + `3]}`, `413 the request asks for the reasons of 10000 answers, want at most 100`},
	} {
		if status, text, _ := sent(t, url+c.path, c.body); !strings.HasPrefix(fmt.Sprint(status, " ", text), c.want) || strings.Count(text, "\n") != 1 || len(text) > 500 {
			t.Errorf("%.60s: %d %.300s, want %s", c.body, status, text, c.want)
		}
	}
	// NUL is a character of a key as others are.
	if status, text, _ := sent(t, url+"/events", `{"when": 300, "from": "a\u0000", "to": "a4"}`+"\n"+good); status != http.StatusOK || text != "{\"position\": 2}\n" {
		t.Errorf("%d %s", status, text)
	}
	// Events that come while the model is loaded again are neither lost nor applied twice.
	done := make(chan int)
	go func() {
		n := 0
		for range 300 {
			if status, text, _ := sent(t, url+"/events", good); status != http.StatusOK {
				t.Errorf("%d %s", status, text)
			} else {
				n++
			}
		}
		done <- n
	}()
	n := 0
	for loads := 0; n == 0; loads++ {
		select {
		case n = <-done:
		default:
			p, err := sinks.Load(s.model)
			if err == nil {
				err = s.take(t.Context(), p)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, text, position := sent(t, url+"/explain", `{"rows": [{"when": 301, "from": "a4"}]}`); position != fmt.Sprint(2+n) || n != 300 {
		t.Errorf("%d events at position %s: %s", n, position, text)
	}
	if status, text, _ := sent(t, url+"/predict", fmt.Sprintf(`{"ids": [%d]}`, 500+2+n)); status != http.StatusOK {
		t.Errorf("the last row: %d %s", status, text)
	}
	if status, _, _ := sent(t, url+"/predict", fmt.Sprintf(`{"ids": [%d]}`, 500+2+n+1)); status != http.StatusUnprocessableEntity {
		t.Errorf("a row behind the last: %d", status)
	}
}

// The same of a model of nodes: each body is a line, and nothing changes.
func TestServeNodeAttacks(t *testing.T) {
	clitest.Silence(t)
	dir, edges, nodes := coins(t)
	model := filepath.Join(dir, "model")
	tables := []string{"-edges", edges, "-nodes", nodes, "-model", model}
	must(t, "train", "-edges", edges, "-nodes", nodes, "-class", "role", "-weight", "amount", "-ignore", "payer,payee,fee,kind,name", "-systems", "words", "-budget", "0", "-out", model)
	_, url := started(t, append(tables, "-events", "post", "-store", filepath.Join(dir, "store"))...)
	_, before, _ := sent(t, url+"/explain", `{"ids": [3]}`)
	for body, want := range map[string]string{
		`{"source": 3, "target": true}`:                                     `400 event 1: "target" is true, want `,
		`{"source": 3, "target": {"a": 1}}`:                                 `400 event 1: "target" is an object or an array, want `,
		`{"source": 3, "target": 4, "target": 5}`:                           `400 event 1: jsontext: duplicate object member name "target"`,
		`{"source": 3}`:                                                     `400 event 1: `,
		`{"source": 3, "target": 4, "amount": "much"}`:                      `400 event 1: "amount" is "much", want `,
		`{"source": 3, "target": 4, "colour": "red"}`:                       `400 event 1: the model reads no column "colour"`,
		`{"source": 3, "target": "x` + strings.Repeat("a", 1<<20) + `"}`:    `400 event 1: "target" is 1048577 bytes, want at most 32000`,
		`{"kind": "set_class", "id": 3, "class": "ship"}`:                   `400 event 1: the class is "ship", want one of the model, or none`,
		`{"kind": "set_class", "id": 77, "class": "shop"}`:                  `400 event 1: there is no node "77"`,
		`{"kind": "set_node", "id": "` + strings.Repeat("a", 33_000) + `"}`: `400 event 1: "id" is 33000 bytes, want at most 32000`,
		`{"source": 3, "target": 4, "kind": "card"}`:                        `400 event 1: the kind is "card", want one of add_row, `,
		`{"kind": "add_edge"}`:                                              `400 event 1: `,
	} {
		if status, text, _ := sent(t, url+"/events", body); !strings.HasPrefix(fmt.Sprint(status, " ", text), want) || strings.Count(text, "\n") != 1 || len(text) > 500 {
			t.Errorf("%.60s: %d %.300s, want %s", body, status, text, want)
		}
	}
	// What is not there is not removed, and counted.
	for _, body := range []string{`{"kind": "remove_node", "id": 77}`, `{"kind": "remove_edge", "source": 3, "target": 4}`, `{"kind": "remove_edge", "source": 3, "target": 77}`} {
		if status, text, _ := sent(t, url+"/events", body); status != http.StatusOK {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	if _, _, text := request(t, "GET", url+"/metrics", ""); !strings.Contains(text, `sanflow_events_absent_total{kind="remove_edge"} 2`) || !strings.Contains(text, `sanflow_events_absent_total{kind="remove_node"} 1`) || !strings.Contains(text, "sanflow_events_expired_total 0\n") || !strings.Contains(text, "sanflow_event_clock_jumps_total 0\n") {
		t.Error(text)
	}
	if _, after, _ := sent(t, url+"/explain", `{"ids": [3]}`); after != before {
		t.Errorf("%s, want %s", after, before)
	}
	for _, accept := range []string{"text/html", "application/json"} {
		for _, path := range []string{"/predict?id=3", "/explain?id=3&id=4"} {
			if status, header, text := request(t, "GET", url+path, "", "Accept", accept); status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), accept) {
				t.Errorf("%s %s: %d %.300s", path, accept, status, text)
			}
		}
	}
}
