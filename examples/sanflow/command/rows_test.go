package command

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// payment rows: accounts a0, a4, … steal. Some keys, amounts, times and classes are empty.
func thefts(n int) []string {
	r := rand.New(rand.NewPCG(4, 1))
	rows := []string{"when,from,to,amount,kind,theft"}
	for i := range n {
		s, to, class := r.IntN(40), fmt.Sprint("a", r.IntN(40)), "no"
		if s%4 == 0 && r.IntN(10) < 8 {
			class, to = "yes", fmt.Sprint("a", r.IntN(4))
		}
		when, amount := fmt.Sprint(i/2), fmt.Sprintf("%.2f", r.ExpFloat64()*10)
		switch {
		case i%31 == 7:
			to = ""
		case i%37 == 5:
			amount = ""
		case i%101 == 50:
			when = ""
		}
		if i%5 == 4 {
			class = ""
		}
		rows = append(rows, fmt.Sprintf("%s,a%d,%s,%s,%s,%s", when, s, to, amount, []string{"card", "cash"}[r.IntN(2)], class))
	}
	return rows
}

var theftFlags = []string{"-key", "from:account,to:account", "-time", "when", "-class", "theft"}

// The first lines of predict on a table are those of predict on its first rows, in the order of the file; evaluate measures the test
// part that train measured; explain and serve answer as predict does.
func TestRows(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	table, model := write(t, dir, "payments.csv", thefts(1000)), filepath.Join(dir, "rows.model")
	for _, system := range []string{"trees", "words"} {
		r := clitest.JSON[scored](t, train, append([]string{"-rows", table, "-windows", "50", "-label-delay", "2", "-score", "ap", "-systems", system, "-out", model}, theftFlags...)...)
		if r.Positive != "yes" || *r.AUC < 0.65 || len(r.Top) != 3 || r.Rows < 150 {
			t.Errorf("%s: %+v", system, r)
		}
		again := clitest.JSON[scored](t, evaluate, "-model", model, "-rows", table)
		if *again.AP != *r.AP || again.Rows != r.Rows {
			t.Errorf("%s: train measures AP %v of %d rows, evaluate %v of %d", system, *r.AP, r.Rows, *again.AP, again.Rows)
		}
		answers := func(rows []string, name string, flags ...string) []string {
			out := filepath.Join(dir, name)
			if err := predict(t.Context(), append([]string{"-model", model, "-rows", write(t, dir, "some.csv", rows), "-out", out}, flags...)); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Split(strings.TrimSpace(string(text)), "\n")
		}
		all := answers(thefts(1000), "all.csv")
		if len(all) != 1001 || !strings.HasPrefix(all[1000], "1000,") {
			t.Fatalf("%d lines, the last %s", len(all), all[len(all)-1])
		}
		for _, n := range []int{1, 400, 777} {
			if some := answers(thefts(1000)[:n+1], "some-out.csv"); strings.Join(some, "\n") != strings.Join(all[:n+1], "\n") {
				t.Errorf("%s: the first %d rows alone have other answers", system, n)
			}
		}
		// The classes of rows to test on are known by -labels all alone.
		blind := thefts(1000)
		for i := 900; i <= 1000; i++ {
			blind[i] = blind[i][:strings.LastIndex(blind[i], ",")+1]
		}
		if other := answers(blind, "blind.csv"); strings.Join(other, "\n") != strings.Join(all, "\n") {
			t.Errorf("%s: answers depend on classes of rows to test on", system)
		}
		if other := answers(thefts(1000), "known.csv", "-labels", "all"); strings.Join(other, "\n") == strings.Join(all, "\n") {
			t.Errorf("%s: -labels all changes nothing", system)
		}

		e := clitest.JSON[explanation](t, explain, "-model", model, "-rows", table, "-of", "1000", "-html", filepath.Join(dir, "e.html"))
		sum := e.Bias
		for _, c := range e.Columns {
			sum += c.Weight
		}
		for _, w := range e.Words {
			sum += w.Weight
		}
		if math.Abs(sum-e.Sum) > 1e-6 || len(e.Earlier) == 0 || e.Earlier[0].Key != "from" {
			t.Errorf("%s: reasons %v of %v, earlier rows %+v", system, sum, e.Sum, e.Earlier)
		}
		s, url := started(t, "-model", model, "-rows", table)
		if status, text := post(t, url, `{"rows": [{"when": 500, "kind": "wire"}, {"when": 500, "kind": "cash"}]}`); status != http.StatusOK || s.stats.unknown.Load() != 1 {
			t.Errorf("%d %s, %d unknown words, want 1", status, text, s.stats.unknown.Load())
		}
		var got []struct {
			ID      any
			Probs   map[string]float64
			Reasons *choose.Reasons
		}
		status, text := post(t, url, `{"ids": ["1000"], "rows": [{"id": 7, "when": 500, "from": "a4", "to": "new", "amount": "12.5", "kind": null}, {"when": 500, "from": "a4", "to": "a1", "amount": 12.5}]}`)
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusOK || len(got) != 3 {
			t.Fatalf("%d %s", status, text)
		}
		if line := fmt.Sprintf("1000,%s,%v,%v", map[bool]string{true: "yes", false: "no"}[got[0].Probs["yes"] > 0.5], got[0].Probs["no"], got[0].Probs["yes"]); line != all[1000] {
			t.Errorf("%s: serve says %s, predict %s", system, line, all[1000])
		}
		if got[1].ID != 7.0 || system == "trees" && (got[2].Probs["yes"] < 0.5 || got[1].Probs["yes"] > 0.2) { // thieves pay to a0 … a3
			t.Errorf("%s: of rows by a thief serve says %s", system, text)
		}
		got = nil
		if status, text := post(t, url+"/explain?", `{"rows": [{"when": 500, "from": "a4"}]}`); status != http.StatusOK || json.Unmarshal([]byte(text), &got) != nil {
			t.Fatalf("%d %s", status, text)
		}
		if why := got[0].Reasons; why == nil || why.Method != "exact" || len(why.Earlier) != 1 || why.Earlier[0].Value != "a4" || len(why.Earlier[0].Rows) != 8 {
			t.Errorf("%s: reasons %+v", system, why)
		}
		for _, test := range []struct{ body, want string }{
			{`{"rows": [{"from": "a4"}]}`, `no "when"`},
			{`{"rows": [{"when": "soon"}]}`, "want a time"},
			{`{"rows": [{"when": 1, "amount": "much"}]}`, `"amount" is "much", want a finite decimal number`},
			{`{"rows": [{"when": 1, "amount": "Inf"}]}`, `"amount" is "Inf", want a finite decimal number`},
			{`{"rows": [{"when": 1, "amount": 1e39}]}`, `"amount" is "1e+39", want a finite decimal number`},
			{`{"rows": [{"when": 1e39, "amount": 1}]}`, `"when" is "1e+39", want a time up to`},
			{`{"rows": [{"when": 1, "other": 1}]}`, `no column "other"`},
			{`{"ids": ["0"]}`, `no row "0"`},
			{`{}`, "want {"},
			{`{"rows": {"when": 1}}`, `"rows" at byte 10 is of type object, want {`},
		} {
			if status, text := post(t, url, test.body); status == http.StatusOK || !strings.Contains(text, test.want) {
				t.Errorf("%s: %d %s, want %s", test.body, status, text, test.want)
			}
		}
	}
	if err := evaluate(t.Context(), []string{"-model", model, "-rows", table, "-windows", "7"}); err == nil || !strings.Contains(err.Error(), `-windows "50"`) {
		t.Errorf("other windows: %v", err)
	}
	if err := predict(t.Context(), []string{"-model", model, "-rows", write(t, dir, "other.csv", []string{"when,from,amount,kind", "1,a,2,card"}), "-out", filepath.Join(dir, "o.csv")}); err == nil || !strings.Contains(err.Error(), `"to"`) {
		t.Errorf("a table without a key: %v", err)
	}
	if err := predict(t.Context(), []string{"-model", model, "-rows", write(t, dir, "other.csv", []string{"when,from,to,kind", "1,a,2,card"}), "-out", filepath.Join(dir, "o.csv")}); err == nil || !strings.Contains(err.Error(), `"amount"`) {
		t.Errorf("a table without a column: %v", err)
	}
}

// A posted row is read as a row of a table: empty and declared values are missing, columns that the training ignored and the class are
// left out and named, and what a table refuses is refused.
func TestPostedRows(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	rows := thefts(400)
	for i := range rows {
		rows[i] += map[bool]string{true: ",note", false: fmt.Sprintf(",n%d", i%7)}[i == 0]
	}
	table, model := write(t, dir, "payments.csv", rows), filepath.Join(dir, "rows.model")
	flags := append([]string{"-rows", table, "-systems", "trees", "-ignore", "note", "-missing", "NA,-999", "-out", model}, theftFlags...)
	if err := train(t.Context(), flags); err != nil {
		t.Fatal(err)
	}
	_, url := started(t, "-model", model, "-rows", table)
	ask := func(row string) (string, []string) {
		t.Helper()
		var got []struct {
			Probs   map[string]float64
			Ignored []string
		}
		status, text := post(t, url, `{"rows": [`+row+`]}`)
		if status != http.StatusOK || json.Unmarshal([]byte(text), &got) != nil {
			t.Fatalf("%s: %d %s", row, status, text)
		}
		return fmt.Sprint(got[0].Probs), got[0].Ignored
	}
	same := func(row, as string, ignored ...string) {
		t.Helper()
		got, left := ask(row)
		if want, _ := ask(as); got != want || !slices.Equal(left, ignored) {
			t.Errorf("%s has %s and leaves out %q, want %s of %s, %q", row, got, left, want, as, ignored)
		}
	}
	plain := `{"when": 150, "from": "a4", "to": "a1", "amount": 7, "kind": "card"}`
	same(`{"when": "150", "from": "a4", "to": "a1", "amount": "7.0", "kind": "card", "note": "n1", "theft": "yes"}`, plain, "note", "theft")
	same(`{"when": 150, "from": "a4", "to": "a1", "amount": 7e0, "kind": "card", "note": null}`, plain)
	same(`{"when": "", "from": "a4", "kind": ""}`, `{"when": null, "from": "a4"}`)
	same(`{"when": 150, "from": "a4", "to": "NA", "amount": -999.0, "kind": " NA "}`, `{"when": 150, "from": "a4"}`)
	same(`{"when": "NA", "from": "a4", "amount": ""}`, `{"when": null, "from": "a4"}`)
	for _, test := range []struct{ row, want string }{
		{`{"when": 1, "from": {"id": "a4"}}`, `"from" is an object or an array`},
		{`{"when": 1, "from": ["a4"]}`, `"from" is an object or an array`},
		{`{"when": 1, "amount": [7]}`, `"amount" is an object or an array`},
		{`{"when": 1, "from": "a4", "from": "a5"}`, `duplicate`},
		{`{"when": 1, "amount": "0x10"}`, `"amount" is "0x10", want a finite decimal number`},
		{`{"when": 1, "amount": "1_0"}`, `"amount" is "1_0", want a finite decimal number`},
		{`{"when": "2024-01-01", "amount": 1}`, `"2024-01-01" is points of time, such as 2006-01-02, and the rows of the table have numbers`},
		{`{"when": 1, "nots": 1}`, `no column "nots"`},
	} {
		if status, text := post(t, url, `{"rows": [`+test.row+`]}`); status == http.StatusOK || !strings.Contains(text, test.want) {
			t.Errorf("%s: %d %s, want %s", test.row, status, text, test.want)
		}
	}
}

// Times of tables, of a later file, and of a posted row are of one kind.
func TestKindOfTimes(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	dated := thefts(400)
	for i, row := range dated[1:] {
		if when, rest, _ := strings.Cut(row, ","); when != "" {
			day, _ := strconv.Atoi(when)
			dated[i+1] = time.Date(2024, 1, 1+day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly) + "," + rest
		}
	}
	numbers, dates := write(t, dir, "numbers.csv", thefts(400)), write(t, dir, "dates.csv", dated)
	if err := train(t.Context(), append([]string{"-rows", "p=" + numbers + ",q=" + dates}, theftFlags...)); err == nil || !strings.Contains(err.Error(), "times are points of time") {
		t.Errorf("numbers and dates: %v", err)
	}
	model := filepath.Join(dir, "rows.model")
	for _, c := range []struct{ learn, other, row, want string }{
		{numbers, dates, `{"when": "2024-01-05"}`, "are dates, and the model has learned from numbers"},
		{dates, numbers, `{"when": 5}`, "are numbers, and the model has learned from dates"},
	} {
		if err := train(t.Context(), append([]string{"-rows", c.learn, "-systems", "trees", "-out", model}, theftFlags...)); err != nil {
			t.Fatal(err)
		}
		if err := predict(t.Context(), []string{"-model", model, "-rows", c.other, "-out", filepath.Join(dir, "o.csv")}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("predict on %s: %v", c.other, err)
		}
		if err := predict(t.Context(), []string{"-model", model, "-rows", c.learn, "-out", filepath.Join(dir, "o.csv")}); err != nil {
			t.Error(err)
		}
		_, url := started(t, "-model", model, "-rows", c.learn)
		if status, text := post(t, url, `{"rows": [`+c.row+`]}`); status == http.StatusOK || !strings.Contains(text, "and the rows of the table have") {
			t.Errorf("%d %s", status, text)
		}
	}
}

// Payments and logins of one account, and a table of accounts, are one graph. The class of a payment is that of the last login of its
// account, or of the account itself.
func TestRowsOfTables(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	for _, from := range []string{"place", "kind"} {
		r := rand.New(rand.NewPCG(3, 3))
		payments, logins, accounts := []string{"time,account,amount,class"}, []string{"at,time,account,place"}, []string{"id,kind,age"}
		kind := map[int]string{}
		for a := range 40 {
			kind[a] = []string{"shop", "person"}[r.IntN(2)]
			accounts = append(accounts, fmt.Sprintf("a%d,%s,%d", a, kind[a], r.IntN(50)))
		}
		for i := range 1500 {
			a := r.IntN(40)
			place := []string{"home", "abroad"}[r.IntN(2)]
			logins = append(logins, fmt.Sprintf("x,%d,a%d,%s", 10*i, a, place))
			class := place == "abroad"
			if from == "kind" {
				class = kind[a] == "shop"
			}
			payments = append(payments, fmt.Sprintf("%d,a%d,%d,%t", 10*i+3, a, r.IntN(100), class))
		}
		dir := t.TempDir()
		model := filepath.Join(dir, "m")
		tables := []string{"-rows", "payments=" + write(t, dir, "p.csv", payments) + ",logins=" + write(t, dir, "l.csv", logins), "-nodes", "account=" + write(t, dir, "a.csv", accounts)}
		system := map[string]string{"place": "trees-words", "kind": "trees"}[from]
		got := clitest.JSON[scored](t, train, append([]string{"-key", "account", "-time", "time", "-class", "class", "-score", "auc", "-systems", system, "-out", model}, tables...)...)
		if *got.AUC < 0.9 {
			t.Errorf("%s: AUC %v of %s", from, *got.AUC, system)
		}
		out := filepath.Join(dir, "o.csv")
		if err := predict(t.Context(), append([]string{"-model", model, "-out", out}, tables...)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if len(lines) != 3001 || !strings.HasPrefix(lines[1], "payments:1,") || !strings.HasPrefix(lines[3000], "logins:1500,") {
			t.Errorf("%d lines, %s … %s", len(lines), lines[1], lines[len(lines)-1])
		}
		_, url := started(t, append([]string{"-model", model}, tables...)...)
		if status, text := post(t, url, `{"rows": [{"table": "payments", "time": 20000, "account": "a1", "amount": 3}]}`); status != http.StatusOK {
			t.Errorf("%d %s", status, text)
		}
		if status, text := post(t, url, `{"rows": [{"time": 20000, "account": "a1", "amount": 3}]}`); status == http.StatusOK || !strings.Contains(text, "table") {
			t.Errorf("a row of no table: %d %s", status, text)
		}
	}
}

// A class that the next amount of the account decides cannot be known, by any system; with -future it can.
func TestRowsSeeNoFuture(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	r := rand.New(rand.NewPCG(2, 2))
	const n, accounts = 3000, 50
	var who [n]int
	var amount, next [n]float64
	last := map[int]int{}
	for i := range n {
		who[i], amount[i] = r.IntN(accounts), r.Float64()
		if before, ok := last[who[i]]; ok {
			next[before] = amount[i]
		}
		last[who[i]] = i
	}
	rows := []string{"time,account,amount,class"}
	for i := range n {
		rows = append(rows, fmt.Sprintf("%d,a%d,%.4f,%t", i, who[i], amount[i], next[i] > 0.5))
	}
	dir := t.TempDir()
	table := write(t, dir, "t.csv", rows)
	for _, system := range []string{"trees", "words", "trees-words", "future"} {
		args := []string{"-rows", table, "-key", "account", "-time", "time", "-class", "class", "-score", "auc", "-systems", system, "-out", filepath.Join(dir, "m")}
		if system == "future" {
			args = append(args, "-future")
			args[11] = "trees"
		}
		got := clitest.JSON[struct {
			scored
			Future bool
		}](t, train, args...)
		if knows := system == "future"; knows != (*got.AUC > 0.9) || knows != got.Future || !knows && *got.AUC > 0.55 {
			t.Errorf("%s: AUC %v, future %v", system, *got.AUC, got.Future)
		}
	}
}

// Wrong flags are errors that name the flag or the column.
func TestRowFlags(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	table := write(t, dir, "payments.csv", thefts(60))
	for _, test := range []struct{ args, want string }{
		{"-time when -class theft", "-task rows wants -key"},
		{"-key from,to -time when", "wants -class"},
		{"-key from,from -class theft", `both name the column "from"`},
		{"-key from: -class theft", "COLUMN:SPACE"},
		{"-key from,to -class theft -windows 5", "want -time"},
		{"-key from,to -time when -class theft -windows 0", "-windows"},
		{"-key from,to -time when -class theft -windows 1x", "-windows"},
		{"-key from,to -time when -class theft -label-delay -5", "-label-delay"},
		{"-key from,to -time when -class theft -labels some", "-labels"},
		{"-key from,to -time when -class theft -part time:0.9,0.2", "-part"},
		{"-key from,nobody -time when -class theft", `"nobody"`},
		{"-key from,to -time when -class theft -ignore nothing", `"nothing"`},
		{"-key from,to -time when -class theft -source from", "-source is not for -rows"},
		{"-key from,to -time when -class theft -task nodes", "go together"},
		{"-key from,to -time when -class theft -edges x.csv", "-rows is in place of -data and -edges"},
		{"-key from:account,to -time when -class theft -nodes none=" + table, `"none"`},
	} {
		err := train(t.Context(), append([]string{"-rows", table, "-out", filepath.Join(dir, "m")}, strings.Fields(test.args)...))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.args, err, test.want)
		}
	}
	for _, args := range [][]string{{"-data", "MUTAG", "-key", "a"}, {"-edges", table, "-source", "from", "-target", "to", "-key", "a"}} {
		if err := train(t.Context(), args); err == nil || !strings.Contains(err.Error(), "-key is for -rows") {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// What is guessed of rows is told, with the flag that says otherwise.
func TestRowsTold(t *testing.T) {
	race.Skip(t)
	dir := t.TempDir()
	lines := thefts(400)
	lines[0] = strings.Replace(lines[0], "when", "Date", 1)
	for i := range lines {
		lines[i] += fmt.Sprint(",x", i)
	}
	lines[0] = strings.TrimSuffix(lines[0], "x0") + "receipt"
	table, model := write(t, dir, "payments.csv", lines), filepath.Join(dir, "m")
	const ids, times, labels = `the column "receipt" is an attribute, though each row has another word; -id receipt`, `-time Date would read the column "Date"`, "guessed: -labels train"
	for _, c := range []struct {
		flags      []string
		ids, times bool
	}{{nil, true, true}, {[]string{"-time", "Date"}, true, false}, {[]string{"-time", "Date", "-id", "receipt"}, false, false}} {
		_, text := printed(t, append([]string{"train", "-rows", table, "-key", "from:account,to:account", "-class", "theft", "-systems", "trees", "-out", model}, c.flags...)...)
		if strings.Contains(text, ids) != c.ids || strings.Contains(text, times) != c.times || strings.Contains(text, labels) {
			t.Errorf("train %s says\n%s", c.flags, text)
		}
	}
	who := strings.Split(lines[400], ",")[1]
	if text, _ := printed(t, "explain", "-model", model, "-rows", table, "-of", "x400"); !strings.Contains(text, "earlier rows with the account "+who+" (from of the row), the latest x") {
		t.Errorf("explain says\n%s", text)
	}
	// All classes of later rows are unknown but for some, and rows without a time are seen by no row.
	for _, known := range []int{0, 1, 2, 8} {
		some := slices.Clone(lines)
		left := known
		for i := 200; i <= 400; i++ {
			f := strings.Split(some[i], ",")
			choose, test := i > 260 && i < 280, i > 320
			if f[0] != "" && f[5] != "" && left > 0 && (choose && left == known || test) {
				left--
			} else if f[0] != "" {
				f[5] = ""
			}
			some[i] = strings.Join(f, ",")
		}
		for _, command := range [][]string{{"predict", "-out", filepath.Join(dir, "o.csv")}, {"evaluate"}} {
			if known < 2 && command[0] == "evaluate" {
				continue // there is no row to measure
			}
			args := append(command, "-model", model, "-rows", write(t, dir, "some.csv", some))
			_, text := printed(t, args...)
			if line := fmt.Sprintf("%s, so that later rows know the classes of rows to learn from alone; -labels all uses the classes of %d more rows\n", labels, known); strings.Count(text, line) != min(known, 1) || strings.Count(text, labels) != min(known, 1) {
				t.Errorf("%d rows with known classes: %s says\n%s", known, command[0], text)
			}
			if _, text = printed(t, append(args, "-labels", "all")...); strings.Contains(text, labels) {
				t.Errorf("%s -labels all says\n%s", command[0], text)
			}
		}
	}
}

// The file of a model of rows that was saved from Go tells which rows it has learned from, or evaluate says that it does not.
func TestRowsFromGo(t *testing.T) {
	dir := t.TempDir()
	table, model := write(t, dir, "payments.csv", thefts(400)), filepath.Join(dir, "m")
	set, err := sources.Rows{Tables: []sources.RowTable{{
		Table: sources.CSV{Path: table}, Time: "when", Class: "theft",
		Keys: []sources.Key{{Column: "from", Space: "account"}, {Column: "to", Space: "account"}},
	}}}.Read(t.Context())
	if err == nil {
		_, err = set.SplitTime(0.6, 0.15)
	}
	if err != nil {
		t.Fatal(err)
	}
	train, valid := set.Subset(sources.Train), set.Subset(sources.Val)
	h := &choose.History{Set: set, Train: train, Class: "theft"}
	systems, err := h.Systems()
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := choose.Choice{Systems: systems[:1], Classes: set.Classes, Train: h.Rows(train), Valid: h.Rows(valid), Seed: 1}.Run(t.Context())
	if err == nil {
		err = h.Keep(chosen.Net)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, keeps := range []bool{true, false} {
		if !keeps {
			delete(chosen.Net.Metadata(), "known")
		}
		if err := sinks.Save(model, chosen.Net, chosen.Recipe); err != nil {
			t.Fatal(err)
		}
		said, told := printed(t, "evaluate", "-model", model, "-task", "rows", "-rows", table, "-key", "from:account,to:account", "-time", "when", "-class", "theft")
		left := fmt.Sprintf("left out: %d of", len(train)+len(valid))
		if strings.Contains(told, left) != keeps || strings.Contains(said, "from which the model has not learned") != keeps || strings.Contains(said, "the file does not tell which rows the model has learned from") == keeps {
			t.Errorf("the file tells the rows: %v; evaluate says\n%s%s", keeps, told, said)
		}
	}
}

// A report is of the answers that predict gives for the rows to test on, also where a column of parts has no rows to choose by: those
// are dealt out of the rows to learn from, and predict knows their classes.
func TestRowsPartsDealt(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir, rows := t.TempDir(), thefts(1000)
	rows[0] += ",part"
	for i := range rows[1:] {
		rows[1+i] += map[bool]string{true: ",train", false: ",test"}[i < 700]
	}
	table, model, out := write(t, dir, "payments.csv", rows), filepath.Join(dir, "rows.model"), filepath.Join(dir, "out.csv")
	for _, system := range []string{"trees", "words"} {
		r := clitest.JSON[scored](t, train, append([]string{"-rows", table, "-part", "part", "-systems", system, "-out", model}, theftFlags...)...)
		if e := clitest.JSON[scored](t, evaluate, "-model", model, "-rows", table); *e.AUC != *r.AUC || e.Rows != r.Rows {
			t.Errorf("%s: train measures AUC %v of %d rows, evaluate %v of %d", system, *r.AUC, r.Rows, *e.AUC, e.Rows)
		}
		if err := predict(t.Context(), []string{"-model", model, "-rows", table, "-out", out}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		var said []float64
		var theft []bool
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		yes := slices.Index(strings.Split(lines[0], ","), "p_yes")
		for i, line := range lines[1:] {
			if class := strings.Split(rows[1+i], ",")[5]; i >= 700 && class != "" {
				p, err := strconv.ParseFloat(strings.Split(line, ",")[yes], 64)
				if err != nil {
					t.Fatal(err)
				}
				said, theft = append(said, p), append(theft, class == "yes")
			}
		}
		if auc := validation.AUC(said, theft); math.Abs(auc-*r.AUC) > 1e-9 || len(said) != r.Rows {
			t.Errorf("%s: the AUC of predict is %v of %d rows, that of the report %v of %d", system, auc, len(said), *r.AUC, r.Rows)
		}
	}
}

// Answers do not depend on the order in which flags name keys and windows.
func TestRowsOrderOfFlags(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	table, model, out := write(t, dir, "payments.csv", thefts(400)), filepath.Join(dir, "rows.model"), filepath.Join(dir, "out.csv")
	for _, system := range []string{"trees", "words", "trees-words"} {
		var first string
		for _, flags := range [][]string{{"-key", "from:account,to:account,kind", "-windows", "20,90"}, {"-key", "kind,to:account,from:account", "-windows", "90,20"}} {
			args := append([]string{"-rows", table, "-time", "when", "-class", "theft", "-systems", system, "-out", model}, flags...)
			if err := train(t.Context(), args); err != nil {
				t.Fatal(err)
			}
			if err := predict(t.Context(), []string{"-model", model, "-rows", table, "-out", out}); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = string(text)
			} else if first != string(text) {
				t.Errorf("%s: other answers for other orders of -key and -windows", system)
			}
		}
	}
}

// Numbers of rows of another file are not those that a model has learned from: without -id no row of it is left out.
func TestRowsOfAnotherFile(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir, later, known := t.TempDir(), thefts(300), 0
	for i, row := range later[1:] {
		f := strings.Split(row, ",")
		if when, err := strconv.Atoi(f[0]); err == nil {
			f[0] = strconv.Itoa(when + 10_000)
		}
		if f[5] != "" {
			known++
		}
		later[1+i] = strings.Join(f, ",")
	}
	model := filepath.Join(dir, "rows.model")
	clitest.JSON[scored](t, train, append([]string{"-rows", write(t, dir, "payments.csv", thefts(600)), "-systems", "trees", "-out", model}, theftFlags...)...)
	if e := clitest.JSON[scored](t, evaluate, "-model", model, "-rows", write(t, dir, "later.csv", later)); e.Rows != known {
		t.Errorf("%d rows of another file are measured, want %d", e.Rows, known)
	}
}

// Parts of -curve are the rows to test on in the order of time, and the measures are those of the answers of predict; a class that is not
// known before the last row leaves nothing to learn from anew.
func TestRowsCurve(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	type curved struct {
		scored
		Curve []point
	}
	dir, rows := t.TempDir(), thefts(600)
	table, model, out := write(t, dir, "payments.csv", rows), filepath.Join(dir, "rows.model"), filepath.Join(dir, "out.csv")
	for _, delay := range []string{"0", "20", "10000"} {
		clitest.JSON[scored](t, train, append([]string{"-rows", table, "-labels", "all", "-label-delay", delay, "-systems", "trees", "-out", model}, theftFlags...)...)
		e := clitest.JSON[curved](t, evaluate, "-model", model, "-rows", table, "-curve", "3")
		if err := predict(t.Context(), []string{"-model", model, "-rows", table, "-out", out}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		yes, total, last := slices.Index(strings.Split(lines[0], ","), "p_yes"), 0, -1.0
		for i, p := range e.Curve {
			var said []float64
			var theft []bool
			for row, line := range lines[1:] {
				f := strings.Split(rows[1+row], ",")
				if when, err := strconv.ParseFloat(f[0], 64); err == nil && f[5] != "" && when > last && when <= p.Until {
					x, err := strconv.ParseFloat(strings.Split(line, ",")[yes], 64)
					if err != nil {
						t.Fatal(err)
					}
					if when >= p.From {
						said, theft = append(said, x), append(theft, f[5] == "yes")
					}
				}
			}
			if auc := validation.AUC(said, theft); p.From <= last || len(said) != p.Rows || math.Abs(auc-*p.AUC) > 1e-9 {
				t.Errorf("delay %s: part %d is %+v, AUC %v, and the answers of predict from %v to %v are %d with AUC %v", delay, i, p, *p.AUC, p.From, p.Until, len(said), auc)
			}
			if (p.Retrained == nil) != (delay == "10000") || p.Retrained != nil && p.Retrained.Rows != p.Rows {
				t.Errorf("delay %s: part %d learns anew: %+v", delay, i, p.Retrained)
			}
			total, last = total+p.Rows, p.Until
		}
		if len(e.Curve) != 3 || total != e.Rows {
			t.Errorf("delay %s: %d parts of %d rows, want 3 of %d", delay, len(e.Curve), total, e.Rows)
		}
	}
}

// Of rows with different times and without ids the order of the file changes no answer.
func TestRowsShuffled(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir, rows := t.TempDir(), thefts(600)
	for i := range rows[1:] {
		rows[1+i] = fmt.Sprint(i) + rows[1+i][strings.IndexByte(rows[1+i], ','):]
	}
	model, out := filepath.Join(dir, "rows.model"), filepath.Join(dir, "out.csv")
	for _, system := range []string{"trees", "words"} {
		var first map[string]string
		for seed := range uint64(2) {
			some := slices.Clone(rows)
			if seed > 0 {
				rand.New(rand.NewPCG(seed, 1)).Shuffle(len(some)-1, func(i, j int) { some[1+i], some[1+j] = some[1+j], some[1+i] })
			}
			table := write(t, dir, "payments.csv", some)
			clitest.JSON[scored](t, train, append([]string{"-rows", table, "-systems", system, "-out", model}, theftFlags...)...)
			if err := predict(t.Context(), []string{"-model", model, "-rows", table, "-out", out}); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			answers := map[string]string{}
			for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
				_, answers[some[1+i]], _ = strings.Cut(line, ",")
			}
			if first == nil {
				first = answers
			} else if !reflect.DeepEqual(first, answers) {
				t.Errorf("%s: the shuffled file has other answers", system)
			}
		}
	}
}

// A class without rows to learn from is noted, and so is a model that sees later rows wherever it is asked.
func TestRowsNotes(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir, rows := t.TempDir(), thefts(300)
	rows[299] = strings.Join(append(strings.Split(rows[299], ",")[:5], "maybe"), ",")
	table, model := write(t, dir, "payments.csv", rows), filepath.Join(dir, "rows.model")
	if _, told := printed(t, append([]string{"train", "-rows", table, "-future", "-systems", "trees", "-out", model}, theftFlags...)...); !strings.Contains(told, `of the class "maybe" there is no row to learn from`) {
		t.Errorf("train tells\n%s", told)
	}
	if _, told := printed(t, "predict", "-model", model, "-rows", table, "-out", filepath.Join(dir, "out.csv")); !strings.Contains(told, "the future was seen: ") {
		t.Errorf("predict tells\n%s", told)
	}
}

// Tables of the kinds that broke other tools: each row of a file has its line of answers, in the order of the file, and what is not read has a
// line of the report.
func TestRowsOfOddTables(t *testing.T) {
	dir := t.TempDir()
	model, out := filepath.Join(dir, "m"), filepath.Join(dir, "o.csv")
	odd := func(header string, n int, row func(i int) string) []string {
		rows := []string{header}
		for i := range n {
			rows = append(rows, row(i))
		}
		return rows
	}
	ab := func(i int) string { return []string{"a", "b"}[i%2] }
	for _, c := range []struct {
		rows  []string
		flags []string
		line  string
	}{
		{odd(",id,class", 30, func(i int) string { return fmt.Sprintf("%d,u%03d,%s", i, i, ab(i)) }), []string{"-key", "id"}, `ignored column ""`},
		{odd("id,amount,class", 40, func(i int) string {
			return fmt.Sprintf("n%d,%s,%s", i%9, []string{"NA", "7.5", "8"}[min(i, 1+i%2)], []string{"a", "b", "NA"}[i%3])
		}), []string{"-key", "id", "-missing", "NA"}, "missing values: 13 of 40 rows"},
		{odd("source,target,amount,class", 24, func(i int) string { return fmt.Sprintf("ann,%s,%d,%s", []string{"ann", "bob"}[i%2], i%3, ab(i/2)) }), []string{"-key", "source:p,target:p"}, "guessed: the order of rows"},
		{odd(":START_ID(Person),:END_ID(City),class", 24, func(i int) string { return fmt.Sprintf("%d,%d,%s", i%3, i%3, ab(i)) }), []string{"-key", ":START_ID(Person),:END_ID(City):city"}, "guessed: the order of rows"},
		{odd("source,target,time,class", 7, func(i int) string { return fmt.Sprintf("#t%d,%%u%d,%d,%s", i%3, i%2, i, ab(i)) }), []string{"-key", "source,target", "-time", "time"}, "guessed: -part"},
		{[]string{"source,class,time", "#go,#rust,1", "#rust,%c,2", "%c,go,3", "go,#go,4", "#rust,#go,5", "%c,#rust,6", "#go,go,7"}, []string{"-key", "source", "-time", "time"}, "guessed: -part"},
		{odd("source,x,class", 24, func(i int) string { return fmt.Sprintf("%d,%d.0,%s", i%5, i%4, ab(i)) }), []string{"-key", "source"}, "guessed: the order of rows"},
	} {
		table := write(t, dir, "t.csv", c.rows)
		_, told := printed(t, append([]string{"train", "-rows", table, "-class", "class", "-systems", "trees", "-out", model}, c.flags...)...)
		if !strings.Contains(told, c.line) || strings.Contains(told, " of , ") {
			t.Errorf("%s: %s, want %s", c.rows[0], told, c.line)
		}
		printed(t, "predict", "-model", model, "-rows", table, "-out", out)
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if len(lines) != len(c.rows) {
			t.Errorf("%s: %d lines of answers, want %d", c.rows[0], len(lines), len(c.rows))
		}
		for i, line := range lines[1:] {
			if !strings.HasPrefix(line, fmt.Sprint(i+1, ",")) {
				t.Errorf("%s: row %d has the line %s", c.rows[0], i+1, line)
			}
		}
	}
}

// The rows of a file in any order have the same answers, by their ids: later rows and rows of unknown time are never in the past of a row,
// whatever the order of arrival.
func TestRowsInAnyOrder(t *testing.T) {
	race.Skip(t)
	dir := t.TempDir()
	rows := thefts(400)
	for i := range rows[1:] {
		if when, rest, _ := strings.Cut(rows[1+i], ","); when != "" {
			rows[1+i] = fmt.Sprintf("%d,%s", 7*i, rest)
		}
		rows[1+i] = fmt.Sprintf("r%d,%s", i, rows[1+i])
	}
	rows[0] = "key," + rows[0]
	shuffled := slices.Clone(rows)
	rand.New(rand.NewPCG(5, 5)).Shuffle(len(rows)-1, func(i, j int) { shuffled[1+i], shuffled[1+j] = shuffled[1+j], shuffled[1+i] })
	answers := func(model string, rows []string) []string {
		out := filepath.Join(dir, "o.csv")
		printed(t, "predict", "-model", model, "-rows", write(t, dir, "t.csv", rows), "-out", out)
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		slices.Sort(lines)
		return lines
	}
	for _, system := range []string{"trees", "words"} {
		var want []string
		for i, rows := range [][]string{rows, shuffled} {
			model := filepath.Join(dir, fmt.Sprint("m", i))
			printed(t, append([]string{"train", "-rows", write(t, dir, "t.csv", rows), "-id", "key", "-windows", "50", "-systems", system, "-out", model}, theftFlags...)...)
			if i == 0 {
				want = answers(model, rows)
			}
			if got := answers(model, shuffled); !slices.Equal(got, want) {
				t.Errorf("%s, model %d: the rows in another order have other answers", system, i)
			}
		}
	}
}

// A file with other rows than those of the training may lack the column of its ids, and has no history but its own. Both are said in lines.
func TestRowsOfLaterFile(t *testing.T) {
	race.Skip(t)
	dir, later := t.TempDir(), thefts(300)
	rows := thefts(600)
	for i := range rows {
		rows[i] = map[bool]string{true: "key,", false: fmt.Sprintf("r%d,", i)}[i == 0] + rows[i]
	}
	for i, row := range later[1:] {
		if when, rest, _ := strings.Cut(row, ","); when != "" {
			later[1+i] = "9000" + when + "," + rest
		}
	}
	model, out := filepath.Join(dir, "rows.model"), filepath.Join(dir, "o.csv")
	table, new := write(t, dir, "payments.csv", rows), write(t, dir, "later.csv", later)
	const numbers, alone = `guessed: the table has no column "key"`, "guessed: no row of "
	for _, part := range []string{"", "time:0.5,0.2"} {
		printed(t, append([]string{"train", "-rows", table, "-id", "key", "-part", part, "-systems", "trees", "-out", model}, theftFlags...)...)
		_, told := printed(t, "predict", "-model", model, "-rows", new, "-out", out)
		text, err := os.ReadFile(out)
		if err != nil || !strings.Contains(told, numbers) || !strings.Contains(told, alone) || !strings.Contains(string(text), "\n300,") {
			t.Errorf("later rows: %v, %s", err, told)
		}
		if _, told := printed(t, "predict", "-model", model, "-rows", table, "-out", out); strings.Contains(told, numbers) || strings.Contains(told, alone) {
			t.Errorf("rows of the training: %s", told)
		}
		if err := predict(t.Context(), []string{"-model", model, "-rows", new, "-id", "key", "-out", out}); err == nil || !strings.Contains(err.Error(), `no column "key"`) {
			t.Errorf("-id key: %v", err)
		}
	}
}

// Flags of rows are refused for other tasks, and -nodes whose rows are graphs is said to have no nodes.
func TestRowsFlagsOfOtherTasks(t *testing.T) {
	dir := t.TempDir()
	edges, nodes := []string{"g,source,target"}, []string{"g,id,x,class"}
	for g := range 40 {
		for v := range 4 {
			edges = append(edges, fmt.Sprintf("%d,%d,%d", g, v, (v+1+g%2)%4))
			nodes = append(nodes, fmt.Sprintf("%d,%d,%d,%d", g, v, v, g%2))
		}
	}
	e, n := write(t, dir, "e.csv", edges), write(t, dir, "n.csv", nodes)
	for _, flag := range []string{"-windows=5", "-label-delay=5", "-labels=all", "-future", "-key=x"} {
		for _, args := range [][]string{{"-task", "nodes", "-edges", e, "-nodes", n, "-class", "class"}, {"-task", "links", "-edges", e}, {"-task", "graphs", "-edges", e, "-graph", "g"}} {
			if err := train(t.Context(), append(args, flag)); err == nil || !strings.Contains(err.Error(), "is for -rows") {
				t.Errorf("%s %s: %v", args, flag, err)
			}
		}
	}
	args := []string{"train", "-task", "graphs", "-edges", e, "-nodes", n, "-graph", "g", "-class", "class", "-systems", "words", "-out", filepath.Join(dir, "m")}
	const line = "guessed: the rows of "
	if _, told := printed(t, args...); !strings.Contains(told, line) {
		t.Errorf("no line says that columns of -nodes are not read: %s", told)
	}
	if _, told := printed(t, append(args, "-id", "id")...); strings.Contains(told, line) || !strings.Contains(told, "node attribute x") {
		t.Errorf("columns of -nodes are not read: %s", told)
	}
}
