package command

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

// sent posts to a path, and returns the status, the body and the position.
func sent(t *testing.T, url, body string, header ...string) (int, string, string) {
	t.Helper()
	status, headers, text := request(t, "POST", url, body, header...)
	return status, text, headers.Get("X-Sanflow-Position")
}

// eventsOf are lines of events of rows of a table.
func eventsOf(t *testing.T, table []string) (lines []string) {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(strings.Join(table, "\n"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, values := range all[1:] {
		row := map[string]any{}
		for i, name := range all[0] {
			row[name] = values[i]
		}
		text, err := json.Marshal(map[string]any{"row": row})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(text))
	}
	return lines
}

// Events of a post, of a file, and of a store that is opened again, give the answers of a server that began with tables of all rows.
func TestServeEvents(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	rows := thefts(600)
	table, model := write(t, dir, "payments.csv", rows[:501]), filepath.Join(dir, "rows.model")
	clitest.JSON[scored](t, train, append([]string{"-rows", table, "-windows", "50", "-label-delay", "2", "-systems", "trees-words", "-out", model}, theftFlags...)...)
	events := eventsOf(t, append(rows[:1:1], rows[501:]...))
	events = append(events, `{"kind": "set_class", "id": 3, "class": "yes"}`, `{"kind": "set_class", "id": 599, "class": "yes"}`)
	changed := append([]string{}, rows...)
	for _, i := range []int{3, 599} {
		changed[i] = changed[i][:strings.LastIndex(changed[i], ",")+1] + "yes"
	}
	ids, new := `{"ids": [3, 100, 480, 501, 550, 599, 600]`, `, "rows": [{"when": 300, "from": "a4", "to": "a1", "amount": 3}, {"when": 100, "from": "a4"}]}`
	_, cold := started(t, "-model", model, "-rows", write(t, dir, "all.csv", changed), "-labels", "all")
	var want []string
	for _, path := range []string{"/predict", "/explain"} {
		status, text, position := sent(t, cold+path, ids+new)
		if status != http.StatusOK || position != "" {
			t.Fatal(status, text, position)
		}
		want = append(want, text)
	}
	check := func(url string, after int, header ...string) {
		t.Helper()
		for i, path := range []string{"/predict", "/explain"} {
			status, text, position := sent(t, url+path, ids+new, append(header, "X-Sanflow-After", fmt.Sprint(after))...)
			if status != http.StatusOK || text != want[i] || position != fmt.Sprint(after) {
				t.Errorf("%s after %d: %d at %s: %s, want %s", path, after, status, position, text, want[i])
			}
		}
	}
	// A start says from when on a class of an event is known.
	for delay, says := range map[string]bool{"2": true, "0s": false} {
		s, _, end := opened(t, "-model", model, "-rows", table, "-events", "post", "-store", filepath.Join(dir, delay), "-label-delay", delay)
		if slices.Contains(s.told, "a class that an event brings is known to rows 2 after the time of its row, the delay of the training; -label-delay 0s takes it from the event on") != says {
			t.Errorf("-label-delay %s: %q", delay, s.told)
		}
		end()
	}
	store, token := filepath.Join(dir, "store"), write(t, dir, "token", []string{"secret"})
	flags := []string{"-model", model, "-rows", table, "-store", store}
	func() {
		s, url := startedAs(t, append(flags, "-events", "post", "-token", token)...)
		defer s()
		if status, _, _ := sent(t, url+"/events", events[0]); status != http.StatusUnauthorized {
			t.Errorf("without a token: %d", status)
		}
		bearer := []string{"Authorization", "Bearer secret"}
		for from := 0; from < len(events); from += 17 {
			to := min(len(events), from+17)
			status, text, position := sent(t, url+"/events", strings.Join(events[from:to], "\n"), bearer...)
			if status != http.StatusOK || text != fmt.Sprintf("{\"position\": %d}\n", to) || position != fmt.Sprint(to) {
				t.Fatal(status, text, position)
			}
		}
		for body, want := range map[string]string{
			events[0] + "\n" + `{"when": 1, "colour": "red"}`: `400 event 2: the model reads no column "colour"`,
			`{"when": 1`: "400 event 1: want a JSON object: unexpected EOF",
			strings.Repeat(`{"when": 1}`+"\n", 80_000): "413 now: more events at once than the queue has places for (serve -queue): 80000, want at most 65536",
		} {
			if status, text, _ := sent(t, url+"/events", body, bearer...); fmt.Sprint(status, " ", strings.TrimSpace(text)) != want {
				t.Errorf("%.40s: %d %s, want %s", body, status, text, want)
			}
		}
		if status, text, _ := sent(t, url+"/predict", ids+"}", append(bearer, "X-Sanflow-After", "soon")...); status != http.StatusBadRequest {
			t.Error(status, text)
		}
		check(url, len(events), bearer...)
		r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(bearer[0], bearer[1])
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		if text, _ := io.ReadAll(got.Body); !strings.Contains(string(text), "sanflow_event_position 102\n") || !strings.Contains(string(text), `sanflow_events_total{kind="set_class"} 2`) {
			t.Errorf("metrics: %s", text)
		}
		if err := run(t.Context(), append([]string{"serve", "-events", "post", "-listen", "localhost:0"}, flags...)); err == nil || !strings.Contains(err.Error(), "another process has the store open") {
			t.Errorf("two servers: %v", err)
		}
	}()
	func() { // the store alone, and a model that is loaded again at a position that the log names
		s, url, end := opened(t, append(flags, "-events", "post", "-reload", "5ms")...)
		defer end()
		check(url, len(events))
		var log bytes.Buffer
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			s.watch(ctx, slog.New(slog.NewTextHandler(&log, nil)), "")
		}()
		for s.stats.reloads.Load() == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		stop()
		<-watched
		if want := fmt.Sprint(" position=", len(events)); strings.Count(log.String(), want) != 1 {
			t.Errorf("the log is %q, want%s", &log, want)
		}
		check(url, len(events))
	}()
	// A file, whose lines behind are refused.
	path := write(t, dir, "events.jsonl", append(events, "no"))
	s, url := startedAs(t, "-model", model, "-rows", table, "-store", store+"2", "-events", path)
	check(url, len(events))
	s()
	if err := run(t.Context(), []string{"forget", "-store", store + "2", "-id", "a4"}); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(store+"2", "now.db")); err != nil || strings.Contains(string(text), `"a4"`) {
		t.Errorf("forgotten: %v", err)
	}
	for want, args := range map[string][]string{
		"-events and -store go together":           {"-events", "post", "-rows", table},
		"-events is for -labels all":               {"-events", "post", "-store", store, "-labels", "train", "-rows", table},
		"the store began with other rows than tho": {"-events", "post", "-store", store, "-rows", filepath.Join(dir, "all.csv")},
	} {
		if err := run(t.Context(), append([]string{"serve", "-listen", "localhost:0", "-model", model}, args...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}

// startedAs is started with a stream of events, and ends at stop.
func startedAs(t *testing.T, args ...string) (stop func(), url string) {
	t.Helper()
	s, url, end := opened(t, args...)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.readEvents(ctx, slog.New(slog.DiscardHandler))
	}()
	return func() {
		cancel()
		<-done
		end()
	}, url
}
