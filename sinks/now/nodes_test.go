package now_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/now"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// town is a graph of people: nodes with a number and a class, edges with a word and a number.
func town(n, m int) *sources.NodeSet {
	g := must(generate.PreferentialAttachment(n, m, 7))
	r := rand.New(rand.NewPCG(3, 9))
	set := &sources.NodeSet{Graph: g, Classes: []string{"no", "yes"}, TableRows: &sources.TableRows{Node: slices.Repeat([]bool{true}, n)}}
	ids := make([]int64, n)
	for v := range n {
		ids[v] = int64(v)
		set.Class = append(set.Class, int32(v%2))
		g.NodeAttr = append(g.NodeAttr, float32(v%2)+float32(r.NormFloat64()))
	}
	set.IDs = graph.IDsOf(ids)
	g.NodeAttrs, g.EdgeCats, g.EdgeAttrs = 1, 1, 1
	for v := range int32(n) {
		for _, u := range g.Adj(v) {
			mixed := uint32(min(u, v))*2654435761 + uint32(max(u, v))*40503
			g.EdgeCat, g.EdgeAttr = append(g.EdgeCat, int32(mixed>>8%2)), append(g.EdgeAttr, float32(mixed>>4%50))
			if v < u {
				set.TableRows.Ends = append(set.TableRows.Ends, graph.Edge{U: v, V: u})
				set.TableRows.Cat = append(set.TableRows.Cat, int32(mixed>>8%2))
				set.TableRows.Attr = append(set.TableRows.Attr, float32(mixed>>4%50))
			}
		}
	}
	set.Channels = record.Layout{
		NodeAttr: []record.Channel{{Name: "age"}}, EdgeCat: []record.Channel{record.WordsChannel("type", []string{"card", "cash"})}, EdgeAttr: []record.Channel{{Name: "weight"}},
	}
	return set
}

// townModel knows the classes of a town.
var townModel = sync.OnceValue(func() *sinks.Predictor {
	people := 1200
	if os.Getenv("SANFLOW_LOAD") != "" { // the model of fewer people reads more of the graph: a question takes 20 times as long
		people = 12_000
	}
	set := town(people, 3)
	train, valid, _, err := choose.Deal(set, 1)
	if err != nil {
		panic(err)
	}
	systems := must(choose.Pick(choose.Nodes(set, len(train)), []string{"words"}))
	systems[0].Epochs = 1
	chosen := must(choose.Choice{Systems: systems, Classes: set.Classes, Train: choose.NodeRows(set, train), Valid: choose.NodeRows(set, valid), Seed: 1}.Run(ctx()))
	return must(sinks.NewPredictor(chosen.Net, chosen.Recipe))
})

// openTown opens the model for a town.
func openTown(set *sources.NodeSet, last int) *choose.OpenNodes {
	c := choose.GraphColumns{Columns: record.Columns{Source: "source", Target: "target", ID: "id", Type: "type", Weight: "weight"}, Last: last}
	return must(choose.OpenNodesOf(townModel(), set, c))
}

const smallTown = 200

// news is an event about a town of n people: edges of old and new ids, and removals of some that are there and some that are not.
func news(r *rand.Rand, n int) string {
	u, v := r.IntN(n+n/10), r.IntN(n)
	edge := fmt.Sprintf(`"source": %d, "target": %d`, u, v)
	switch r.IntN(20) {
	case 0:
		return fmt.Sprintf(`{"kind": "set_class", "id": %d, "class": "yes"}`, r.IntN(9))
	case 1:
		return fmt.Sprintf(`{"kind": "set_node", "id": %d, "age": %d}`, u, r.IntN(90))
	case 2:
		return fmt.Sprintf(`{"kind": "remove_node", "id": %d}`, 20+u)
	case 3:
		return fmt.Sprintf(`{"kind": "set_edge", %s, "type": "wire", "weight": 5}`, edge)
	case 4, 5, 6, 7, 8:
		return fmt.Sprintf(`{"kind": "remove_edge", %s}`, edge)
	}
	return fmt.Sprintf(`{%s, "type": %q, "weight": %d}`, edge, []string{"card", "cash", "wire"}[r.IntN(3)], r.IntN(50))
}

func newsOf(n, people int) (all []string) {
	r := rand.New(rand.NewPCG(2, 8))
	for range n {
		all = append(all, news(r, people))
	}
	return all
}

// saidOf is what a model says of people that are there.
func saidOf(nodes *choose.OpenNodes) (all []string) {
	for v := range smallTown + smallTown/10 {
		asked, _, err := nodes.Ask([]string{fmt.Sprint(v)}, nil)
		if err != nil {
			all = append(all, err.Error())
			continue
		}
		all = append(all, fmt.Sprint(must(nodes.Predict(ctx(), asked[0]))))
	}
	return all
}

// undisturbed is what a model says after events that no store has seen.
func undisturbed(events []string, last int) []string {
	nodes := openTown(town(smallTown, 2), last)
	defer nodes.Close()
	for i, line := range events {
		b := nodes.Begin()
		if err := b.Add(must(now.ParseEvent([]byte(line), choose.AddEdge, "id"))); err != nil {
			panic(err)
		}
		nodes.Apply(int64(i+1), b.Changes...)
	}
	return saidOf(nodes)
}

// victimOfTown is victim for events of edges.
func victimOfTown(dir string) {
	l := must(now.Open(ctx(), openTown(town(smallTown, 2), windowOfTown()), now.Options{Dir: dir}))
	events := newsOf(mostEvents, smallTown)
	r := rand.New(rand.NewPCG(uint64(l.Position()), 3))
	for at := l.Position(); at < mostEvents; {
		to := min(mostEvents, at+1+r.Int64N(5))
		fmt.Println(must(l.Post([]byte(strings.Join(events[at:to], "\n")))))
		at = to
	}
	select {} // until it is killed
}

func windowOfTown() (last int) {
	fmt.Sscan(os.Getenv("SANFLOW_NOW_LAST"), &last)
	return last
}

// A process that is killed while it accepts events of edges has lost none that it had accepted, and none is applied twice, with and without a window.
func TestKillNodes(t *testing.T) {
	race.Skip(t)
	kills := 50
	if testing.Short() || os.Getenv("SANFLOW_KILLS") == "" {
		kills = 3
	}
	events := newsOf(mostEvents, smallTown)
	for _, last := range []int{0, 300} {
		r := rand.New(rand.NewPCG(uint64(kills), 8))
		dir, before := t.TempDir(), int64(0)
		for i := range kills {
			if before > mostEvents*3/4 {
				dir, before = t.TempDir(), 0
			}
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), "SANFLOW_NOW_DIR="+dir, "SANFLOW_NOW_TOWN=1", fmt.Sprint("SANFLOW_NOW_LAST=", last))
			child.Stderr = os.Stderr
			out := must(child.StdoutPipe())
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			told := before
			in := bufio.NewScanner(out)
			if in.Scan() {
				time.AfterFunc(time.Duration(r.IntN(60_000))*time.Microsecond, func() { _ = child.Process.Kill() })
			}
			for ok := true; ok; ok = in.Scan() {
				fmt.Sscan(in.Text(), &told)
			}
			_ = child.Wait()
			nodes := openTown(town(smallTown, 2), last)
			l := must(now.Open(t.Context(), nodes, now.Options{Dir: dir}))
			if before = l.Position(); before < told || before > told+5 {
				t.Fatalf("kill %d: position %d, and %d was told", i, before, told)
			}
			if got, want := saidOf(nodes), undisturbed(events[:before], last); !slices.Equal(got, want) {
				t.Fatalf("window %d, kill %d, after %d events:\n%v\nwant\n%v", last, i, before, got, want)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			nodes.Close()
		}
	}
}

// A store holds what is left: rows that have gone and what took them go, in a transaction behind.
func TestStoreIsBounded(t *testing.T) {
	for _, last := range []int{0, 200} {
		dir := t.TempDir()
		nodes := openTown(town(smallTown, 2), last)
		defer nodes.Close()
		l := must(now.Open(t.Context(), nodes, now.Options{Dir: dir}))
		r := rand.New(rand.NewPCG(1, 1))
		for range 60 {
			var lines []string
			for range 50 {
				u, v := r.IntN(300), 300+r.IntN(300) // no edges of the tables
				lines = append(lines, fmt.Sprintf(`{"source": %d, "target": %d, "type": "cash", "weight": 1}`, u, v))
				if last == 0 {
					lines = append(lines, fmt.Sprintf(`{"kind": "set_edge", "source": %d, "target": %d, "type": "card", "weight": 2}`, u, v), fmt.Sprintf(`{"kind": "remove_edge", "source": %d, "target": %d}`, u, v))
				}
			}
			must(l.Post([]byte(strings.Join(lines, "\n"))))
		}
		must(l.Post([]byte(`{"kind": "set_class", "id": 1, "class": "yes"}`)))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		db := must(bbolt.Open(filepath.Join(dir, "now.db"), 0o600, nil))
		if err := db.View(func(tx *bbolt.Tx) error {
			if n := tx.Bucket([]byte("rows")).Stats().KeyN; n > last {
				t.Errorf("window %d: the store has %d rows", last, n)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A store goes on with the window that it began with: rows that another window has or has not would come back, or stay away.
func TestOtherWindow(t *testing.T) {
	for _, began := range []int{0, 5} {
		dir := t.TempDir()
		start := func(last int) error {
			nodes := openTown(town(smallTown, 2), last)
			defer nodes.Close()
			l, err := now.Open(t.Context(), nodes, now.Options{Dir: dir})
			if err != nil {
				return err
			}
			return l.Close()
		}
		name := func(last int) string {
			if last == 0 {
				return "no window"
			}
			return fmt.Sprint("a window of last ", last)
		}
		for _, last := range []int{began, 0, 5, 6, began} {
			err := start(last)
			if last == began {
				if err != nil {
					t.Fatal(err)
				}
				continue
			}
			want := fmt.Sprintf("now: %s: the start has %s, and the store began with %s: a store goes on with the same window", dir, name(last), name(began))
			if err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
}

// Readers ask while edges come and go: positions do not fall, and the last answers are those of an undisturbed graph.
func TestConcurrentNodes(t *testing.T) {
	nodes := openTown(town(smallTown, 2), 0)
	defer nodes.Close()
	l := must(now.Open(t.Context(), nodes, now.Options{Dir: t.TempDir()}))
	defer l.Close()
	events := newsOf(600, smallTown)
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for last := int64(0); !done.Load(); {
				asked, position, err := l.Ask(t.Context(), last, []string{"1", "7", "3"}, nil)
				if err != nil || position < last {
					t.Errorf("position %d after %d: %v", position, last, err)
					return
				}
				last = position
				for _, q := range asked {
					must(nodes.Predict(t.Context(), q))
				}
			}
		})
	}
	for from := 0; from < len(events); from += 3 {
		must(l.Post([]byte(strings.Join(events[from:from+3], "\n"))))
	}
	done.Store(true)
	readers.Wait()
	if got, want := saidOf(nodes), undisturbed(events, 0); !slices.Equal(got, want) {
		t.Errorf("%v\nwant\n%v", got, want)
	}
}

// Under load, 5 000 events and 500 questions a second, nothing fails. SANFLOW_LOAD=10m is the time, and SANFLOW_LOAD_NODES=1000000 the number of nodes, with 8 edges
// each; the figures are in the log.
func TestLoad(t *testing.T) {
	length, people := 2*time.Second, 20_000
	if text := os.Getenv("SANFLOW_LOAD"); text != "" {
		length, people = must(time.ParseDuration(text)), 1_000_000
	}
	fmt.Sscan(os.Getenv("SANFLOW_LOAD_NODES"), &people)
	start := time.Now()
	set := town(people, 8)
	t.Logf("%d nodes, %d edges: made in %v", set.Graph.N(), set.Graph.M(), time.Since(start))
	townModel()
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse >> 20
	}
	start = time.Now()
	nodes := openTown(set, 0)
	defer nodes.Close()
	set = nil
	t.Logf("opened in %v, %d MB", time.Since(start), memory())
	l := must(now.Open(t.Context(), nodes, now.Options{Dir: t.TempDir()}))
	defer l.Close()
	begin := time.Now()
	var posts, asks []time.Duration
	var both sync.WaitGroup
	var late atomic.Int64
	both.Go(func() {
		r := rand.New(rand.NewPCG(5, 5))
		for i := 0; time.Since(begin) < length; i++ {
			var lines []string
			for range 50 {
				lines = append(lines, news(r, people))
			}
			for wait := time.Duration(i)*10*time.Millisecond - time.Since(begin); wait > 0; wait = 0 {
				time.Sleep(wait)
			}
			from := time.Now()
			if _, err := l.Post([]byte(strings.Join(lines, "\n"))); err != nil {
				t.Error(err)
				return
			}
			posts = append(posts, time.Since(from))
		}
	})
	var mu sync.Mutex
	for reader := range 4 {
		both.Go(func() {
			r := rand.New(rand.NewPCG(6, uint64(reader)))
			for i := 0; time.Since(begin) < length; i++ {
				if wait := time.Duration(i)*8*time.Millisecond - time.Since(begin); wait > 0 {
					time.Sleep(wait)
				} else {
					late.Add(1)
				}
				from := time.Now()
				asked, _, err := l.Ask(t.Context(), 0, []string{fmt.Sprint(r.IntN(people))}, nil)
				if err != nil && !strings.HasPrefix(err.Error(), "there is no node") {
					t.Error(err)
					return
				}
				if err == nil {
					must(nodes.Predict(t.Context(), asked[0]))
				}
				mu.Lock()
				asks = append(asks, time.Since(from))
				mu.Unlock()
			}
		})
	}
	for minute := time.Minute; minute < length; minute += time.Minute {
		time.Sleep(time.Until(begin.Add(minute)))
		t.Logf("%v: %d MB, position %d", minute, memory(), l.Position())
	}
	both.Wait()
	for _, x := range []struct {
		what string
		all  []time.Duration
	}{{"events visible", posts}, {"questions", asks}} {
		slices.Sort(x.all)
		at := func(p float64) time.Duration { return x.all[int(p*float64(len(x.all)-1))] }
		t.Logf("%s: %d, p50 %v, p99 %v, max %v", x.what, len(x.all), at(.5), at(.99), at(1))
	}
	t.Logf("%d MB at the end, position %d, %d questions asked late", memory(), l.Position(), late.Load())
}

// BenchmarkAskNodes asks about random people of a town, and adds edges. SANFLOW_LOAD_NODES has another number of people.
func BenchmarkAskNodes(b *testing.B) {
	people := 100_000
	fmt.Sscan(os.Getenv("SANFLOW_LOAD_NODES"), &people)
	nodes := openTown(town(people, 8), 0)
	defer nodes.Close()
	r := rand.New(rand.NewPCG(1, 2))
	b.Run("ask", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			asked, _, err := nodes.Ask([]string{fmt.Sprint(r.IntN(people))}, nil)
			if err != nil {
				b.Fatal(err)
			}
			must(nodes.Predict(b.Context(), asked[0]))
		}
	})
	b.Run("add", func(b *testing.B) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		n := 0
		for ; b.Loop(); n++ {
			batch := nodes.Begin()
			if err := batch.Add(choose.Event{Kind: choose.AddEdge, Row: choose.Row{"source": r.IntN(people), "target": r.IntN(people), "type": "card", "weight": n % 50}}); err != nil {
				b.Fatal(err)
			}
			nodes.Apply(int64(n+1), batch.Changes...)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(n), "B/edge")
	})
}

// The id of a row is named by its column or by id, in each kind of event that has one: both give the same event. Where another column has the
// name id, no event is ambiguous.
func TestNamesOfIDs(t *testing.T) {
	for _, with := range []string{
		`{"kind": "set_class", "%s": "eve", "class": "yes"}`, `{"kind": "remove_node", "%s": "eve"}`, `{"kind": "set_node", "%s": "eve", "age": 3}`,
		`{"kind": "add_row", "%s": "eve", "age": 3}`, `{"kind": "add_row", "row": {"%s": "eve", "kind": 3}}`,
	} {
		column, err := now.ParseEvent(fmt.Appendf(nil, with, "pid"), choose.AddEdge, "pid")
		named, err2 := now.ParseEvent(fmt.Appendf(nil, with, "id"), choose.AddEdge, "pid")
		if err != nil || err2 != nil || !reflect.DeepEqual(column, named) || column.ID == "" && column.Row["pid"] != "eve" {
			t.Errorf("%s: %+v, %v; %+v, %v", with, column, err, named, err2)
		}
	}
	for line, want := range map[string]string{
		`{"kind": "set_class", "pid": "eve"}`:                            `want {"kind": "set_class", "id": …, "class": …}, with the name id, or pid`,
		`{"kind": "set_class", "pid": "eve", "id": "bob", "class": "a"}`: `want {"kind": "set_class", "id": …, "class": …}, with the name id, or pid`,
		`{"kind": "remove_node", "name": "eve"}`:                         `want {"kind": "remove_node", "id": …}, with the name id, or pid`,
	} {
		if _, err := now.ParseEvent([]byte(line), choose.AddEdge, "pid"); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	if e := must(now.ParseEvent([]byte(`{"kind": "set_node", "pid": "eve", "id": 3}`), choose.AddEdge, "pid")); e.Row["pid"] != "eve" || e.Row["id"] == nil {
		t.Errorf("%+v: an attribute has the name id", e)
	}
	if e := must(now.ParseEvent([]byte(`{"kind": "set_node", "id": 3}`), choose.AddEdge, "")); e.Row["id"] == nil {
		t.Errorf("%+v", e)
	}
	if e := must(now.ParseEvent([]byte(`{"id": 3, "source": 1, "target": 2}`), choose.AddEdge, "pid")); e.Row["id"] == nil || e.Row["pid"] != nil {
		t.Errorf("%+v: the id of an edge is an attribute", e)
	}
}
