package command

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/live"
	"github.com/sanflow/sanflow/sinks/now"
	"github.com/sanflow/sanflow/sources"
)

// server answers over HTTP.
type server struct {
	*asking
	events
	listen, cert, key, tokenFile string
	bodyLimit, ids, concurrent   int
	timeout, reload, grace       time.Duration

	token  string
	now    atomic.Pointer[loaded]
	work   chan struct{} // a place for each request in work
	bodies chan struct{} // a place for each body that is read
	memory *budget       // of all requests
	stats  metrics
	page   live.Page
	waits  chan struct{} // a place for each request that waits for a position

	ending context.Context // that of the command
}

// loaded is a model that answers.
type loaded struct {
	p                  *sinks.Predictor
	why                *sinks.Predictor // that explains: p, or that of the first of several targets
	set                *sources.NodeSet // the open graph; nil if there is none
	index              *graph.IDIndex
	graph              *graph.Graph     // of set, as the model reads it
	open               *sinks.OpenGraph // of set, or nil
	rows               choose.Changing  // of -task rows, and of nodes of tables; or nil
	at                 int64            // of events, from where on the model answers
	fileSum, storedSum string           // as inspect prints them
	system             string
	columns                    // that the model has learned from
	read               columns // by which set was read

	use    sync.RWMutex // held by requests that ask it
	closed bool
}

func serve(ctx context.Context, args []string) error {
	s := &server{asking: newAsking(cli.NewService("sanflow serve", about("serve")+`

  POST /predict {"nodes": [{"id": …, "type": …}], "edges": [{"source": …, "target": …, "type": …}]}
  POST /predict {"smiles": "CCO"}            a molecule, for a model of molecules
  POST /predict {"ids": […]}    nodes of -data or -edges, or rows of -rows; pairs of names for links
  POST /predict {"rows": [{"COLUMN": …}]}    of -rows: rows that are not there, and are not added
  POST /explain                              the same, with reasons, of at most 100
  GET  /predict?id=A&id=B, /explain?id=A     ids; of links two each
  POST /events  {"COLUMN": …}                with -events post: a row that is added, or {"kind": "set_class", "id": …, "class": …}, one a line
                of -edges, kinds: add_edge (the default), set_edge, with the columns of -edges; remove_edge, with the ends; add_row, set_node, with those of -nodes; {"kind": "remove_node", "id": …}; set_class
  GET  /            a page of the server at work; GET /events is the stream of its figures, which does not end
  GET  /healthz, /metrics

/predict and /explain answer with a page of HTML where the header Accept asks for text/html before JSON. With -token a browser
asks for it as a password, without a name, which is read of GET alone.

The answer is [{"id": …, "class": …, "probs": {…}}], with "value" in place of both where numbers
are learned, or with "targets": [{"name": …, "class": …, "probs": {…}}] of several targets, or [{"source": …, "target": …, "p": …}]. A row in "rows" has the columns of the table by name, without the class;
what it sees are the rows of -rows up to its time. An event has an id under "id" or under the name of its column. set_node and set_edge replace
all columns: one that the event does not name has no value then. Events that remove or set what is not there are accepted, change nothing, and are
counted: on the page, and as sanflow_events_absent_total in /metrics. Of events all are accepted or none: the answer is {"position": N}, 400 names the
line that cannot be accepted, and 429 with Retry-After says that -queue is full. With -events each answer is about one position, which
the header X-Sanflow-Position names, and a request with X-Sanflow-After: N waits for position N. 400: the body is not a valid request,
or a node or an edge has an attribute that the model does not read.
401: wrong token. 408: the body did not come within -timeout. 413: the body is too large, asks about too many nodes,
or has more than a million values, or more events than -queue. 422: a graph or an id for
which the model cannot predict, such as a graph without nodes. 503 with Retry-After: -concurrent requests are in progress, the
answer took more than -timeout, or position N was not reached within it. Attributes have the names of the columns that the model has learned
from, such as "amount" with -weight amount; of edges type, weight and time are names too.`))}
	s.flags()
	if err := s.load(args); err != nil {
		return err
	}
	return s.Run(ctx, func(ctx context.Context) (r cli.Result, err error) {
		stamp := stampOf(s.model)
		if err := s.open(ctx); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		ended := flow.Announce(ctx, s)
		defer func() { ended(err) }()
		return nil, s.listenAndServe(ctx, stamp)
	})
}

// close ends what answers.
func (s *server) close() error {
	s.now.Load().close()
	if s.live == nil {
		return nil
	}
	return s.live.Close()
}

// Stats are the counts of requests, for the live page.
func (s *server) Stats() flow.Stats { return s.stats.flow(len(s.work)) }

// Report implements flow.Observed.
func (s *server) Report() []any { return nil }

func (s *server) flags() {
	f := s.FlagSet
	f.StringVar(&s.listen, "listen", "localhost:8080", "address; a port of 0 is a free one, and only localhost is listened at unless another host is named")
	f.StringVar(&s.cert, "tls-cert", "", "file with the certificate, for TLS")
	f.StringVar(&s.key, "tls-key", "", "file with the key of -tls-cert")
	s.eventFlags()
	f.StringVar(&s.tokenFile, "token", "", "file with a token; requests but for /healthz need the header Authorization: Bearer TOKEN")
	cli.Int(f, &s.bodyLimit, "max-body", 8<<20, 1, 1<<30, "maximum bytes of a body")
	cli.Int(f, &s.ids, "max-ids", 10000, 1, 1<<24, "maximum number of nodes or links in a request")
	cli.Int(f, &s.concurrent, "concurrent", 256, 1, 1<<20, "maximum number of concurrent requests; others are answered with 503")
	cli.Duration(f, &s.timeout, "timeout", 10*time.Second, time.Millisecond, "maximum time for an answer")
	cli.Duration(f, &s.reload, "reload", time.Second, 0, "interval between checks of the model file; a changed file is loaded; 0 = never")
	cli.Duration(f, &s.grace, "grace", 10*time.Second, 0, "time for requests in progress to finish at shutdown")
}

// open makes what answers.
func (s *server) open(ctx context.Context) error {
	if err := s.checkEvents(ctx); err != nil { // opens a topic: once
		return err
	}
	switch {
	case (s.cert == "") != (s.key == ""):
		return cli.Usage(errors.New("-tls-cert and -tls-key go together"))
	case s.tokenFile != "":
		b, err := os.ReadFile(s.tokenFile)
		if s.token = strings.TrimSpace(string(b)); err == nil && s.token == "" {
			err = fmt.Errorf("%s: there is no token", s.tokenFile)
		}
		if err != nil {
			return err
		}
	}
	s.work, s.waits, s.ending = make(chan struct{}, s.concurrent), make(chan struct{}, s.concurrent+moreBodies), ctx
	s.bodies, s.memory = make(chan struct{}, s.concurrent+moreBodies), newBudget(int64(s.bodyLimit))
	return s.take(ctx, s.p)
}

// listenAndServe answers until ctx ends. stamp is of the file that was loaded.
func (s *server) listenAndServe(ctx context.Context, stamp string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	l, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("-listen: %w", err)
	}
	log.Info("listening", "address", l.Addr().String(), "tls", s.cert != "", "token", s.token != "", "model", s.model, "task", s.task, s.now.Load().sums())
	if s.reload > 0 {
		watching, stop := context.WithCancel(ctx)
		var watch sync.WaitGroup
		watch.Go(func() { s.watch(watching, log, stamp) })
		defer watch.Wait()
		defer stop()
	}
	reading, endReading := context.WithCancel(ctx)
	var read sync.WaitGroup
	read.Go(func() { s.readEvents(reading, log) })
	defer read.Wait()
	defer endReading()
	base, drop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer drop(nil)
	h := &http.Server{
		Handler: s.handler(log), BaseContext: func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30*time.Second + min(s.timeout, time.Hour),
		IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 14, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() {
		if s.cert != "" {
			ended <- h.ServeTLS(l, s.cert, s.key)
		} else {
			ended <- h.Serve(l)
		}
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	log.Info("ending", "at work", len(s.work))
	s.page.End(nil)
	grace, stop := context.WithTimeout(base, s.grace)
	defer stop()
	if err := h.Shutdown(grace); err != nil { // the grace is over
		drop(context.Cause(ctx))
		_ = h.Close()
		log.Warn("requests were dropped", "at work", len(s.work))
	}
	for range cap(s.work) { // the handlers have ended
		s.work <- struct{}{}
	}
	if errors.Is(context.Cause(ctx), cli.ErrInterrupted) {
		return nil
	}
	return context.Cause(ctx)
}

// take makes a model the one that answers. The model before is closed when its last request
// has ended.
func (s *server) take(ctx context.Context, p *sinks.Predictor) error {
	notes := nn.MetadataOf(p.Net())
	next := &loaded{p: p, why: p, system: notes["system"]}
	if notes["task"] != "" && notes["task"] != s.task {
		return fmt.Errorf("%s: the model is for %s, want %s", s.model, notes["task"], s.task)
	}
	d, trained, err := s.dataFor(p)
	if err != nil {
		return err
	}
	next.columns = trained
	if s.feed != "" {
		d.Labels = "all"
	}
	next.read = d.columns.read()
	if next.fileSum, err = manifest.Sum(s.model); err != nil {
		return err
	}
	meta, err := metaOf(s.model)
	if err != nil {
		return err
	}
	next.storedSum = meta[storedSum]
	if s.task == "rows" {
		h, err := d.rowsToAsk(ctx)
		if err == nil {
			if s.feed != "" && h.Delay > 0 {
				s.note(fmt.Sprintf("a class that an event brings is known to rows %s after the time of its row, the delay of the training; -label-delay 0s takes it from the event on", d.Delay))
			}
			next.rows, err = h.OpenRows(p, next.columns.ofRows())
		}
		if err != nil {
			return s.in(err)
		}
	}
	// Without events an open graph answers for several targets: choose.OpenNodes explains none of them.
	live := s.task == "nodes" && d.edges != "" && (s.feed != "" || p.Targets() == nil)
	if live {
		if err := choose.CheckLive(p); err != nil && s.feed != "" {
			return err
		} else if live = err == nil; live {
			if next.rows, err = s.changing(ctx, d, p); err != nil {
				return s.in(err)
			}
		}
	}
	if s.feed != "" {
		if err = s.takeRows(ctx, next); err != nil {
			return s.in(err)
		}
	}
	if s.task != "graphs" && !live && d.data+d.edges != "" {
		// The graph of the model before serves again if the next one reads the same columns.
		if old := s.now.Load(); old != nil && old.read == next.read {
			next.set, next.index = old.set, old.index
			_ = next.prepare(ctx, d) // a graph that does not fit is read again below
		}
		if next.open == nil {
			if next.set, err = d.set(ctx); err == nil {
				next.index, err = next.set.IDs.Index()
			}
			if err == nil {
				err = next.prepare(ctx, d)
			}
			if err != nil {
				return s.in(err)
			}
		}
		s.stats.unknown.Add(int64(d.unseen))
	}
	if len(p.Targets()) > 0 {
		if next.why, err = p.Of(0); err != nil {
			return err
		}
	}
	if old := s.now.Swap(next); old != nil {
		go old.close()
	}
	return nil
}

// prepare opens the graph of the set, which keeps its own words: another model may not have them.
func (m *loaded) prepare(ctx context.Context, d *data) (err error) {
	g := m.set.Graph
	if d.attributed() {
		if g, d.unseen, err = choose.Adapt(g, m.set.Channels, m.p.Layout()); err != nil {
			return err
		}
	}
	if m.graph, _, err = m.p.Known().Identify(g, m.set.IDs); err == nil { // by the ids that this model knows
		m.open, err = m.p.OpenIDs(ctx, m.graph, m.set.IDs)
	}
	return err
}

// close waits for the requests that ask the model.
func (m *loaded) close() {
	m.use.Lock()
	defer m.use.Unlock()
	m.closed = true
	if m.open != nil {
		_ = m.open.Close() // all answers have been given
	}
	if m.rows != nil {
		_ = m.rows.Close()
	}
	if m.why != m.p {
		_ = m.why.Close()
	}
	_ = m.p.Close()
}

// hold returns the model that answers, which stays open until it is given back.
func (s *server) hold() *loaded {
	for {
		m := s.now.Load()
		if m.use.RLock(); !m.closed {
			return m
		}
		m.use.RUnlock()
	}
}

// stampOf tells whether a file has changed.
func stampOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// watch loads the model again when its file has changed.
func (s *server) watch(ctx context.Context, log *slog.Logger, stamp string) {
	tick := time.NewTicker(s.reload)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := stampOf(s.model)
		if now == stamp || now == "" {
			continue
		}
		stamp = now
		p, err := sinks.Load(s.model)
		if err == nil {
			if err = s.take(ctx, p); err != nil {
				_ = p.Close()
			}
		}
		if err != nil {
			s.stats.reloadsFailed.Add(1)
			log.Warn("the model was not loaded again, the one before answers", "error", err)
			continue
		}
		s.stats.reloads.Add(1)
		is := s.now.Load()
		about := []any{"model", s.model, is.sums()}
		if s.live != nil {
			about = append(about, "position", is.at)
		}
		log.Info("loaded again", about...)
	}
}

// sums are the checksums of the file, for the log.
func (m *loaded) sums() slog.Attr {
	return slog.Group("", "file_sha256", m.fileSum, "stored_sha256", m.storedSum)
}

// failure is an error with the status that a client is told.
type failure struct {
	status int
	error
}

func fail(status int, format string, args ...any) error {
	return failure{status, fmt.Errorf(format, args...)}
}

var (
	errBusy = failure{http.StatusServiceUnavailable, errors.New("all places are taken: come again")}
	errSlow = failure{http.StatusServiceUnavailable, errors.New("the answer took too long")}
)

// statusGone is the status in the metrics of a request whose client has gone before the answer.
const statusGone = 499

// reply counts a request when its answer begins.
type reply struct {
	http.ResponseWriter
	stats   *metrics
	start   time.Time
	answers int
	begun   bool
}

// WriteHeader implements http.ResponseWriter.
func (r *reply) WriteHeader(status int) {
	if !r.begun {
		r.begun = true
		r.stats.count(status, r.answers, time.Since(r.start))
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *reply) Write(text []byte) (int, error) {
	if !r.begun {
		r.WriteHeader(http.StatusOK)
	}
	return r.ResponseWriter.Write(text)
}

// Unwrap is for http.ResponseController.
func (r *reply) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (s *server) handler(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	s.page.Name = "sanflow serve"
	s.page.Add("", s)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", live.ContentType)
		_, _ = w.Write(s.stats.text(s.now.Load(), len(s.work), &s.events))
	})
	// timed answers a request and counts it. An error has its status, and 499 is that of a client that has gone.
	timed := func(h func(w *reply, r *http.Request) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			to := &reply{ResponseWriter: w, stats: &s.stats, start: time.Now()}
			err := h(to, r)
			if err == nil {
				return
			}
			status := http.StatusInternalServerError
			if f := (failure{}); errors.As(err, &f) {
				status = f.status
			} else if context.Cause(r.Context()) == context.Canceled {
				status = statusGone
			} else {
				log.Error("no answer", "error", err)
			}
			if status == http.StatusServiceUnavailable {
				w.Header().Set("Retry-After", "1")
			}
			http.Error(to, err.Error(), status)
		}
	}
	for _, path := range []string{"/predict", "/explain"} {
		mux.HandleFunc("POST "+path, timed(s.answer))
		mux.HandleFunc("GET "+path, timed(s.answer))
	}
	mux.Handle("GET /{$}", &s.page)
	mux.Handle("GET /events", &s.page)
	if s.feed == "post" {
		mux.HandleFunc("POST /events", timed(s.post))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		bearer, isGet := strings.EqualFold(scheme, "Bearer"), r.Method == http.MethodGet || r.Method == http.MethodHead
		if _, password, ok := r.BasicAuth(); ok && isGet { // a browser sends it with forms of other sites too, which change nothing by GET
			given, bearer = password, true
		}
		switch open := r.URL.Path == "/healthz"; {
		case s.token == "" && !open && !cli.KnownHost(r.Host, s.listen):
			s.stats.count(http.StatusForbidden, 0, 0)
			http.Error(w, cli.ErrHost.Error()+"; with -token any name is answered", http.StatusForbidden)
			return
		case s.token != "" && !open && (!bearer || subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) != 1):
			w.Header().Set("WWW-Authenticate", "Bearer")
			if isGet {
				w.Header().Add("WWW-Authenticate", `Basic realm="sanflow"`)
			}
			s.stats.count(http.StatusUnauthorized, 0, 0)
			http.Error(w, "want the header Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// answer is what a client is told of a row.
type answer struct {
	ID     any                `json:"id,omitempty"`
	Name   string             `json:"name,omitempty"` // of one of several targets, or of that which is explained
	Class  string             `json:"class,omitempty"`
	Probs  map[string]float32 `json:"probs,omitempty"`
	Value  any                `json:"value,omitempty"` // a float32, or a float64 with an offset
	Source any                `json:"source,omitempty"`
	Target any                `json:"target,omitempty"`
	P      *float32           `json:"p,omitempty"`
	// Text and Reasons are of POST /explain: the answer and its largest parts in a sentence, and all parts.
	Text    string          `json:"text,omitempty"`
	Reasons *choose.Reasons `json:"reasons,omitempty"`
	// Ignored are columns of a row that the model does not read, as its class.
	Ignored []string `json:"ignored,omitempty"`
	// Targets are the answers for several targets.
	Targets []answer `json:"targets,omitempty"`
}

// outcome is the answers to a question, and the body of HTML or JSON that tells them.
type outcome struct {
	all  []answer
	at   int64 // position
	body []byte
	err  error
}

// answer answers a question.
func (s *server) answer(w *reply, r *http.Request) error {
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.timeout, errSlow)
	defer cancel()
	held := &holding{memory: s.memory}
	html := prefersHTML(r.Header.Get("Accept"))
	var text []byte
	var after int64
	var err error
	if r.Method == http.MethodPost {
		text, err = s.body(w, r, held)
	} else {
		text, err = s.query(r)
	}
	if err == nil {
		after, err = s.waitFor(ctx, w, r)
	}
	if err != nil {
		held.release()
		return err
	}
	select {
	case s.work <- struct{}{}:
	default:
		held.release()
		return errBusy
	}
	// The client is answered in time, whether or not a stage notices the end of ctx. The place and the memory
	// come back with the last of the work.
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o = outcome{err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
			}
			held.release()
			<-s.work
			done <- o
		}()
		o = s.parsed(ctx, text, held, r.URL.Path == "/explain", html, after)
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if o.err != nil {
		return o.err
	}
	if s.live != nil {
		w.Header().Set(now.At, strconv.FormatInt(o.at, 10))
	}
	kind := "application/json"
	if html {
		kind = "text/html; charset=utf-8"
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Vary", "Accept")
	w.answers = len(o.all)
	_, _ = w.Write(append(o.body, '\n')) // a client that has gone hears nothing
	return nil
}

// parsed parses a question and answers it.
func (s *server) parsed(ctx context.Context, text []byte, held *holding, why, html bool, after int64) (o outcome) {
	m := s.hold()
	defer m.use.RUnlock()
	err := held.wait(ctx, s.cost(text, m.p.Net().Shape().Width(), why))
	var q *question
	if err == nil {
		if q, err = s.parse(ctx, text, m.columns.declared()); err != nil && !errors.As(err, new(failure)) {
			err = fail(http.StatusBadRequest, "%w", err)
		}
	}
	switch {
	case err != nil:
	case s.task == "rows", m.rows != nil && !q.HasGraph() && q.SMILES == "":
		if o.all, o.at, err = s.askRows(ctx, m, q, why); err == nil && o.at < after { // another model takes over
			err = errBusy
		}
	default:
		o.all, err = s.ask(ctx, m, q, why)
	}
	for i := range o.all {
		if a := &o.all[i]; err == nil && why && !html {
			e := m.page(a, i)
			a.Name = e.Target
			a.Text, err = e.Summary()
		}
	}
	switch {
	case err == nil && html:
		o.body, o.err = s.html(m, o.all, why)
		return o
	case err == nil:
		o.body, o.err = json.Marshal(o.all)
		return o
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case !errors.As(err, new(failure)):
		err = fail(http.StatusUnprocessableEntity, "%w", err)
	}
	return outcome{err: err}
}

// mostExplained is how many answers a request to /explain is about.
const mostExplained = 100

// few checks the number of answers that a request is about.
func (s *server) few(n int, why bool) error {
	what := "nodes or links"
	if s.task == "rows" {
		what = s.task
	}
	switch {
	case n > s.ids:
		return fail(http.StatusRequestEntityTooLarge, "the request is about %d %s, want at most %d (-max-ids)", n, what, s.ids)
	case why && n > mostExplained:
		return fail(http.StatusRequestEntityTooLarge, "the request asks for the reasons of %d answers, want at most %d", n, mostExplained)
	}
	return nil
}

// ask asks a model about the graph of a question, or the open one.
func (s *server) ask(ctx context.Context, m *loaded, q *question, why bool) ([]answer, error) {
	var g *posted
	if q.HasGraph() || q.SMILES != "" {
		var err error
		if g, err = q.build(m.p.Layout(), m.columns); err != nil {
			return nil, err
		}
		if g.graph, _, err = m.p.Known().Identify(g.graph, g.ids); err != nil {
			return nil, err
		}
		if g.graph.N() == 0 {
			return nil, errors.New("the graph has no nodes, want one or more")
		}
		s.stats.unknown.Add(int64(g.unknown))
	}
	if s.task == "graphs" {
		if g == nil {
			return nil, errors.New("a model of graphs wants nodes and edges, or of molecules smiles")
		}
		if why && g.graph.N() > mostNodes {
			return nil, fail(http.StatusRequestEntityTooLarge, "the graph has %d nodes, want at most %d for its reasons", g.graph.N(), mostNodes)
		}
		said, err := m.p.Predict(ctx, g.graph)
		if err != nil {
			return nil, err
		}
		a := tell(q.name(), said, m.p, m.Offset)
		if why {
			a.Reasons, err = reasons(ctx, m.why, g.graph, g.ids, nil, "")
		}
		return []answer{a}, err
	}
	width := 1
	if s.task == "links" {
		width = 2
	}
	asked := len(q.IDs)
	if q.IDs == nil && g != nil {
		asked = g.graph.N()
	}
	if err := s.few(asked, why); err != nil {
		return nil, err
	}
	names, roots, err := m.roots(g, q.IDs, width)
	if err != nil {
		return nil, err
	}
	var said []sinks.Answer
	of, p, by := g, m.p, m.why
	if g == nil {
		of = &posted{graph: m.graph, ids: m.set.IDs}
		said, err = m.open.Predict(ctx, roots...)
	} else if p, err = p.Knowing(g.graph.N(), g.ids); err == nil {
		if p != m.p {
			defer p.Close()
		}
		said, err = p.PredictRoots(ctx, g.graph, roots...)
	}
	if err == nil && why { // what the model knows of the nodes, once
		by, err = by.Knowing(of.graph.N(), of.ids)
	}
	if err != nil {
		return nil, err
	}
	if by != m.why {
		defer by.Close()
	}
	var all []answer
	for i, a := range said {
		if width == 2 {
			all = append(all, answer{Source: names[2*i], Target: names[2*i+1], P: &a.Probs[1]})
		} else {
			all = append(all, tell(names[i], a, m.p, m.Offset))
		}
		if why {
			if all[i].Reasons, err = reasons(ctx, by, of.graph, of.ids, roots[width*i:][:width], ""); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// roots returns the nodes that a question names: without names all of a graph that came.
func (m *loaded) roots(g *posted, ids []any, width int) (names []any, roots []int32, err error) {
	if ids == nil && g != nil && width == 1 {
		for v := range int32(g.graph.N()) {
			names, roots = append(names, g.id(v)), append(roots, v)
		}
		return names, roots, nil
	}
	if g == nil && m.set == nil {
		return nil, nil, errors.New("ids are those of an open graph, and there is none: start serve with -data or -edges")
	}
	index, numbers := m.index, 0
	if g != nil && len(ids) > 0 {
		if index, err = g.ids.Index(); err != nil {
			return nil, nil, err
		}
	} else if g == nil && m.set.IDs.Len() == 0 {
		numbers = m.set.Graph.N()
	}
	for _, id := range ids {
		these := []any{id}
		if width == 2 {
			if these, _ = id.([]any); len(these) != 2 {
				return nil, nil, fmt.Errorf("%#q in ids is no pair, want [\"source\", \"target\"]", textOf(id))
			}
		}
		for _, id := range these {
			name, err := nameOf(id)
			if err != nil {
				return nil, nil, err
			}
			v, err := nodeOf(index, numbers, name)
			if err != nil {
				return nil, nil, err
			}
			names, roots = append(names, id), append(roots, v)
		}
	}
	if len(roots) == 0 {
		return nil, nil, errors.New("want ids: names, or pairs of names for links")
	}
	return names, roots, nil
}

// tell is what a client is told of a row. offset is that of a single target.
func tell(id any, a sinks.Answer, p *sinks.Predictor, offset float64) answer {
	if a.Targets == nil {
		return answer{ID: id}.with(a, p.Classes(), offset)
	}
	out := answer{ID: id}
	for i, t := range p.Targets() {
		out.Targets = append(out.Targets, answer{Name: t.Name}.with(a.Targets[i], t.Classes, t.Offset))
	}
	return out
}

// with is an answer with what the model says.
func (out answer) with(a sinks.Answer, classes []string, offset float64) answer {
	switch {
	case a.Index < 0 && offset != 0:
		out.Value = float64(a.Value) + offset
	case a.Index < 0:
		out.Value = a.Value
	default:
		out.Class, out.Probs = a.Class, map[string]float32{}
		for i, class := range classes {
			out.Probs[class] = a.Probs[i]
		}
	}
	return out
}
