package live

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sanflow/sanflow/flow"
)

const (
	mostPages  = 16
	mostAtWork = 8
	mostEnded  = 4
	brief      = 250 * time.Millisecond // shorter runs are not shown while they run, and dropped first
)

// Page is the page of a program: an http.Handler, which is to be mounted at a path that ends
// with a slash. The zero value is ready. Its methods may be called from any goroutine.
type Page struct {
	// Name is the name of the program on the page.
	Name string

	interval, patience time.Duration // time between two events, and for a write to a client; 0 = 500 ms, 5 s

	mu      sync.Mutex
	began   time.Time
	runs    []*run // running runs, in the order of their start
	ended   []*run // ended runs, the latest last
	last    int    // number of the last run
	count   [2]int // number of ended runs, and of failed runs
	total   totals
	pages   int
	frame   []byte
	framed  time.Time
	over    chan struct{} // closed by End
	isOver  bool
	failure string
}

// run is a pipeline or other work on the page.
type run struct {
	number  int
	name    string
	work    flow.Observed // nil after the end
	began   time.Time
	took    time.Duration // duration, set at the end
	failure string
	stats   flow.Stats // statistics at the end
	learned []learned  // by stage, up to the last stage with a report
}

// About is what work tells of itself, beside its stages. A flow.Observed with a method About() live.About is asked for it when a page is open.
type About struct {
	Facts  []Fact
	Charts []Chart
	Notes  []string // such as alarms
}

// Fact is a number or a text.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text,omitempty"` // in place of X
	X    Number `json:"x"`
	// Unit is that of X: "s", "B", or "/s" of a count, whose rate is shown.
	Unit string `json:"unit,omitempty"`
}

// Chart is lines over one axis.
type Chart struct {
	Title string  `json:"title"`
	Axis  string  `json:"axis"`
	Top   Number  `json:"top"` // of the other axis; 0 = by the points
	Lines []Curve `json:"lines"`
}

// Curve is a line of a Chart.
type Curve struct {
	Name   string      `json:"name"`
	Points [][2]Number `json:"points"`
}

// start initialises the zero value. The caller holds mu.
func (p *Page) start() {
	if p.over == nil {
		p.over, p.began = make(chan struct{}), time.Now()
		p.interval, p.patience = cmp.Or(p.interval, 500*time.Millisecond), cmp.Or(p.patience, 5*time.Second)
	}
}

// Watch returns a context below which each pipeline that runs is shown; see flow.Observe.
// Other work that is announced there and has a method String is called by that.
func (p *Page) Watch(ctx context.Context) context.Context {
	return flow.Observe(ctx, func(work flow.Observed) func(error) {
		name := ""
		if s, ok := work.(fmt.Stringer); ok {
			name = s.String()
		}
		return p.Add(name, work)
	})
}

// Add shows a run until ended is called, with its error. name identifies it, such as a role in a
// cluster; the page numbers runs itself.
func (p *Page) Add(name string, work flow.Observed) (ended func(error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start()
	p.last++
	r := &run{number: p.last, name: name, work: work, began: time.Now()}
	p.runs = append(p.runs, r)
	return func(err error) { p.end(r, err) }
}

// end moves a run to the ended runs, and drops its pipeline.
func (p *Page) end(r *run, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.runs, r)
	if i < 0 { // an earlier call has ended the run
		return
	}
	p.runs = slices.Delete(p.runs, i, i+1)
	r.stats, r.took, r.work = r.look(), time.Since(r.began), nil
	p.total.add(r.name, r.stats)
	p.count[0]++
	if err != nil {
		p.count[1]++
		r.failure = clip(err.Error())
	}
	if p.ended = append(p.ended, r); len(p.ended) > mostEnded {
		short := slices.IndexFunc(p.ended, func(r *run) bool { return r.took < brief && r.failure == "" })
		p.ended = slices.Delete(p.ended, max(0, short), max(0, short)+1)
	}
}

// End notifies open pages of the end of the program, with its error or nil. A page that is opened
// later shows the end too.
func (p *Page) End(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.start(); p.isOver {
		return
	}
	p.isOver, p.frame = true, nil
	if err != nil {
		p.failure = clip(err.Error())
	}
	close(p.over)
}

//go:embed page.html
var html string

// policy allows only the own script, style and stream of the page.
var policy = func() string {
	sum := func(tag string) string {
		_, rest, _ := strings.Cut(html, "<"+tag+">")
		text, _, _ := strings.Cut(rest, "</"+tag+">")
		hash := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
	}
	return "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src " +
		sum("script") + "; style-src " + sum("style")
}()

// ServeHTTP serves the page and the paths below it.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	switch name := path.Base(r.URL.Path); {
	case strings.HasSuffix(r.URL.Path, "/"):
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		fmt.Fprint(w, html)
	case name == "events":
		p.events(w, r)
	case name == "metrics":
		h.Set("Content-Type", ContentType)
		_, _ = w.Write(p.metrics()) // the client may have closed the connection
	default:
		http.NotFound(w, r)
	}
}

// events sends the state of the page every interval, until the client closes or the last state is sent.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.start()
	full := p.pages >= mostPages
	if !full {
		p.pages++
	}
	interval, patience := p.interval, p.patience
	p.mu.Unlock()
	if full {
		w.Header().Set("Retry-After", "5")
		http.Error(w, fmt.Sprintf("%d pages are open, which is the most", mostPages), http.StatusServiceUnavailable)
		return
	}
	defer func() {
		p.mu.Lock()
		p.pages--
		p.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	client := http.NewResponseController(w)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		frame, over := p.next()
		_ = client.SetWriteDeadline(time.Now().Add(patience)) // a ResponseWriter may not support it
		if _, err := fmt.Fprintf(w, "data: %s\n\n", frame); err != nil || client.Flush() != nil || over {
			return
		}
		select {
		case <-tick.C:
		case <-p.over:
		case <-r.Context().Done():
			return
		}
	}
}
