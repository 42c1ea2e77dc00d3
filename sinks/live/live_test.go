package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// stub is a run that stands still.
type stub struct {
	stats   flow.Stats
	reports []any
	asked   *int // how often it was asked for a report
}

func (s stub) Stats() flow.Stats { return s.stats }

func (s stub) Report() []any {
	if s.asked != nil {
		*s.asked++
	}
	return s.reports
}

// serve serves a page to the end of the test, and finds what is left of it then.
func serve(t testing.TB, p *Page) *httptest.Server {
	before := leak.IgnoreCurrent()
	server := httptest.NewServer(p)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		http.DefaultClient.CloseIdleConnections()
		leak.VerifyNone(t, before)
	})
	return server
}

// client is an open page.
type client struct {
	*bufio.Reader
	t    testing.TB
	body io.Closer
}

func open(t testing.TB, url string) *client {
	t.Helper()
	answer, err := http.Get(url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("the events have status %s and type %q", answer.Status, kind)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return &client{bufio.NewReader(answer.Body), t, answer.Body}
}

// next is the next event.
func (c *client) next() (f struct {
	frame
	Runs []struct {
		runFrame
		Models []struct {
			Classes []string
			Others  int
			Matrix  [][]int
			Curve   []struct{ At, Loss, Right *float64 }
			Epochs  [][5]*float64
			Alarms  []struct{ Row int64 }
		} `json:"models"`
	} `json:"runs"`
}) {
	c.t.Helper()
	line, err := c.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	data, ok := strings.CutPrefix(line, "data: ")
	if empty, err := c.ReadString('\n'); !ok || err != nil || empty != "\n" {
		c.t.Fatalf("an event is %q and %q: %v", line, empty, err)
	}
	if err := json.Unmarshal([]byte(data), &f); err != nil {
		c.t.Fatalf("%v: %s", err, data)
	}
	return f
}

// A page shows the runs below its context, what they learn, their end and that of the program.
func TestPage(t *testing.T) {
	p := &Page{Name: "test", interval: 20 * time.Millisecond}
	server := serve(t, p)
	ctx, stop := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- flow.From(sources.Families{Graphs: 1 << 20}).
			Via(operators.Count{Of: []count.Counter{count.WL{Height: 1}}}).Via(operators.Batch{Size: 8}).
			To(sinks.Train{Net: &nn.Logistic{}}).Run(p.Watch(ctx))
	}()
	c := open(t, server.URL)
	f := c.next()
	for len(f.Runs) == 0 || len(f.Runs[0].Models) == 0 || len(f.Runs[0].Models[0].Curve) < 3 {
		f = c.next()
	}
	r := f.Runs[0]
	if f.Name != "test" || r.Ended || len(r.Stages) != 4 || r.Stages[3].Name != "train" || r.Stages[3].RowsIn == 0 || r.Read < r.Done || len(r.Models[0].Classes) != 6 {
		t.Errorf("the page shows %+v", f)
	}
	stop(errors.New("on purpose"))
	err := <-ended
	p.End(err)
	for !f.Over {
		f = c.next()
	}
	if f.Failure != "run: on purpose" || f.Ended != 1 || f.Failed != 1 || len(f.Runs) != 1 || !f.Runs[0].Ended || f.Runs[0].Failure != "run: on purpose" || len(f.Runs[0].Models) == 0 {
		t.Errorf("at the end the page shows %+v", f)
	}
	if _, err := c.ReadByte(); err != io.EOF {
		t.Errorf("behind the last event there is %v", err)
	}
	if late := open(t, server.URL).next(); !late.Over || late.Failure != f.Failure {
		t.Errorf("a page that comes late shows %+v", late)
	}
	p.End(nil) // changes nothing
	for _, r := range p.ended {
		if r.work != nil {
			t.Error("a run that has ended is kept")
		}
	}
}

// If no page is open, a run is asked for nothing but its last statistics.
func TestNothingWithoutPage(t *testing.T) {
	p, asked := &Page{interval: 5 * time.Millisecond}, 0
	server := serve(t, p)
	ended := p.Add("", stub{asked: &asked})
	time.Sleep(50 * time.Millisecond)
	if asked > 0 {
		t.Errorf("without a page the run was asked %d times", asked)
	}
	c := open(t, server.URL)
	for range 60 {
		c.next()
	}
	c.body.Close()
	closed := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.pages == 0
	}
	for range 1000 {
		if closed() {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	ended(nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if was := asked; was == 0 || p.pages != 0 {
		t.Errorf("with a page the run was asked %d times, and %d pages are left", was, p.pages)
	}
}

// What is no number is null, names are cut, and everything has a limit.
func TestLimits(t *testing.T) {
	nan := math.NaN()
	classes, long := make([]string, 1e6), strings.Repeat("<b>\u202e", 1000)
	for i := range classes {
		classes[i] = long
	}
	report := sinks.Learning{Classes: classes, Sample: nn.Result{Rows: 1, Loss: nan, AbsError: math.Inf(-1)}}
	for i := range int32(1000) {
		report.Rows = append(report.Rows, sinks.Guess{Target: i * 1000, Class: -i, P: float32(nan)})
	}
	for i := range 10000 {
		report.Epochs = append(report.Epochs, sinks.Epoch{Number: i + 1, Train: nn.Result{Loss: nan}})
	}
	var s flow.Stats
	for i := range 1000 {
		t := flow.StageStats{Stage: strings.Repeat("\x00é", 1000) + fmt.Sprint(i), Busy: -1, BytesOut: math.MinInt64, Notes: map[string]int64{}}
		for j := range 100 {
			t.Notes[strings.Repeat("n", 1000)+fmt.Sprint(j)] = math.MaxInt64
		}
		for range 8 {
			t.Letters = append(t.Letters, flow.Letter{Graph: -1, Err: errors.New(strings.Repeat("why ", 10000))})
		}
		s.Stages = append(s.Stages, t)
	}
	p := &Page{Name: strings.Repeat("long ", 1000), interval: time.Millisecond}
	server := serve(t, p)
	for i := range 20 {
		ended := p.Add(strings.Repeat("role", 1000), stub{stats: s, reports: []any{report, nil, "no report", report, report}})
		if i%2 == 0 {
			ended(errors.New(strings.Repeat("failure ", 1000)))
		}
	}
	p.Add("", stub{reports: []any{report}}) // more reports than stages
	for _, r := range p.runs {
		r.began = r.began.Add(-time.Hour)
	}
	c := open(t, server.URL)
	c.next()
	f := c.next()
	if len(f.Runs) != mostAtWork+mostEnded || f.Hidden != 11-mostAtWork || f.Ended != 10 || f.Failed != 10 {
		t.Fatalf("%d runs are shown and %d are not", len(f.Runs), f.Hidden)
	}
	for _, r := range f.Runs {
		if len(r.Stages) != mostStages || r.Hidden != 1000-mostStages || len([]rune(r.Name)) > mostLetters+1 || len(r.Stages[0].Notes) > mostNotes {
			t.Fatalf("a run has %d stages and the name %q", len(r.Stages), r.Name)
		}
		for _, m := range r.Models {
			if len(m.Classes) != mostClasses+1 || len(m.Matrix) != mostClasses+1 || m.Others != 1e6-mostClasses || len(m.Curve) == 0 || len(m.Epochs) > mostPoints+1 || len(m.Alarms) > mostAlarms {
				t.Fatalf("a model has %d classes, %d points and %d epochs", len(m.Classes), len(m.Curve), len(m.Epochs))
			}
			if m.Curve[0].Loss != nil || m.Epochs[0][1] != nil {
				t.Errorf("the loss is %v, want null", m.Curve[0].Loss)
			}
		}
	}
	b, _ := p.next()
	if len(b) > 4<<20 || strings.ContainsRune(string(b), '\u202e') || strings.Contains(string(b), `\u0000`) {
		t.Errorf("an event has %d bytes", len(b))
	}
	text := p.metrics()
	if parseText(t, string(text)); len(text) > 4<<20 {
		t.Errorf("the metrics have %d bytes", len(text))
	}
}

// Points of a curve are merged where there are many: rows and means stay.
func TestCurve(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var l learned
	rows, sum := 0, 0.0
	for i := range 5000 {
		n := 1 + rng.IntN(9)
		rows, sum = rows+n, sum+float64(n)*float64(i)
		l.point(point{At: int64(rows), Loss: Number(i), rows: n})
		if len(l.curve) > mostPoints {
			t.Fatalf("the curve has %d points", len(l.curve))
		}
	}
	gotRows, gotSum := 0, 0.0
	for i, p := range l.curve {
		if i > 0 && p.At <= l.curve[i-1].At {
			t.Fatalf("points at %d and %d", l.curve[i-1].At, p.At)
		}
		gotRows, gotSum = gotRows+p.rows, gotSum+float64(p.rows)*float64(p.Loss)
	}
	if gotRows != rows || math.Abs(gotSum-sum) > 1e-6*sum || l.curve[len(l.curve)-1].At != int64(rows) || len(l.curve) < mostPoints/2 {
		t.Errorf("%d points of %d rows with the sum %g, want %d rows and %g", len(l.curve), gotRows, gotSum, rows, sum)
	}
}

// The error of a sample that rises raises an alarm.
func TestAlarm(t *testing.T) {
	var l learned
	for i := range 40 {
		r := sinks.Learning{Sample: nn.Result{Rows: 100}}
		for j := range int32(100) {
			g := sinks.Guess{Target: 1, Class: 1, P: 0.95}
			if i >= 20 && j%2 == 0 {
				g.Class = 0
			}
			r.Rows = append(r.Rows, g)
		}
		l.add(r, int64(100*i))
	}
	if len(l.alarms) == 0 || l.alarms[0].Row < 2000 || l.alarms[0].Row > 2200 {
		t.Errorf("the alarms are %+v, want one soon after row 2000", l.alarms)
	}
	f := l.frame("train")
	if b := f.Bins[9]; b.N != 4000 || math.Abs(float64(b.P)-0.95) > 1e-6 || b.Right != 0.75 || f.Matrix[1][0] != 1000 || f.Matrix[1][1] != 3000 {
		t.Errorf("bin %+v, matrix %v", b, f.Matrix)
	}
}

// 16 pages are open at most, and a place is free again when one is closed.
func TestPages(t *testing.T) {
	p := &Page{interval: 5 * time.Millisecond}
	server := serve(t, p)
	var all []*client
	for range mostPages {
		c := open(t, server.URL)
		c.next()
		all = append(all, c)
	}
	answer, err := http.Get(server.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("page %d has status %s", mostPages+1, answer.Status)
	}
	all[0].body.Close()
	for range 1000 {
		if answer, err = http.Get(server.URL + "/events"); err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the place of a page that was closed is not free")
}

// A client that reads nothing is dropped, and the others do not wait for it.
func TestSlowClient(t *testing.T) {
	var s flow.Stats
	for range mostStages {
		s.Stages = append(s.Stages, flow.StageStats{Stage: strings.Repeat("x", 100), Letters: []flow.Letter{{Err: errors.New(strings.Repeat("y", 400))}}})
	}
	p := &Page{interval: time.Millisecond, patience: 300 * time.Millisecond}
	server := serve(t, p)
	for range mostEnded {
		p.Add("", stub{stats: s})(nil)
	}
	slow, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprint(slow, "GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
	c := open(t, server.URL)
	for range 100 { // the other one goes on
		c.next()
	}
	for start := time.Now(); ; {
		c.next()
		p.mu.Lock()
		pages := p.pages
		p.mu.Unlock()
		if pages == 1 {
			return
		}
		if time.Since(start) > time.Minute {
			t.Fatalf("after a minute there are %d pages", pages)
		}
	}
}

func TestPaths(t *testing.T) {
	mux := http.NewServeMux()
	p := &Page{Name: "x"}
	p.Add("a \"role\"\n", stub{stats: flow.Stats{Stages: []flow.StageStats{{Stage: `se\lect`, RowsIn: 7, Lag: 3, Busy: time.Second, Notes: map[string]int64{"ties": 2}}}}})
	p.Add("", stub{stats: flow.Stats{Stages: []flow.StageStats{{Stage: "train", RowsIn: 1}}}})(nil)
	p.Add("", stub{stats: flow.Stats{Stages: []flow.StageStats{{Stage: "train", RowsIn: 2}}}})(io.EOF)
	mux.Handle("/live/", p)
	get := func(method, path string) (int, string, http.Header) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w.Code, w.Body.String(), w.Header()
	}
	code, body, header := get("GET", "/live/")
	if code != 200 || !strings.HasPrefix(body, "<!DOCTYPE html>") || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("the page has status %d and %v", code, header)
	}
	for _, elsewhere := range []string{"http://", "https://", "innerHTML", "src=", "import "} {
		if strings.Contains(strings.ReplaceAll(body, `"http://www.w3.org/2000/svg"`, ""), elsewhere) {
			t.Errorf("the page has %q", elsewhere)
		}
	}
	if code, body, _ = get("GET", "/live/metrics"); code != 200 {
		t.Errorf("the metrics have status %d", code)
	}
	for _, want := range []string{
		`sanflow_stage_rows_total{role="",stage="train",direction="in"} 3`,
		`sanflow_stage_rows_total{role="a \"role\" ",stage="se\\lect",direction="in"} 7`,
		`sanflow_stage_seconds_total{role="a \"role\" ",stage="se\\lect",state="busy"} 1`,
		`sanflow_stage_events_total{role="a \"role\" ",stage="se\\lect",event="ties"} 2`,
		`sanflow_stage_lag{role="a \"role\" ",stage="se\\lect"} 3`,
		"sanflow_runs 1", `sanflow_runs_total{result="ended"} 1`, `sanflow_runs_total{result="failed"} 1`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("the metrics lack %s:\n%s", want, body)
		}
	}
	for path, want := range map[string]int{"/live/other": 404, "/live/events/x": 404, "/live": 307} {
		if code, _, _ := get("GET", path); code != want && !(want == 307 && code == 301) {
			t.Errorf("%s has status %d, want %d", path, code, want)
		}
	}
	if code, _, header := get("POST", "/live/"); code != http.StatusMethodNotAllowed || header.Get("Allow") == "" {
		t.Errorf("POST has status %d", code)
	}
}

// Runs begin and end while pages come and go.
func TestMany(t *testing.T) {
	p := &Page{interval: time.Millisecond}
	server := serve(t, p)
	var tasks sync.WaitGroup
	for range 4 {
		tasks.Go(func() {
			for i := range 20 {
				src := sources.Families{Graphs: 20, Seed: uint64(i)}
				if err := flow.From(src).Via(operators.Select{W: 2}).Run(p.Watch(context.Background())); err != nil {
					t.Error(err)
				}
				_ = p.metrics()
			}
		})
		tasks.Go(func() {
			for range 10 {
				answer, err := http.Get(server.URL + "/events")
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.CopyN(io.Discard, answer.Body, 2000)
				answer.Body.Close()
			}
		})
	}
	tasks.Wait()
	if p.End(nil); p.count != [2]int{80, 0} || len(p.runs) != 0 {
		t.Errorf("%v runs ended, %d did not", p.count, len(p.runs))
	}
}
