package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

// request sends a request, and returns the status, the headers and the body.
func request(t *testing.T, method, url, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, got.Header, string(text)
}

// paid trains a model of rows, and returns the flags of a server of them.
func paid(t *testing.T, dir string) []string {
	t.Helper()
	table, model := write(t, dir, "payments.csv", thefts(600)[:501]), filepath.Join(dir, "rows.model")
	clitest.JSON[scored](t, train, append([]string{"-rows", table, "-windows", "50", "-systems", "trees-words", "-out", model}, theftFlags...)...)
	return []string{"-model", model, "-rows", table}
}

// chrome is the header Accept of a browser.
const chrome = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

func TestPrefersHTML(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/html": true, chrome: true, "text/html, application/json": true,
		"application/json, text/html": false, "text/html;q=0.5, application/json": false, "application/json;q=0.5, text/html": true, "text/html;q=0": false,
		"nonsense;;, text/html": true, "application/*, text/html;q=0.9": false,
	} {
		if prefersHTML(accept) != want {
			t.Errorf("%q: %t", accept, !want)
		}
	}
}

// Answers and reasons are pages where Accept asks for them, of ids by GET too, with the answers of JSON; reasons are those of the page of explain.
func TestServeHTML(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	flags := paid(t, dir)
	_, url := started(t, flags...)
	page := filepath.Join(dir, "page")
	must(t, append([]string{"explain", "-of", "480", "-html", page}, flags...)...)
	_, body, _ := strings.Cut(read(t, page), "<h1>")
	_, body, _ = strings.Cut(body, "</h1>")
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/explain?id=480", "", body},
		{"POST", "/explain", `{"ids": [480]}`, body},
		{"POST", "/explain", `{"ids": [480, 481], "rows": [{"when": 300, "from": "a4"}]}`, `href="#`},
		{"GET", "/predict?id=480&id=3", "", "<td>480</td>"},
		{"POST", "/predict", `{"rows": [{"when": 300, "from": "a4", "id": "<b>"}]}`, "<td>&lt;b&gt;</td>"},
	} {
		status, header, text := request(t, c.method, url+c.path, c.body, "Accept", chrome)
		if status != 200 || header.Get("Content-Type") != "text/html; charset=utf-8" || header.Get("Vary") != "Accept" || !strings.HasPrefix(text, "<!DOCTYPE html>") || !strings.Contains(text, c.want) {
			t.Errorf("%s %s %s: %d %v %.3000s", c.method, c.path, c.body, status, header, text)
		}
	}
	_, _, text := request(t, "GET", url+"/predict?id=480", "")
	var said []struct {
		Class string
		Probs map[string]float64
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		t.Fatal(text, err)
	}
	_, _, html := request(t, "GET", url+"/predict?id=480", "", "Accept", "text/html")
	if want := fmt.Sprintf("<td>480</td><td>%s</td><td>%.4g</td>", said[0].Class, said[0].Probs[said[0].Class]); !strings.Contains(html, want) {
		t.Errorf("%s has no %s", html, want)
	}
	for path, want := range map[string]string{
		"/predict":         "400 want /predict?id=ID",
		"/explain?id=none": `422 there is no row "none"`,
		"/explain?" + strings.Repeat("id=1&", 101): "413 the request asks for the reasons of 101 answers, want at most 100",
	} {
		if status, _, text := request(t, "GET", url+path, ""); !strings.HasPrefix(fmt.Sprint(status, " ", text), want) {
			t.Errorf("%.40s: %d %s, want %s", path, status, text, want)
		}
	}
}

// Posted graphs, nodes of an open graph and pairs are explained over HTTP, with the sums of the command explain.
func TestServeExplains(t *testing.T) {
	clitest.Silence(t)
	data, dir := village(t), t.TempDir()
	type reasons struct {
		Class string
		Sum   float64
	}
	for _, c := range []struct{ task, of, body string }{
		{"nodes", "-of 7", `{"ids": [7]}`},
		{"links", "-of 7 -of 8", `{"ids": [[7, 8]]}`},
		{"links", "-of 7 -of 20", `{"ids": [[7, 20]]}`},
	} {
		model, out := filepath.Join(dir, c.task), filepath.Join(dir, "out")
		must(t, "train", "-task", c.task, "-data", data, "-systems", "linear", "-out", model)
		must(t, append([]string{"explain", "-model", model, "-data", data, "-json", out}, strings.Fields(c.of)...)...)
		var want reasons
		if err := json.Unmarshal([]byte(read(t, out)), &want); err != nil {
			t.Fatal(err)
		}
		_, url := started(t, "-model", model, "-data", data)
		status, _, text := request(t, "POST", url+"/explain", c.body)
		var got []struct{ Reasons reasons }
		if err := json.Unmarshal([]byte(text), &got); err != nil || len(got) != 1 || got[0].Reasons != want {
			t.Errorf("%s: %d %.300s, want %v", c.of, status, text, want)
		}
		if status, _, text := request(t, "POST", url+"/explain", c.body, "Accept", "text/html"); status != 200 || !strings.Contains(text, "<svg") {
			t.Errorf("%s: %d %.300s", c.of, status, text)
		}
		posted := `{"nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "edges": [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}], "ids": ["a"]}`
		if c.task == "links" {
			posted = strings.Replace(posted, `"ids": ["a"]`, `"ids": [["a", "c"]]`, 1)
		}
		if status, _, text := request(t, "POST", url+"/explain", posted); status != 200 || !strings.Contains(text, `"sum":`) {
			t.Errorf("%s: %d %.300s", posted, status, text)
		}
	}
	model := filepath.Join(dir, "graphs")
	trainLinear(t, model)
	_, url := started(t, "-model", model)
	if status, _, text := request(t, "POST", url+"/explain", `{"nodes": [{"id": 1}, {"id": 2}], "edges": [{"source": 1, "target": 2}]}`); status != 200 || !strings.Contains(text, `"sum":`) {
		t.Errorf("%d %.300s", status, text)
	}
}

// The page of a server tells its numbers, also of events; a token is asked for as a password, of GET alone.
func TestServePage(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	flags := append(paid(t, dir), "-events", "post", "-store", filepath.Join(dir, "store"), "-token", write(t, dir, "token", []string{"secret"}))
	s, url := started(t, flags...)
	bearer := []string{"Authorization", "Bearer secret"}
	for range 3 {
		if status, _, text := request(t, "POST", url+"/events", `{"when": 300, "from": "a4"}`, bearer...); status != 200 {
			t.Fatal(text)
		}
		request(t, "POST", url+"/predict", `{"ids": [3]}`, bearer...)
	}
	if status, _, text := request(t, "POST", url+"/events", `{"row": {"when": 300, "from": "a4", "kind": "gold"}}`, bearer...); status != 200 {
		t.Fatal(text)
	}
	basic := "Basic OnNlY3JldA==" // :secret
	for _, c := range []struct {
		method, path, auth string
		status             int
	}{{"GET", "/", basic, 200}, {"GET", "/", "", 401}, {"GET", "/none", basic, 404}, {"GET", "/predict?id=3", basic, 200}, {"POST", "/predict", basic, 401}} {
		status, header, text := request(t, c.method, url+c.path, `{"ids": [3]}`, "Authorization", c.auth)
		if status != c.status || status == 401 && slices.Contains(header.Values("WWW-Authenticate"), `Basic realm="sanflow"`) != (c.method == "GET") {
			t.Errorf("%+v: %d %v %.100s", c, status, header, text)
		}
		if c.path == "/" && status == 200 && (!strings.Contains(text, "EventSource") || strings.Contains(text, "https://")) {
			t.Errorf("the page: %.200s", text)
		}
	}
	facts := factsOf(t, url, basic)
	if facts["position"] != "4" || facts["events"] != "4" || facts["events that changed nothing"] != "0" || facts["system"] != "trees-words" || facts["windows"] != "50" || facts["store"] == "0" || facts["memory"] == "0" || len(facts["model file, SHA-256"]) != 12 || !strings.HasPrefix(s.now.Load().fileSum, facts["model file, SHA-256"]) {
		t.Errorf("%v", facts)
	}
	_, _, text := request(t, "GET", url+"/metrics", "", bearer...)
	if exposition(t, text); !strings.Contains(text, "sanflow_event_unknown_words_total 1\n") || !strings.Contains(text, "sanflow_events_total{kind=\"add_row\"} 4\n") {
		t.Error(text)
	}
}

// factsOf reads the facts of the page.
func factsOf(t *testing.T, url, auth string) map[string]string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, err := http.NewRequestWithContext(ctx, "GET", url+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", auth)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	lines := bufio.NewReader(got.Body)
	facts := map[string]string{}
	for len(facts) == 0 {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var frame struct {
			Runs []struct {
				Facts []struct {
					Name, Text string
					X          float64
				}
			}
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(text), &frame); err != nil {
				t.Fatal(err)
			}
			for _, run := range frame.Runs {
				for _, f := range run.Facts {
					facts[f.Name] = cmp.Or(f.Text, fmt.Sprint(f.X))
				}
			}
		}
	}
	return facts
}

// exposition checks metrics by the rules of Prometheus: the text format, and the conventions that promtool checks.
func exposition(t *testing.T, text string) {
	t.Helper()
	sample := regexp.MustCompile(`^([a-z_][a-z0-9_]*)(\{[a-zA-Z_]\w*="(?:[^"\\]|\\[\\"n])*"(?:,[a-zA-Z_]\w*="(?:[^"\\]|\\[\\"n])*")*\})? (\S+)$`)
	name, kind, families, series := "", "", map[string]bool{}, map[string]bool{}
	var buckets []float64
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if f, ok := strings.CutPrefix(line, "# HELP "); ok {
			of, help, _ := strings.Cut(f, " ")
			if families[of] || help == "" {
				t.Errorf("%q: twice, or without a text", line)
			}
			families[of], name, buckets = true, of, nil
			continue
		}
		if f, ok := strings.CutPrefix(line, "# TYPE "); ok {
			of, is, _ := strings.Cut(f, " ")
			if of != name || !slices.Contains([]string{"counter", "gauge", "histogram"}, is) || strings.HasSuffix(of, "_total") != (is == "counter") ||
				regexp.MustCompile(`_(count|sum|bucket|milliseconds|minutes|hours|kilobytes|percent)$|_ms$`).MatchString(of) {
				t.Errorf("%q is no type of %s", line, name)
			}
			kind = is
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("%q is no sample", line)
			continue
		}
		x, err := strconv.ParseFloat(m[3], 64)
		if suffix := strings.TrimPrefix(m[1], name); err != nil || series[m[1]+m[2]] || suffix != "" && (kind != "histogram" || !slices.Contains([]string{"_bucket", "_sum", "_count"}, suffix)) || kind == "counter" && x < 0 {
			t.Errorf("%q: %v, or twice, or of another metric than %s", line, err, name)
		}
		series[m[1]+m[2]] = true
		switch {
		case strings.HasSuffix(m[1], "_bucket"):
			if len(buckets) > 0 && x < buckets[len(buckets)-1] {
				t.Errorf("%q falls", line)
			}
			buckets = append(buckets, x)
		case strings.HasSuffix(m[1], "_count") && (len(buckets) == 0 || buckets[len(buckets)-1] != x):
			t.Errorf("%q is not the last of %v", line, buckets)
		}
	}
	for _, want := range []string{"sanflow_build_info", "process_start_time_seconds", "go_memstats_sys_bytes", "sanflow_request_seconds", "sanflow_event_position", "sanflow_store_size_bytes"} {
		if !families[want] {
			t.Errorf("there is no %s", want)
		}
	}
}

// A client that goes while it waits is counted as 499; a position that does not come is an error that names the last one, when -timeout is over.
func TestServeWaits(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	s, url := started(t, append(paid(t, dir), "-events", "post", "-store", filepath.Join(dir, "store"))...)
	ctx, stop := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", url+"/predict", strings.NewReader(`{"ids": [3]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Sanflow-After", "7")
	gone := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(r)
		gone <- err
	}()
	for len(s.waits) == 0 {
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		_, _, text := request(t, "GET", url+"/metrics", "")
		if strings.Contains(text, `sanflow_requests_total{code="499"} 1`) && !strings.Contains(text, `code="500"`) {
			break
		} else if time.Now().After(end) {
			t.Fatal(text)
		}
	}
	request(t, "POST", url+"/events", `{"when": 300, "from": "a4"}`)
	s.timeout = 50 * time.Millisecond
	for after, want := range map[string]string{
		"2":                    "503 1 now: position 2 was not reached, the last event is 1: the answer took too long",
		"9223372036854775807":  "503 1 now: position 9223372036854775807 was not reached, the last event is 1: the answer took too long",
		"-1":                   `400  the header X-Sanflow-After is "-1", want a position`,
		"99999999999999999999": `400  the header X-Sanflow-After is "99999999999999999999", want a position`,
		"1":                    "200 1 ",
	} {
		if status, text, position := sent(t, url+"/predict", `{"ids": [3]}`, "X-Sanflow-After", after); !strings.HasPrefix(fmt.Sprint(status, " ", position, " ", text), want) {
			t.Errorf("%s: %d %s %s, want %s", after, status, position, text, want)
		}
	}
	for range cap(s.waits) {
		s.waits <- struct{}{}
	}
	if status, text, _ := sent(t, url+"/predict", `{"ids": [3]}`, "X-Sanflow-After", "1"); status != 503 {
		t.Errorf("%d %s", status, text)
	}
}
