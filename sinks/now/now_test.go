package now_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/now"
	"github.com/sanflow/sanflow/sources"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SANFLOW_NOW_DIR"); dir != "" {
		if os.Getenv("SANFLOW_NOW_TOWN") != "" {
			victimOfTown(dir)
		}
		victim(dir)
		return
	}
	leak.VerifyTestMain(m)
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

const header = "time,source,target,amount,kind,class"

// payments are n rows. Accounts with even numbers are often of the class yes.
func payments(n int) []string {
	r := rand.New(rand.NewPCG(4, 1))
	rows := []string{header}
	for i := range n {
		s, class := r.IntN(30), "no"
		if s%2 == 0 && r.IntN(10) < 8 {
			class = "yes"
		}
		rows = append(rows, fmt.Sprintf("%d,s%d,s%d,%.2f,%s,%s", i/2, s, r.IntN(30), r.ExpFloat64()*10, []string{"card", "cash"}[r.IntN(2)], class))
	}
	return rows
}

// lines are events: rows of all times, with new accounts and words, and classes that come later.
func lines(n int) (events []string) {
	r := rand.New(rand.NewPCG(7, 7))
	rows := stored
	for i := range n {
		class := []string{"no", "yes", ""}[r.IntN(3)]
		if r.IntN(3) == 0 {
			events = append(events, fmt.Sprintf(`{"kind": "set_class", "id": %d, "class": %q}`, 1+r.IntN(rows), class))
			continue
		}
		rows++
		events = append(events, fmt.Sprintf(`{"row": {"time": %d, "source": "s%d", "target": "s%d", "amount": %.2f, "kind": %q, "class": %q}}`,
			stored/2+i/3-r.IntN(2)*r.IntN(30), r.IntN(40), r.IntN(40), r.ExpFloat64()*10, []string{"card", "cash", "cheque"}[r.IntN(3)], class))
	}
	return events
}

const stored = 400

// after is the table of the stored rows and those of some events, in their order.
func after(events []string) []string {
	table := payments(stored)
	for _, line := range events {
		e := must(now.ParseEvent([]byte(line), choose.AddRow, ""))
		if e.Kind == choose.SetClass {
			at := must(strconv.Atoi(e.ID))
			table[at] = table[at][:strings.LastIndexByte(table[at], ',')+1] + e.Class
			continue
		}
		var f []string
		for _, column := range strings.Split(header, ",") {
			f = append(f, choose.TextOf(e.Row[column]))
		}
		table = append(table, strings.Join(f, ","))
	}
	return table
}

func set(table []string) *sources.RowSet {
	return must(sources.Rows{Tables: []sources.RowTable{{
		Table: sources.CSV{Reader: strings.NewReader(strings.Join(table, "\n"))}, Time: "time", Class: "class",
		Keys: []sources.Key{{Column: "source", Space: "account"}, {Column: "target", Space: "account"}},
	}}}.Read(ctx()))
}

// model learns from the stored rows.
var model = sync.OnceValue(func() *sinks.Predictor {
	rows := set(payments(stored))
	h := &choose.History{Set: rows, Delay: 2}
	s := must(choose.Pick(must(h.Systems()), []string{"words"}))[0]
	s.Epochs = 3
	var train, valid []int32
	for r := range int32(stored) {
		if r < stored*3/4 {
			train = append(train, r)
		} else {
			valid = append(valid, r)
		}
	}
	chosen := must(choose.Choice{Systems: []choose.System{s}, Classes: rows.Classes, Train: h.Rows(train), Valid: h.Rows(valid), Seed: 1, Workers: 1}.Run(ctx()))
	if err := h.Keep(chosen.Net); err != nil {
		panic(err)
	}
	return must(sinks.NewPredictor(chosen.Net, chosen.Recipe))
})

// open opens the model for a table.
func open(table []string) *choose.OpenHistory {
	return must(must(choose.HistoryOf(model(), set(table), nil)).OpenRows(model(), choose.RowColumns{Time: "time", Class: "class"}))
}

// The opening example of the package comment, for a model that knows the classes of its training rows alone, as that of sanflow train.
func TestPackageExample(t *testing.T) {
	of := must(sinks.NewPredictor(copyOf(model().Net()), model().Recipe()))
	defer of.Close()
	h := must(choose.HistoryOf(of, set(payments(stored)), nil))
	h.Train = []int32{0, 1, 2}
	if err := h.Keep(of.Net().(nn.Saver)); err != nil {
		t.Fatal(err)
	}
	h, err := choose.HistoryOf(of, set(payments(stored)), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := h.OpenRows(of, choose.RowColumns{Time: "time", Class: "class"})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	l, err := now.Open(t.Context(), rows, now.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	position, err := l.Apply(choose.Event{Kind: choose.AddRow, Row: choose.Row{"time": 7, "source": "ann"}})
	if err != nil {
		t.Fatal(err)
	}
	asked, _, err := l.Ask(t.Context(), position, []string{"401"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rows.Predict(t.Context(), asked[0]); err != nil {
		t.Fatal(err)
	}
}

// live opens a store.
func live(t testing.TB, opt now.Options) (*now.Live, *choose.OpenHistory) {
	t.Helper()
	rows := open(payments(stored))
	l, err := now.Open(t.Context(), rows, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), rows.Close()); err != nil {
			t.Error(err)
		}
	})
	return l, rows
}

// told is what rows tell about some of them.
func told(t testing.TB, rows *choose.OpenHistory, n int) []string {
	t.Helper()
	var ids []string
	for i := range 50 {
		ids = append(ids, fmt.Sprint(n-3*i))
	}
	asked, _, err := rows.Ask(ids, []choose.Row{{"time": stored, "source": "s3", "target": "s35", "amount": 3}})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, q := range asked {
		all = append(all, fmt.Sprint(must(rows.Predict(t.Context(), q))))
	}
	return all
}

// cold checks that the answers have the bytes of a start with the tables of the first events.
func cold(t testing.TB, rows *choose.OpenHistory, events []string) {
	t.Helper()
	table := after(events)
	start := open(table)
	defer start.Close()
	if got, want := told(t, rows, len(table)-1), told(t, start, len(table)-1); !slices.Equal(got, want) {
		t.Fatalf("after %d events:\n%v\nwant\n%v", len(events), got, want)
	}
}

// victim applies events behind those of the store, and writes each position, until it is killed.
func victim(dir string) {
	rows, opt := open(payments(stored)), now.Options{Dir: dir}
	if os.Getenv("SANFLOW_NOW_LEARN") != "" {
		now.Short()
		opt.Learn = &now.Learning{}
	}
	l := must(now.Open(ctx(), rows, opt))
	events := lines(mostEvents)
	r := rand.New(rand.NewPCG(uint64(l.Position()), 3))
	for at := l.Position(); at < mostEvents; {
		to := min(mostEvents, at+1+r.Int64N(5))
		position := must(l.Post([]byte(strings.Join(events[at:to], "\n"))))
		if at = to; position != at {
			panic(fmt.Sprint(position, " is not ", at))
		}
		fmt.Println(position)
	}
	select {} // until it is killed
}

const mostEvents = 4000

// A process that is killed while it accepts events has lost none that it had accepted, and none is applied twice.
func TestKill(t *testing.T) {
	race.Skip(t)
	kills := 50
	if testing.Short() || os.Getenv("SANFLOW_KILLS") == "" {
		kills = 6
	}
	events := lines(mostEvents)
	r := rand.New(rand.NewPCG(uint64(kills), 8))
	dir := ""
	before := int64(0)
	for i := range kills {
		if dir == "" || before > mostEvents*3/4 {
			dir, before = t.TempDir(), 0
		}
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), "SANFLOW_NOW_DIR="+dir)
		child.Stderr = os.Stderr
		out := must(child.StdoutPipe())
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		said := before
		in := bufio.NewScanner(out)
		if in.Scan() { // it has begun
			time.AfterFunc(time.Duration(r.IntN(30_000))*time.Microsecond, func() { _ = child.Process.Kill() })
		}
		for ok := true; ok; ok = in.Scan() {
			fmt.Sscan(in.Text(), &said)
		}
		_ = child.Wait()
		func() {
			rows := open(payments(stored))
			defer rows.Close()
			l := must(now.Open(t.Context(), rows, now.Options{Dir: dir}))
			defer l.Close()
			position := l.Position()
			if position < said || position > said+5 {
				t.Fatalf("kill %d: position %d, and %d was told", i, position, said)
			}
			before = position
			cold(t, rows, events[:position])
		}()
	}
}

// Applied in one process, and read by another, the store gives the answers of a cold start.
func TestStore(t *testing.T) {
	events := lines(600)
	dir := t.TempDir()
	rows := open(payments(stored))
	defer rows.Close()
	l := must(now.Open(t.Context(), rows, now.Options{Dir: dir, Sync: true}))
	if position, err := l.Post([]byte(strings.Join(events[:250], "\n"))); err != nil || position != 250 {
		t.Fatal(position, err)
	}
	cold(t, rows, events[:250])
	if _, err := now.Open(t.Context(), rows, now.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "another process has the store open") {
		t.Errorf("opened twice: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, again := live(t, now.Options{Dir: dir})
	if l.Position() != 250 {
		t.Fatalf("position %d", l.Position())
	}
	cold(t, again, events[:250])
	// Another model takes over, while events come.
	var posts sync.WaitGroup
	for i := 250; i < 600; i++ {
		if i == 400 {
			posts.Wait()
		}
		must(l.Post([]byte(events[i])))
		if i == 300 {
			next := open(payments(stored))
			defer next.Close()
			if at, err := l.Use(t.Context(), next); err != nil || at != 301 {
				t.Fatal(at, err)
			}
			again = next
		}
	}
	cold(t, again, events)
	other := open(payments(stored - 1))
	defer other.Close()
	if _, err := l.Use(t.Context(), other); err == nil || !strings.Contains(err.Error(), "other rows than those of the tables") {
		t.Errorf("other tables: %v", err)
	}
	if _, err := l.Post([]byte(`{"time": 1000}`)); err != nil {
		t.Errorf("after tables that do not fit: %v", err)
	}
}

// Readers ask while events come: no answer is about half a batch, positions of a reader do not fall, and the last answers are those of a cold start.
func TestConcurrent(t *testing.T) {
	l, rows := live(t, now.Options{Dir: t.TempDir()})
	events := lines(600)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			last := int64(0)
			for {
				select {
				case <-done:
					return
				default:
				}
				asked, position, err := l.Ask(t.Context(), last, []string{"7", "390"}, []choose.Row{{"time": 150, "source": "s3", "target": "s2"}, {"time": 500, "source": "s4"}})
				if err != nil || position < last {
					t.Errorf("position %d after %d: %v", position, last, err)
					return
				}
				last = position
				for _, q := range asked {
					if _, err := rows.Predict(t.Context(), q); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for from := 0; from < len(events); from += 3 {
		must(l.Post([]byte(strings.Join(events[from:from+3], "\n"))))
	}
	close(done)
	readers.Wait()
	cold(t, rows, events)
}

// A post is accepted or not; requests wait for a position.
func TestPost(t *testing.T) {
	l, rows := live(t, now.Options{Dir: t.TempDir()})
	server := httptest.NewServer(l)
	defer server.Close()
	post := func(body string) (int, string) {
		r, err := http.Post(server.URL, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var b strings.Builder
		_, _ = bufio.NewReader(r.Body).WriteTo(&b)
		return r.StatusCode, strings.TrimSpace(b.String())
	}
	waited := make(chan error)
	go func() {
		_, position, err := l.Ask(t.Context(), 2, []string{"402"}, nil)
		if err == nil && position != 2 {
			err = fmt.Errorf("position %d", position)
		}
		waited <- err
	}()
	for _, c := range []struct {
		body, answer string
		status       int
	}{
		{`{"time": 200, "source": "s1"}` + "\n\nno", `event 3: want a JSON object: invalid character 'o' in literal null (expecting 'u')`, 400},
		{`{"time": 200, "source": "s1"}` + "\n" + `{"kind": "card", "time": 200}`, `event 2: the kind is "card", want add_row or set_class; a row with a column "kind" is written {"row": {"kind": …}}`, 400},
		{"\n" + `{"time": 200, "source": "s1"}` + "\n\n" + `{"kind": "set_class", "id": 402, "class": null}`, `event 4: there is no row "402"`, 400},
		{`{"kind": "set_class", "id": 402}`, `event 1: want {"kind": "set_class", "id": …, "class": …}, with the name id`, 400},
		{`{"time": 200, "source": "s1"} {}`, `event 1: there is text behind the JSON object`, 400},
		{`{"time": 200, "source": "s1"}` + "\n" + `{"time": 100, "source": "new"}` + "\n", `{"position": 2}`, 200},
		{strings.Repeat(" ", 9<<20), `http: request body too large`, 413},
		{"", `{"position": 2}`, 200},
	} {
		if status, answer := post(c.body); status != c.status || answer != c.answer {
			t.Errorf("%.80s: %d %s, want %d %s", c.body, status, answer, c.status, c.answer)
		}
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
	cold(t, rows, []string{`{"time": 200, "source": "s1"}`, `{"time": 100, "source": "new"}`})
}

// Events that the queue can never have are refused for good, as a body that is too large is; as many as it has places are accepted.
func TestMoreThanQueue(t *testing.T) {
	l, _ := live(t, now.Options{Dir: t.TempDir(), Queue: 2})
	for n, want := range map[int]string{
		2: `200 {"position": 2}`,
		3: "413 now: more events at once than the queue has places for (serve -queue): 3, want at most 2",
	} {
		w := httptest.NewRecorder()
		l.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat(`{"time": 1}`+"\n", n))))
		if got := fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String())); got != want || w.Header().Get("Retry-After") != "" {
			t.Errorf("%d events: %s, Retry-After %q, want %s", n, got, w.Header().Get("Retry-After"), want)
		}
	}
}

// While the events that are written take all places, others come again: ErrFull.
func TestFull(t *testing.T) {
	written, goOn := make(chan bool), make(chan bool)
	l, _ := live(t, now.Options{Dir: t.TempDir(), Queue: 1, Note: func(string) { // of an unknown word, at the end of the work
		written <- true
		<-goOn
	}})
	event := choose.Event{Kind: choose.AddRow, Row: choose.Row{"time": 1, "kind": "cheque"}}
	ended := make(chan error)
	go func() {
		_, err := l.Apply(event)
		ended <- err
	}()
	<-written
	if _, err := l.Apply(event); !errors.Is(err, now.ErrFull) {
		t.Errorf("full: %v", err)
	}
	goOn <- true
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if position, err := l.Apply(event); position != 2 || err != nil {
		t.Error(position, err)
	}
}

// The lag is a sum: each accepted event adds the time until answers know it, and a refused one adds none.
func TestLag(t *testing.T) {
	l, _ := live(t, now.Options{Dir: t.TempDir()})
	events := lines(300)
	before := l.Stats().Lag
	for i, line := range events[:20] {
		start := time.Now()
		must(l.Post([]byte(line)))
		took, lag := time.Since(start), l.Stats().Lag
		if added := lag - before; added <= 0 || added > took {
			t.Errorf("event %d: the lag grew by %v within %v", i, added, took)
		}
		before = lag
	}
	for _, refused := range []string{"no", `{"kind": "set_class", "id": "none", "class": "yes"}`} {
		if _, err := l.Post([]byte(events[20] + "\n" + refused)); err == nil || l.Stats().Lag != before {
			t.Errorf("%s: %v, and the lag grew by %v", refused, err, l.Stats().Lag-before)
		}
	}
	start := time.Now()
	must(l.Post([]byte(strings.Join(events[20:], "\n"))))
	took := time.Since(start)
	if added := l.Stats().Lag - before; added <= took || added > 280*took {
		t.Errorf("280 events in one post: the lag grew by %v within %v", added, took)
	}
}

// A file that grows is read on after a restart, each line once; refused lines are kept with their reasons.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "events.jsonl")
	events := lines(300)
	write := func(text string) {
		f := must(os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var left atomic.Int64 // notes about lines
	half := events[200][:20]
	write(strings.Join(events[:100], "\n") + "\nno\n" + strings.Repeat("x", 3<<20) + "\n" + `{"kind": "set_class", "id": "none", "class": "yes"}` + "\n" + strings.Join(events[100:200], "\n") + "\n" + half)
	for round, want := range []int64{200, 300} {
		rows := open(payments(stored))
		l := must(now.Open(t.Context(), rows, now.Options{Dir: dir, Note: func(line string) {
			if strings.HasPrefix(line, "left out: the line ") {
				left.Add(1)
			}
		}}))
		ctx, stop := contextWithCancel(t)
		ended := make(chan error)
		go func() { ended <- l.Follow(ctx, path) }()
		if err := l.Wait(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			for l.Stats().DeadLetters < 3 {
				time.Sleep(time.Millisecond)
			}
		}
		stop()
		if err := <-ended; !errors.Is(err, ctx.Err()) {
			t.Error(err)
		}
		cold(t, rows, events[:want])
		if err := errors.Join(l.Close(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		write(events[200][20:] + "\n" + strings.Join(events[201:], "\n") + "\n")
	}
	var reasons []string
	for line := range strings.Lines(string(must(os.ReadFile(filepath.Join(dir, "refused.jsonl"))))) {
		var letter struct{ Line, Reason string }
		if err := json.Unmarshal([]byte(line), &letter); err != nil || letter.Line == "" {
			t.Fatal(line, err)
		}
		reasons = append(reasons, letter.Reason)
	}
	if left.Load() != 1 {
		t.Errorf("%d notes about refused lines, want one about the first", left.Load())
	}
	slices.Sort(reasons)
	if fmt.Sprint(reasons) != `[the line has more than 1048576 bytes there is no row "none" want a JSON object: invalid character 'o' in literal null (expecting 'u')]` {
		t.Errorf("reasons %q", reasons)
	}
}

// A whole line is accepted also while half of the next stands behind it.
func TestReadHalf(t *testing.T) {
	rows := open(payments(stored))
	l := must(now.Open(t.Context(), rows, now.Options{Dir: t.TempDir()}))
	in, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- l.Read(t.Context(), in) }()
	must(io.WriteString(writer, `{"time": 300, "source": "ann"}`+"\n"+`{"time": 301, `))
	for until := time.Now().Add(20 * time.Second); l.Position() < 1; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Error("the line waits for the next")
			break
		}
	}
	must(io.WriteString(writer, `"source": "bob"}`))
	writer.Close()
	if err := errors.Join(<-ended, l.Close(), rows.Close()); err != nil || l.Position() != 2 {
		t.Error(err, l.Position())
	}
}

// Forget leaves no byte of a person in the store, and the others as they are.
func TestForget(t *testing.T) {
	race.Skip(t)
	dir := t.TempDir()
	rows := open(payments(stored))
	l := must(now.Open(t.Context(), rows, now.Options{Dir: dir}))
	text := `{"time": 300, "source": "Mallory"}
{"time": 301, "source": "s1", "target": "Mallory"}
{"time": 302, "source": "s1", "target": "s2"}
{"kind": "set_class", "id": 401, "class": "yes"}
{"kind": "set_class", "id": 403, "class": "yes"}`
	must(l.Post([]byte(text)))
	if err := l.Read(t.Context(), strings.NewReader(`{"time": "never", "source": "Mallory"}`+"\nno")); err != nil {
		t.Fatal(err)
	}
	if _, err := now.Forget(dir, "Mallory"); err == nil {
		t.Error("forgotten while the store is open")
	}
	if err := errors.Join(l.Close(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	if f, err := now.Forget(dir, "account:Mallory"); err != nil || f.Rows != 2 || f.Classes != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := now.Forget(dir, "Mallory"); err != nil || f != (now.Forgotten{Refused: 1}) {
		t.Errorf("%+v, %v", f, err)
	}
	for _, file := range must(os.ReadDir(dir)) {
		if strings.Contains(string(must(os.ReadFile(filepath.Join(dir, file.Name())))), "Mallory") {
			t.Errorf("%s has the id", file.Name())
		}
	}
	l, rows = live(t, now.Options{Dir: dir})
	asked, position, err := l.Ask(t.Context(), 0, []string{"403"}, nil)
	if err != nil || position != 5 {
		t.Fatal(position, err)
	}
	must(rows.Predict(t.Context(), asked[0]))
	if _, _, err := l.Ask(t.Context(), 0, []string{"401"}, nil); err == nil {
		t.Error("the row is there")
	}
	must(l.Post([]byte(`{"time": 300}`)))
	if _, _, err := l.Ask(t.Context(), 6, []string{"404"}, nil); err != nil {
		t.Error(err)
	}
	if _, err := now.Forget(t.TempDir(), "x"); err == nil {
		t.Error("a directory without a store")
	}
}

// Forget finds an id in refused lines however JSON writes it, and leaves the other lines.
func TestForgetEscaped(t *testing.T) {
	const id = `R&D "é"`
	for _, line := range []string{`{"time": "never", "source": "R&D \"é\""}`, `{"time": "never", "source": "\u0052\u0026D \u0022\u00e9\""}`, `no JSON: R&D "é"`,
		`{"source": "R&D \"\u00e9\"", "nope":`, `{"source": "\u0052\u0026\u0044 \u0022\u00E9\u0022`} {
		dir := t.TempDir()
		rows := open(payments(stored))
		l := must(now.Open(t.Context(), rows, now.Options{Dir: dir}))
		if err := l.Read(t.Context(), strings.NewReader(line+"\n"+`{"time": "never", "source": "R&D"}`)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Close(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		if f, err := now.Forget(dir, id); err != nil || f != (now.Forgotten{Refused: 1}) {
			t.Errorf("%s: %+v, %v", line, f, err)
		}
	}
}
