package browser

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/live"
	"github.com/sanflow/sanflow/sources"
)

// tab is a tab of a browser.
type tab struct {
	context.Context
	t *testing.T

	mu       sync.Mutex
	errors   []string // of the console
	requests []string
}

// chromium starts a browser, which the tests share; nil where there is none.
var chromium = sync.OnceValues(func() (context.Context, context.CancelFunc) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.WindowSize(1280, 1000))
		if os.Geteuid() == 0 { // the sandbox of Chromium refuses root
			options = append(options, chromedp.NoSandbox)
		}
		allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
		browser, _ := chromedp.NewContext(allocator)
		return browser, stop
	}
	return nil, func() {}
})

func TestMain(m *testing.M) {
	code := m.Run()
	_, stop := chromium()
	stop()
	os.Exit(code)
}

// newTab opens a tab. SANFLOW_SHOTS is a folder for pictures of what the tests see.
func newTab(t *testing.T) *tab {
	browser, _ := chromium()
	if browser == nil {
		t.Skip("there is no Chromium: apt-get install chromium")
	}
	if _, err := chromedp.Run(browser, chromedp.Navigate("about:blank")); err != nil { // starts it once
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(browser, 2*time.Minute)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	b := &tab{Context: ctx, t: t}
	err := chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.errors = append(b.errors, fmt.Sprintf("%+v", *e.ExceptionDetails))
		case *runtime.EventConsoleAPICalled:
			b.errors = append(b.errors, fmt.Sprint(e.Type, e.Args))
		case *log.EventEntryAdded:
			b.errors = append(b.errors, e.Entry.Text+" "+e.Entry.URL)
		case *network.EventRequestWillBeSent:
			b.requests = append(b.requests, e.Request.URL)
		}
	})
	if err == nil {
		_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// do is what the browser does.
func do[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	v, err := chromedp.Run(b, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// eval returns the value of an expression.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	return do(b, chromedp.Evaluate[T](expression))
}

// wait waits until an expression is true.
func (b *tab) wait(expression string) {
	b.t.Helper()
	for range 300 {
		if eval[bool](b, expression) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.t.Fatalf("after 30 s there is not yet %s; the page says\n%s", expression, eval[string](b, "document.body.innerText"))
}

// clean checks that the page had no error and asked no other host than that of url.
func (b *tab) clean(url string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.errors) > 0 {
		b.t.Errorf("the console has %q", b.errors)
	}
	if len(b.requests) == 0 {
		b.t.Error("there was no request")
	}
	for _, r := range b.requests {
		if !strings.HasPrefix(r, url) && !strings.HasPrefix(r, "data:") {
			b.t.Errorf("a request to %s", r)
		}
	}
}

// shot takes a picture of the whole page.
func (b *tab) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("SANFLOW_SHOTS")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), do(b, chromedp.FullScreenshot(100)), 0o666); err != nil {
		b.t.Fatal(err)
	}
}

// look sets the medium, screen or print, and the colours that the reader prefers, light or dark.
func (b *tab) look(medium, scheme string) {
	b.t.Helper()
	params := emulation.SetEmulatedMediaParams{Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(b, emulation.SetEmulatedMedia, params); err != nil {
		b.t.Fatal(err)
	}
}

// contrast is the text of the page, outside drawings, with the least contrast to what is
// behind it, as the Web Content Accessibility Guidelines 2.2 define it, 1 to 21.
const contrast = `(() => {
	const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
	const over = ([r, g, b, a], back) => [r, g, b].map((x, i) => a * x + (1 - a) * back[i]);
	const back = e => e === null ? [255, 255, 255] : over(parse(getComputedStyle(e).backgroundColor), back(e.parentElement));
	const light = c => c.map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4).reduce((s, x, i) => s + x * [0.2126, 0.7152, 0.0722][i], 0);
	let worst = {ratio: 21, text: ""};
	for (const e of document.body.querySelectorAll("*")) {
		if (e.closest("svg, script, noscript") || !e.checkVisibility() || ![...e.childNodes].some(n => n.nodeType === 3 && /[\p{L}\p{N}]/u.test(n.data))) continue;
		const b = back(e), a = [light(over(parse(getComputedStyle(e).color), b)), light(b)].sort((x, y) => y - x);
		const ratio = (a[0] + 0.05) / (a[1] + 0.05);
		if (ratio < worst.ratio) worst = {ratio, text: e.textContent};
	}
	return worst;
})()`

// readable checks the page in light and dark colours and in print: text has a contrast of 4.5
// at least, paper is white, and the page prints.
func (b *tab) readable() {
	b.t.Helper()
	for _, of := range [][2]string{{"screen", "light"}, {"screen", "dark"}, {"print", "dark"}} {
		b.look(of[0], of[1])
		least := eval[struct {
			Ratio float64
			Text  string
		}](b, contrast)
		if least.Ratio < 4.5 {
			b.t.Errorf("%s, %s: %q has a contrast of %.2f, want 4.5", of[0], of[1], least.Text, least.Ratio)
		}
		dark := eval[string](b, "getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
		if want := of == [2]string{"screen", "dark"}; dark != want {
			b.t.Errorf("%s, %s: a dark ground is %v", of[0], of[1], dark)
		}
	}
	b.look("", "light")
	if file := do(b, chromedp.PrintToPDF()); !strings.HasPrefix(string(file), "%PDF-") || len(file) < 5000 {
		b.t.Errorf("the print has %d bytes", len(file))
	}
}

// fits checks that a page is not wider than a screen of 380 pixels, and goes back to a wide one.
func (b *tab) fits() {
	b.t.Helper()
	do(b, chromedp.EmulateViewport(380, 900))
	if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > 380 {
		widest := eval[string](b, `[...document.body.querySelectorAll("*")].reduce((a, b) => b.getBoundingClientRect().right > a.getBoundingClientRect().right ? b : a).outerHTML.slice(0, 300)`)
		b.t.Errorf("on a screen of 380 pixels the page is %d wide: %s", wide, widest)
	}
}

// tabTo presses the tab key until an element that matches has the focus.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	for range 20 {
		do(b, chromedp.KeyEvent(kb.Tab))
		if eval[bool](b, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			return
		}
	}
	b.t.Fatalf("20 presses of the tab key do not reach %s", selector)
}

// pipeline learns from graphs for minutes.
func pipeline() flow.Pipeline {
	return flow.From(sources.Families{Graphs: 1 << 20}).
		Via(operators.Count{Of: count.Standard()}).
		Via(operators.Batch{Size: 32}).
		To(sinks.Train{Net: nn.Best()})
}

// The page of a running pipeline loads, its numbers move, the run fails, and the page says so.
func TestPage(t *testing.T) {
	b := newTab(t)
	page := &live.Page{Name: "browser test"}
	server := httptest.NewServer(page)
	defer server.Close()
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	ended := make(chan error, 1)
	go func() { ended <- pipeline().Run(page.Watch(ctx)) }()

	do(b, chromedp.Navigate(server.URL+"/"))
	b.wait(`document.querySelector("#state").textContent === "running" && document.querySelectorAll(".stage").length === 4`)
	b.wait(`document.querySelectorAll("figure svg").length >= 3 && document.querySelector(".matrix") !== null`)
	rows := `parseInt(document.querySelector(".stage .big").textContent.replaceAll(",", ""))`
	first := eval[int](b, rows)
	b.wait(fmt.Sprintf("%s > %d", rows, first))
	if names := eval[[]string](b, `[...document.querySelectorAll(".stage .name")].map(e => e.textContent)`); !slices.Equal(names, []string{"families", "count", "batch", "train"}) {
		t.Errorf("the stages are %q", names)
	}
	b.tabTo("summary")
	do(b, chromedp.KeyEvent(kb.Enter))
	b.wait(`document.querySelectorAll("details[open] tbody tr").length === 4`)
	b.readable()
	if os.Getenv("SANFLOW_SHOTS") != "" { // the curves get some points
		time.Sleep(3 * time.Second)
	}
	b.shot("light")
	b.look("screen", "dark")
	b.shot("dark")
	b.look("screen", "light")
	b.fits()
	b.shot("narrow")

	do(b, chromedp.Click(chromedp.CSS("#pause")))
	b.wait(`document.querySelector("#pause").textContent === "Go on"`)
	paused := eval[int](b, rows)
	time.Sleep(1100 * time.Millisecond) // two events
	if now := eval[int](b, rows); now != paused {
		t.Errorf("a paused page goes from %d rows to %d", paused, now)
	}

	stop(errors.New("ended on purpose"))
	err := <-ended
	page.End(err)
	b.wait(`document.querySelector("#state").textContent === "failed: run: ended on purpose"`)
	b.wait(`document.querySelector("h2").textContent.includes("failed after")`)
	b.shot("ended")
	b.clean(server.URL)
}

// The page says that a connection is lost.
func TestConnectionLost(t *testing.T) {
	b := newTab(t)
	page := &live.Page{}
	server := httptest.NewServer(page)
	do(b, chromedp.Navigate(server.URL+"/"))
	b.wait(`document.querySelector("#state").textContent === "running"`)
	server.CloseClientConnections()
	server.Close()
	b.wait(`document.querySelector("#state").textContent.startsWith("connection lost")`)
}

// hostile is a run whose names are markup, and whose numbers are none.
type hostile struct{ classes []string }

const markup = `<img src=x onerror="window.injected=1"><script>window.injected=1</script>"'&` + "\x00\u202e</script>"

func (h hostile) Stats() flow.Stats {
	letters := []flow.Letter{{Stage: markup, Graph: math.MaxInt64, Pos: -1, Err: errors.New(markup)}, {Stage: markup}}
	stages := []flow.StageStats{{Stage: markup, Refused: 2, Letters: letters, Notes: map[string]int64{markup: 1}}}
	for range 300 {
		stages = append(stages, flow.StageStats{Stage: markup, RecordsIn: math.MaxInt64, RowsOut: -1, Busy: -time.Hour, Lag: 1})
	}
	return flow.Stats{Stages: stages, Done: -1, Read: math.MaxInt64}
}

func (h hostile) Report() []any {
	nan := math.NaN()
	l := sinks.Learning{Classes: h.classes, Sample: nn.Result{Rows: 100, Loss: nan, AbsError: math.Inf(1)}}
	for i := range int32(100) {
		l.Rows = append(l.Rows, sinks.Guess{Target: i * 10000, Class: i, P: float32(nan)})
	}
	l.Epochs = []sinks.Epoch{{Number: 1, Train: nn.Result{Rows: 1, Loss: nan}}, {Number: 2}}
	return []any{l, nil, "something else", sinks.Learning{Sample: nn.Result{Rows: 1}}}
}

// Names are text, whatever is in them, and what is no number does not break the page.
func TestHostile(t *testing.T) {
	b := newTab(t)
	h := hostile{make([]string, 1e6)}
	for i := range h.classes {
		h.classes[i] = markup
	}
	page := &live.Page{Name: markup}
	server := httptest.NewServer(page)
	defer server.Close()
	page.Add(markup, h)
	page.Add("", empty{})
	page.Add("", h)(errors.New(markup))
	do(b, chromedp.Navigate(server.URL+"/"))
	b.wait(`document.querySelectorAll(".run").length === 3 && document.querySelector(".matrix") !== null`)
	eval[bool](b, `document.querySelectorAll("details").forEach(d => { d.open = true }) === undefined`)
	b.wait(`document.querySelectorAll("details[open] tbody tr").length > 3`)
	b.wait(`[...document.querySelectorAll("details[open] td.text")].some(e => e.textContent.startsWith("<img src=x"))`) // the reason of a refused row
	if eval[bool](b, `"injected" in window || document.querySelectorAll("img, main script").length > 0`) {
		t.Error("markup in a name was run")
	}
	if n := eval[int](b, `document.querySelectorAll("*").length`); n > 20000 {
		t.Errorf("the page has %d elements", n)
	}
	b.shot("hostile")
	page.End(errors.New(markup))
	b.wait(`document.querySelector("#state").textContent.startsWith("failed: <img")`)
	b.clean(server.URL)
}

// empty is a run without stages.
type empty struct{}

func (empty) Stats() flow.Stats { return flow.Stats{} }
func (empty) Report() []any     { return nil }
