package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow/flowtest/leak"
)

// village writes a graph of two villages with classes, and returns its directory.
func village(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	var edges, labels strings.Builder
	for v := range 60 {
		fmt.Fprintf(&edges, "%d %d\n%d %d\n", v, v/30*30+(v+1)%30, v, v/30*30+(v+7)%30)
		fmt.Fprintln(&labels, []string{"north", "south"}[v/30])
	}
	edges.WriteString("0 30\n")
	for name, text := range map[string]string{"edges.txt": edges.String(), "labels.txt": labels.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// started returns a server that was opened by these arguments, at a URL.
func started(t testing.TB, args ...string) (*server, string) {
	t.Helper()
	s := &server{}
	f := flags("serve", "")
	s.asking.flags(f)
	s.flags(f)
	if err := s.load(f, args); err != nil {
		t.Fatal(err)
	}
	if err := s.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.handler(slog.New(slog.DiscardHandler)))
	t.Cleanup(func() {
		h.Close()
		s.now.Load().close()
	})
	return s, h.URL
}

// post asks a server, and returns the status and the body.
func post(t *testing.T, url, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url+"/predict", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if len(header) > 0 {
		r.Header.Set(header[0], header[1])
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
	return got.StatusCode, string(text)
}

// predict and serve say the same of the same nodes, and of the same pairs.
func TestServeSaysWhatPredictSays(t *testing.T) {
	clitest.Silence(t)
	data, dir := village(t), t.TempDir()
	for _, task := range []string{"nodes", "links"} {
		for _, system := range []string{"linear", "cnn", "ensemble"} {
			if task == "links" && system == "ensemble" {
				continue
			}
			model, out := filepath.Join(dir, task+system), filepath.Join(dir, task+system+".csv")
			r := clitest.JSON[report](t, run, "train", "-task", task, "-data", data, "-systems", system, "-out", model)
			if len(r.Classes) != 2 || r.AUC == nil || r.Rows == 0 {
				t.Errorf("%+v", r)
			}
			if again := clitest.JSON[report](t, run, "evaluate", "-data", data, "-model", model); *again.Accuracy != *r.Accuracy {
				t.Errorf("evaluate: %v, train: %v", *again.Accuracy, *r.Accuracy)
			}
			must(t, "predict", "-data", data, "-model", model, "-out", out)
			rows, err := csv.NewReader(strings.NewReader(read(t, out))).ReadAll()
			if err != nil || len(rows) < 50 {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			_, url := started(t, "-model", model, "-data", data)
			for _, row := range rows[1:20] {
				ids := fmt.Sprintf(`{"ids": [%s]}`, row[0])
				if task == "links" {
					ids = fmt.Sprintf(`{"ids": [["%s", %s]]}`, row[0], row[1])
				}
				status, text := post(t, url, ids)
				var got []answer
				if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || len(got) != 1 {
					t.Fatalf("%s: %d, %s, %v", ids, status, text, err)
				}
				want, err := strconv.ParseFloat(row[2], 32)
				said := got[0].P
				if task == "nodes" {
					p := got[0].Probs["north"]
					said = &p
					if got[0].Class != row[1] || string(got[0].ID) != row[0] {
						t.Errorf("%s, want %v", text, row)
					}
				}
				if err != nil || *said != float32(want) {
					t.Errorf("%s %s: %s, want %v", task, system, text, row)
				}
			}
		}
	}
}

// A graph that is posted has its names in the answers; what is wrong with a question has
// a status.
func TestServeAnswers(t *testing.T) {
	t.Cleanup(func() { // after that of started
		http.DefaultClient.CloseIdleConnections()
		leak.VerifyNone(t)
	})
	clitest.Silence(t)
	dir := t.TempDir()
	graphs, nodes := filepath.Join(dir, "graphs"), filepath.Join(dir, "nodes")
	must(t, "train", "-systems", "linear", "-out", graphs)
	must(t, "train", "-task", "nodes", "-data", village(t), "-systems", "linear", "-out", nodes)
	token := clitest.File(t, "token", "secret\n")
	_, open := started(t, "-model", graphs, "-max-body", "2000")
	_, shut := started(t, "-model", graphs, "-token", token)
	_, bare := started(t, "-model", nodes)
	for _, c := range []struct {
		url, body string
		status    int
		want      string
		header    []string
	}{
		{open, `{"id": "g", "nodes": [{"id": 1}, {"id": 2}], "edges": [{"source": 1, "target": 2}]}`, 200, `[{"id":"g","class":`, nil},
		{open, `{"nodes": [{"id": "a"}], "links": []}`, 200, `"probs":{`, nil},
		{open, `{"edges": [{"source": "a", "target": "b"}]}`, 200, `[{"id":null,`, nil},
		{open, `{"nodes": [{"id": "a"}, {"id": "a"}]}`, 422, `node 1: id: "a" is that of node 0 too`, nil},
		{open, `{"nodes": [{"id": 0.5}]}`, 422, `node 0: id: "0.5", want a string or an integer`, nil},
		{open, `{"nodes": [{"id": 1}], "edges": [{"source": 1, "target": "2"}]}`, 422, `link 0: target: there is no node "2"`, nil},
		{open, `{"ids": [1]}`, 422, "wants nodes and edges", nil},
		{open, `{"nodes": [`, 400, "unexpected end of JSON input", nil},
		{open, `{}`, 400, "want {", nil},
		{open, `[]`, 400, "the body is a JSON array, want an object; want {", nil},
		{open, `{"nodes": 1}`, 400, "nodes is a JSON number, want an array", nil},
		{open, `{"nodes": [{"id": 1}], "links": [], "edges": []}`, 400, "edges and links are both set, want one", nil},
		{open, `{"nodes": [], "links": []}`, 422, "the graph has no nodes, want one or more", nil},
		{bare, `{"nodes": [], "links": []}`, 422, "the graph has no nodes, want one or more", nil},
		{open, `{"ids": []} more`, 400, "after top-level value", nil},
		{open, `{"id": "` + strings.Repeat("x", 2000) + `"}`, 413, "2000 bytes", nil},
		{shut, `{"nodes": []}`, 401, "Authorization", nil},
		{shut, `{"nodes": []}`, 401, "Authorization", []string{"Authorization", "Bearer wrong"}},
		{shut, `{"nodes": [{"id": 1}]}`, 200, "class", []string{"Authorization", "Bearer secret"}},
		{bare, `{"ids": [1]}`, 422, "no open graph", nil},
	} {
		if c.want == "no open graph" {
			c.want = "ids are those of an open graph"
		}
		if status, text := post(t, c.url, c.body, c.header...); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d, %s; want %d, %s", c.body, status, text, c.status, c.want)
		}
	}
	for path, want := range map[string]string{"/healthz": "ok", "/metrics": "sanflow_requests_total{code=\"422\"} 5\n"} {
		got, err := http.Get(open + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(got.Body)
		got.Body.Close()
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %v", path, text, err)
		}
	}
}

// A model that is replaced under load loses no request.
func TestReload(t *testing.T) {
	t.Cleanup(func() { // after that of started
		http.DefaultClient.CloseIdleConnections()
		leak.VerifyNone(t)
	})
	clitest.Silence(t)
	dir := t.TempDir()
	model := filepath.Join(dir, "model")
	var files [2][]byte
	for i, system := range []string{"linear", "cnn"} {
		must(t, "train", "-systems", system, "-out", model)
		files[i] = []byte(read(t, model))
	}
	s, url := started(t, "-model", model, "-reload", "5ms")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { s.watch(ctx, slog.New(slog.DiscardHandler), stampOf(model)) })
	var asked atomic.Int64
	for range 8 {
		all.Go(func() {
			for ctx.Err() == nil {
				got, err := http.Post(url+"/predict", "application/json", strings.NewReader(`{"edges": [{"source": 1, "target": 2}, {"source": 1, "target": 3}]}`))
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(got.Body)
				got.Body.Close()
				if err != nil || got.StatusCode != 200 {
					t.Errorf("%d: %s, %v", got.StatusCode, text, err)
				}
				asked.Add(1)
			}
		})
	}
	for i := 0; i < 40 && s.stats.reloads.Load() < 6; i++ {
		content := files[i%2]
		if i%5 == 4 {
			content = content[:len(content)/2] // damaged: the one before goes on
		}
		if err := os.WriteFile(model+".new", content, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(model+".new", model); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	cancel()
	all.Wait()
	if s.stats.reloads.Load() < 6 || s.stats.reloadsFailed.Load() < 1 || asked.Load() < 50 {
		t.Errorf("%d reloads, %d failed, %d requests", s.stats.reloads.Load(), s.stats.reloadsFailed.Load(), asked.Load())
	}
}

// More requests than there are places for are told to come again.
func TestBusy(t *testing.T) {
	clitest.Silence(t)
	model := filepath.Join(t.TempDir(), "model")
	must(t, "train", "-systems", "linear", "-out", model)
	s, url := started(t, "-model", model, "-concurrent", "1")
	s.work <- struct{}{}
	if status, text := post(t, url, `{"nodes": [{"id": 1}]}`); status != 503 {
		t.Errorf("%d, %s", status, text)
	}
	<-s.work
	s.timeout = time.Nanosecond
	if status, text := post(t, url, `{"nodes": [{"id": 1}]}`); status != 503 || !strings.Contains(text, "too long") {
		t.Errorf("%d, %s", status, text)
	}
}

// A client that sends its body slowly takes no place, and holds no end up.
func TestSlowBody(t *testing.T) {
	clitest.Silence(t)
	model := filepath.Join(t.TempDir(), "model")
	must(t, "train", "-systems", "linear", "-out", model)
	s, url := started(t, "-model", model, "-concurrent", "1")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.ending = ctx
	s.grace = time.Minute
	body, slow := io.Pipe()
	defer slow.Close()
	done := make(chan int)
	go func() {
		got, err := http.Post(url+"/predict", "application/json", body)
		if err != nil {
			done <- 0
			return
		}
		got.Body.Close()
		done <- got.StatusCode
	}()
	if _, err := slow.Write([]byte("{")); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if status, text := post(t, url, `{"nodes": [{"id": 1}]}`); status != 200 {
			t.Errorf("%d, %s", status, text)
		}
	}
	cancel()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("the request is still there")
	}
}

// The command ends well when it is told to end.
func TestServeEnds(t *testing.T) {
	clitest.Silence(t)
	model := filepath.Join(t.TempDir(), "model")
	must(t, "train", "-systems", "linear", "-out", model)
	cmd := exec.Command(os.Args[0], "serve", "-model", model, "-listen", "localhost:0")
	cmd.Env = append(os.Environ(), "SANFLOW_TEST_COMMAND=1")
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(log).ReadString('\n')
	_, rest, _ := strings.Cut(line, "address=")
	address, _, _ := strings.Cut(rest, " ")
	if status, text := post(t, "http://"+address, `{"nodes": [{"id": 1}]}`); status != 200 || !strings.HasPrefix(address, "127.0.0.1:") {
		t.Errorf("%s: %d, %s", line, status, text)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// An attribute of a node or an edge that the model does not read is an error that names it.
func TestServeOtherAttributes(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	nodes, edges := []string{"id,job,class"}, []string{"source,target,kind,amount"}
	for v := range 40 {
		nodes = append(nodes, fmt.Sprintf("%d,%s,%s", v, []string{"baker", "clerk"}[v%2], []string{"a", "b"}[v/20]))
		edges = append(edges, fmt.Sprintf("%d,%d,cash,%d", v, (v+1)%40, v))
	}
	model := filepath.Join(dir, "model")
	must(t, "train", "-systems", "linear", "-out", model, "-edges", write(t, dir, "e.csv", edges), "-nodes", write(t, dir, "n.csv", nodes), "-class", "class", "-type", "kind", "-weight", "amount")
	_, url := started(t, "-model", model)
	for _, c := range []struct {
		node, edge, want string
		status           int
	}{
		{`"job":"baker"`, `"kind":"cash","amount":1`, "", 200},
		{`"job":"baker","index":3,"x":null,"y":{"a":1},"z":[1]`, `"type":"cash","weight":1,"key":0`, "", 200},
		{`"job":"baker","nosuch":1`, `"kind":"cash","amount":1`, `node 0: the model does not read the attribute "nosuch"`, 400},
		{`"job":"baker","class":"a"`, `"kind":"cash","amount":1`, `node 0: the model does not read the attribute "class"`, 400},
		{`"job":"baker"`, `"kind":"cash","amount":1,"when":true`, `link 0: the model does not read the attribute "when"`, 400},
	} {
		status, text := post(t, url, fmt.Sprintf(`{"nodes":[{"id":0,%s},{"id":1,"job":"clerk"}],"edges":[{"source":0,"target":1,%s}]}`, c.node, c.edge))
		if status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s, %s: %d, %s; want %d, %s", c.node, c.edge, status, text, c.status, c.want)
		}
	}
}

// inspect and serve print the two checksums of a model under the same names.
func TestChecksums(t *testing.T) {
	clitest.Silence(t)
	model := filepath.Join(t.TempDir(), "model")
	must(t, "train", "-systems", "linear", "-out", model)
	file, err := digest(model)
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, model)
	_, stored, _ := strings.Cut(text, `"sanflow.sha256":"`)
	stored = stored[:64]
	zeros := sha256.Sum256([]byte(strings.Replace(text, stored, strings.Repeat("0", 64), 1)))
	if hex.EncodeToString(zeros[:]) != stored {
		t.Errorf("the stored checksum is %s, want %x", stored, zeros)
	}
	var told, log bytes.Buffer
	if err := describe(t.Context(), &told, model); err != nil {
		t.Fatal(err)
	}
	s, url := started(t, "-model", model)
	slog.New(slog.NewTextHandler(&log, nil)).Info("listening", s.now.Load().sums())
	got, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	metrics, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	for text, format := range map[string]string{told.String(): "file_sha256: %s\n  stored_sha256: %s ", log.String(): "file_sha256=%s stored_sha256=%s", string(metrics): `{file_sha256="%s",stored_sha256="%s",`} {
		if want := fmt.Sprintf(format, file, stored); !strings.Contains(text, want) || strings.Contains(text, " sha256") {
			t.Errorf("%s; want %s", text, want)
		}
	}
}
