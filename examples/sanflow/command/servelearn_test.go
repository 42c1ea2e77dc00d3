package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn/validation"
)

// A server that learns, and is started again between events, answers as one that is not; /metrics tells of it. A model file that is replaced is learned
// on with from its position.
func TestServeLearn(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	rows := thefts(900)
	table, model := write(t, dir, "payments.csv", rows[:301]), filepath.Join(dir, "rows.model")
	trained := func(out string, more ...string) {
		clitest.JSON[scored](t, train, append(append([]string{"-rows", table, "-label-delay", "2", "-out", out}, theftFlags...), more...)...)
	}
	trained(model, "-systems", "words")
	events := eventsOf(t, append(rows[:1:1], rows[301:]...))
	// Lessons are the rows with a class.
	known, answers := func(from, to int) (n int) {
		for _, row := range rows[301+from : 301+to] {
			if !strings.HasSuffix(row, ",") {
				n++
			}
		}
		return n
	}, 0
	for known(0, answers) < 256 {
		answers++
	}
	ids := `{"ids": [3, 299, 400, 700, 899]}`
	post := func(url string, from, to int) {
		t.Helper()
		if status, text, _ := sent(t, url+"/events", strings.Join(events[from:to], "\n")); status != http.StatusOK {
			t.Fatal(status, text)
		}
	}
	metric := func(url, name string) string {
		t.Helper()
		r, err := http.Get(url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		_, value, _ := strings.Cut(string(text), "\n"+name+" ")
		value, _, _ = strings.Cut(value, "\n")
		return strings.TrimSpace(value)
	}
	flags := func(store string) []string {
		return []string{"-model", model, "-rows", table, "-events", "post", "-learn", "-learn-rate", "0.02", "-store", filepath.Join(dir, store)}
	}
	stop, calm := startedAs(t, flags("calm")...)
	if facts := factsOf(t, calm, ""); facts["next scores of what is learned"] != "after 1000 more classes" {
		t.Error(facts)
	}
	post(calm, 0, 600)
	_, want, _ := sent(t, calm+"/predict", ids)
	lessons := metric(calm, "sanflow_learn_lessons_total")
	stop()
	_, still := started(t, "-model", model, "-rows", write(t, dir, "all.csv", rows), "-labels", "all")
	if _, text, _ := sent(t, still+"/predict", ids); text == want || lessons != fmt.Sprint(known(0, 600)) {
		t.Errorf("%s lessons: %s, as without", lessons, text)
	}
	for _, part := range [][2]int{{0, 250}, {250, 300}, {300, 600}} {
		stop, url := startedAs(t, flags("store")...)
		post(url, part[0], part[1])
		if part[1] == 600 {
			if _, text, _ := sent(t, url+"/predict", ids); text != want || metric(url, "sanflow_learn_lessons_total") != lessons || metric(url, "sanflow_learn_answers_position") != fmt.Sprint(answers) {
				t.Errorf("started again: %s after %s lessons, want %s after %s", text, metric(url, "sanflow_learn_lessons_total"), want, lessons)
			}
		}
		stop()
	}
	s, url, end := opened(t, append(flags("replaced"), "-reload", "5ms")...)
	post(url, 0, 100)
	next := filepath.Join(dir, "next.model")
	trained(next, "-systems", "words", "-seed", "2", "-part", "time:0.5,0.2")
	if err := os.Rename(next, model); err != nil {
		t.Fatal(err)
	}
	watching, stopWatch := context.WithTimeout(t.Context(), time.Minute)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.watch(watching, slog.New(slog.DiscardHandler), "")
	}()
	for s.stats.reloads.Load() == 0 && watching.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	stopWatch()
	<-watched
	post(url, 100, 150)
	if at, n := metric(url, "sanflow_learn_loaded_position"), metric(url, "sanflow_learn_lessons_total"); at != "100" || n != fmt.Sprint(known(100, 150)) {
		t.Errorf("replaced: loaded at %s, %s lessons", at, n)
	}
	end()
	trained(next, "-systems", "trees")
	for want, args := range map[string][]string{
		"-learn: a model of the system trees cannot learn from one row at a time; train -systems words makes one": {"-model", next, "-events", "post", "-learn", "-store", filepath.Join(dir, "trees")},
		"the store has a model that learns: go on with":                                                           {"-model", model, "-events", "post", "-store", filepath.Join(dir, "store")},
		"-learn wants -events":     {"-model", model, "-learn"},
		"-learn-rate wants -learn": {"-model", model, "-events", "post", "-store", "s", "-learn-rate", "0.1"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := run(ctx, append([]string{"serve", "-listen", "localhost:0", "-rows", table}, args...))
		if cancel(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}

// What -curve tells of a model that learns on the way is what a server does that gets each row without its class, asks about it, and gets the class when it
// is known.
func TestCurveLearns(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	const delay = 20
	type curved struct{ Curve []point }
	dir, rows := t.TempDir(), thefts(900)
	all, model := write(t, dir, "payments.csv", rows), filepath.Join(dir, "rows.model")
	clitest.JSON[scored](t, train, append([]string{"-rows", all, "-labels", "all", "-label-delay", fmt.Sprint(delay), "-part", "time:0.3,0.1", "-systems", "words", "-out", model}, theftFlags...)...)
	curve := clitest.JSON[curved](t, evaluate, "-model", model, "-rows", all, "-labels", "all", "-curve", "2", "-learn-rate", "0.02").Curve
	// The rows in the order of time, and how many come before the first to test on.
	when := func(row string) float64 {
		x, err := strconv.ParseFloat(row[:strings.IndexByte(row, ',')], 64)
		if err != nil {
			return math.Inf(1)
		}
		return x
	}
	ordered := slices.Clone(rows[1:])
	slices.SortStableFunc(ordered, func(a, b string) int { return cmp.Compare(when(a), when(b)) })
	class := func(i int) string { return ordered[i][strings.LastIndexByte(ordered[i], ',')+1:] }
	without := func(i int) string { return strings.TrimSuffix(ordered[i], class(i)) }
	first := slices.IndexFunc(ordered, func(row string) bool { return when(row) == curve[0].From })
	var later, before []int // of the rows before, those whose class is not known yet, and the others
	table := rows[:1:1]
	for i := range ordered {
		switch {
		case i >= first && when(ordered[i]) < math.Inf(1):
			later = append(later, i)
		case when(ordered[i])+delay < curve[0].From:
			table = append(table, ordered[i])
		case i < first:
			table, before = append(table, without(i)), append(before, i)
		}
	}
	stop, url := startedAs(t, "-model", model, "-rows", write(t, dir, "begun.csv", table), "-events", "post", "-store", filepath.Join(dir, "store"), "-learn", "-learn-rate", "0.02")
	defer stop()
	events := eventsOf(t, append(rows[:1:1], func() (all []string) {
		for _, i := range later {
			all = append(all, without(i))
		}
		return all
	}()...))
	var said []float64
	var theft []bool
	known := append(before, later...)
	for n, i := range later {
		for when(ordered[known[0]])+delay < when(ordered[i]) {
			if class(known[0]) != "" {
				sent(t, url+"/events", fmt.Sprintf(`{"kind": "set_class", "id": %d, "class": %q}`, 1+known[0], class(known[0])))
			}
			known = known[1:]
		}
		status, text, _ := sent(t, url+"/events", events[n])
		if status != http.StatusOK {
			t.Fatal(text)
		}
		if class(i) == "" {
			continue
		}
		_, text, _ = sent(t, url+"/predict", fmt.Sprintf(`{"ids": [%d]}`, 1+i))
		var a []struct{ Probs map[string]float64 }
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(text, err)
		}
		said, theft = append(said, a[0].Probs["yes"]), append(theft, class(i) == "yes")
	}
	differ := false
	for i, p := range curve {
		from, to := i*len(said)/2, (i+1)*len(said)/2
		auc, ap := validation.AUC(said[from:to], theft[from:to]), validation.AveragePrecision(said[from:to], theft[from:to])
		if p.Learner == nil || math.Abs(auc-*p.Learner.AUC) > 1e-9 || math.Abs(ap-*p.Learner.AP) > 1e-9 {
			t.Errorf("part %d: %+v, want %v and %v", i, p.Learner, auc, ap)
		}
		differ = differ || *p.Learner.AUC != *p.AUC
	}
	if !differ {
		t.Error("the model has not learned")
	}
}

// A model of nodes learns too, while edges come and go; a server that is started again between events has learned what one has that is not.
func TestServeLearnNodes(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(6, 1))
	edge := func() (u, v int) {
		u, v = r.IntN(100), r.IntN(100)
		if r.IntN(3) > 0 {
			v = v/2*2 + u%2
		}
		return u, v
	}
	edges, nodes := []string{"from,to"}, []string{"name,age,role"}
	for range 300 {
		u, v := edge()
		edges = append(edges, fmt.Sprintf("p%d,p%d", u, v))
	}
	for v := range 100 {
		nodes = append(nodes, fmt.Sprintf("p%d,%d,%s", v, 20+r.IntN(50), []string{"buyer", "seller"}[v%2]))
	}
	var events []string
	for i := range 600 {
		u, v := edge()
		switch i % 6 {
		case 0, 1, 2:
			events = append(events, fmt.Sprintf(`{"kind": "set_class", "id": "p%d", "class": %q}`, u, []string{"seller", "buyer"}[(u+i/300)%2]))
		case 3:
			events = append(events, fmt.Sprintf(`{"from": "p%d", "to": "p%d"}`, u, v))
		case 4:
			events = append(events, fmt.Sprintf(`{"kind": "remove_edge", "from": "p%d", "to": "p%d"}`, u, v))
		case 5:
			events = append(events, fmt.Sprintf(`{"kind": "set_node", "name": "p%d", "age": %d, "role": "buyer"}`, u, r.IntN(50)))
		}
	}
	model := filepath.Join(dir, "nodes.model")
	tables := []string{"-edges", write(t, dir, "edges.csv", edges), "-nodes", write(t, dir, "nodes.csv", nodes)}
	clitest.JSON[scored](t, train, append([]string{"-source", "from", "-target", "to", "-id", "name", "-class", "role", "-budget", "0", "-systems", "words", "-out", model}, tables...)...)
	ids := `{"ids": ["p1", "p2", "p3", "p40", "p77"]}`
	for _, window := range [][]string{nil, {"-last", "250"}} {
		var want string
		for name, parts := range map[string][]int{"calm": {0, 600}, "again": {0, 100, 101, 333, 590, 600}} {
			flags := append(append([]string{"-model", model, "-events", "post", "-learn", "-store", filepath.Join(dir, name+fmt.Sprint(len(window)))}, tables...), window...)
			got := ""
			for i, from := range parts[:len(parts)-1] {
				s, url, end := opened(t, flags...)
				if status, text, _ := sent(t, url+"/events", strings.Join(events[from:parts[i+1]], "\n")); status != http.StatusOK {
					t.Fatal(status, text)
				}
				_, text, _ := sent(t, url+"/predict", ids)
				l := s.live.Stats().Learned
				if got = fmt.Sprint(text, l.Lessons, l.Answers, l.Now.Learner.Accuracy, l.Now.Learner.LogLoss); l.LeftOut > 0 {
					t.Error(l.Why)
				}
				if parts[i+1] == len(events) && l.Lessons != 400 {
					t.Errorf("%d lessons, want 400", l.Lessons)
				}
				end()
			}
			if want == "" {
				want = got
			} else if got != want {
				t.Errorf("%v: %s, want %s", window, got, want)
			}
		}
	}
}
