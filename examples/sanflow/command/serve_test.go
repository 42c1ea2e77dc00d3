package command

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
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
	"unicode/utf8"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks"
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
	s, url, end := opened(t, args...)
	t.Cleanup(end)
	return s, url
}

// opened is started until end.
func opened(t testing.TB, args ...string) (s *server, url string, end func()) {
	t.Helper()
	s = &server{asking: newAsking(cli.NewService("serve", ""))}
	s.flags()
	if err := s.load(args); err != nil {
		t.Fatal(err)
	}
	if err := s.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.handler(slog.New(slog.DiscardHandler)))
	return s, h.URL, func() {
		h.Close()
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}

// post asks a server, and returns the status and the body.
func post(t *testing.T, url, body string, header ...string) (int, string) {
	t.Helper()
	status, _, text := request(t, "POST", url+"/predict", body, header...)
	return status, text
}

// predict and serve say the same of the same nodes, and of the same pairs.
func TestServeSaysWhatPredictSays(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	data, dir := village(t), t.TempDir()
	for _, task := range []string{"nodes", "links"} {
		for _, system := range map[string][]string{"nodes": {"linear", "cnn", "ensemble"}, "links": {"linear", "trees"}}[task] {
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
					if got[0].Class != row[1] || fmt.Sprint(got[0].ID) != row[0] {
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
	trainLinear(t, graphs)
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
		{open, `{"nodes": [`, 400, "it is no JSON: it ends early", nil},
		{open, `{}`, 400, "want {", nil},
		{open, `[]`, 400, "it is a JSON array, want an object; want {", nil},
		{open, `{"nodes": 1}`, 400, "nodes is a JSON number, want an array", nil},
		{open, `{"nodes": [{"id": 1}], "links": [], "edges": []}`, 400, "edges and links are both set, want one", nil},
		{open, `{"nodes": [], "links": []}`, 422, "the graph has no nodes, want one or more", nil},
		{bare, `{"nodes": [], "links": []}`, 422, "the graph has no nodes, want one or more", nil},
		{open, `{"ids": []} more`, 400, "it is no JSON: invalid character 'm' at start of value", nil},
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
	trainLinear(t, model)
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
	trainLinear(t, model)
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
	trainLinear(t, model)
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
	trainLinear(t, model)
	file, err := manifest.Sum(model)
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

// coins writes tables of two kinds of people, whose payments have two columns of numbers and two of
// words. Each of the columns tells the kinds apart, and each the other way round.
func coins(t *testing.T) (dir, edges, nodes string) {
	dir = t.TempDir()
	people, paid := []string{"id,name,role"}, []string{"source,target,payer,payee,amount,fee,type,kind"}
	for v := range 60 {
		people = append(people, fmt.Sprintf("%d,n%d,%s", v, v, []string{"shop", "home"}[v%2]))
		for _, by := range []int{2, 14} {
			u := (v + by) % 60
			large, small := 50+v%7, 1+v%5
			if v%2 == 0 {
				large, small = small, large
			}
			paid = append(paid, fmt.Sprintf("%d,%d,%d,%d,%d,%d,%s,%s", v, u, v, (v+1)%60, large, small, []string{"card", "cash"}[v%2], []string{"cash", "card"}[v%2]))
		}
	}
	return dir, write(t, dir, "paid.csv", paid), write(t, dir, "people.csv", people)
}

// A model that is loaded in place of another answers as it does after a fresh start, whichever columns
// both have learned from.
func TestReloadOfOtherColumns(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir, edges, nodes := coins(t)
	model := filepath.Join(dir, "model")
	ids := `{"ids": [0,1,2,3,4,5,6,7,8,9,10,11]}`
	for name, c := range map[string]struct{ task, before, after string }{
		"weight":    {"nodes", "-weight amount -ignore fee,type,kind,name,payer,payee", "-weight fee -ignore amount,type,kind,name,payer,payee"},
		"type":      {"nodes", "-type type -ignore amount,fee,kind,name,payer,payee", "-type kind -ignore amount,fee,type,name,payer,payee"},
		"bare type": {"nodes", "-ignore amount,fee,kind,name,payer,payee", "-type kind -ignore amount,fee,type,name,payer,payee"},
		"ends":      {"nodes", "-weight amount -ignore fee,type,kind,name,payer,payee", "-weight amount -source payer -target payee -ignore fee,type,kind,name,source,target"},
		"directed":  {"nodes", "-weight amount -ignore fee,type,kind,name,payer,payee", "-weight amount -directed -ignore fee,type,kind,name,payer,payee"},
		"no weight": {"nodes", "-weight amount -ignore fee,type,kind,name,payer,payee", "-ignore amount,type,kind,name,payer,payee"},
		"fewer":     {"nodes", "-weight amount -ignore fee,type,kind,name,payer,payee", "-weight amount -ignore fee,type,kind,payer,payee"},
		"links":     {"links", "", "-source payer -target payee"},
	} {
		t.Run(name, func(t *testing.T) {
			train := func(more string) {
				system := "linear"
				if strings.Contains(name, "weight") {
					system = "cnn-edges"
				}
				args := []string{"train", "-task", c.task, "-systems", system, "-edges", edges, "-out", model}
				if c.task == "nodes" {
					args = append(args, "-nodes", nodes, "-class", "role")
				}
				must(t, append(args, strings.Fields(more)...)...)
			}
			body := ids
			if c.task == "links" {
				body = `{"ids": [[0,1],[0,3],[2,7],[1,5]]}`
			}
			serving := []string{"-model", model, "-edges", edges}
			if c.task == "nodes" {
				serving = append(serving, "-nodes", nodes)
			}
			train(c.before)
			s, url := started(t, serving...)
			_, first := post(t, url, body)
			train(c.after)
			stamp := s.now.Load().fileSum
			p, err := sinks.Load(model)
			if err == nil {
				err = s.take(t.Context(), p)
			}
			if err != nil || s.now.Load().fileSum == stamp {
				t.Fatal(err)
			}
			_, fresh := started(t, serving...)
			_, want := post(t, fresh, body)
			if _, got := post(t, url, body); got != want || got == first {
				t.Errorf("%s, want %s; before %s", got, want, first)
			}
			if c.task == "nodes" { // the graph serves on if only the target is another
				set := s.now.Load().set
				train(c.after + " -seed 7")
				if p, err = sinks.Load(model); err == nil {
					err = s.take(t.Context(), p)
				}
				if err != nil || s.now.Load().set != set {
					t.Errorf("the tables were read again for a model of the same columns: %v", err)
				}
			}
		})
	}
}

// wire sends a request as it is written, and returns the status and the answer.
func wire(t *testing.T, url, request string) (int, string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	got, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer got.Body.Close()
	text, _ := io.ReadAll(got.Body)
	return got.StatusCode, string(text)
}

// Without a token a Host that a browser may have bound to this machine is refused, in each of its forms.
func TestHost(t *testing.T) {
	clitest.Silence(t)
	model := filepath.Join(t.TempDir(), "model")
	trainLinear(t, model)
	machine, _ := os.Hostname()
	_, url := started(t, "-model", model)
	_, named := started(t, "-model", model, "-listen", "Graphs.example.org:0")
	_, shut := started(t, "-model", model, "-token", clitest.File(t, "token", "secret\n"))
	body := `{"nodes": [{"id": 1}]}`
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:8080": 200, "localhost.": 200, "a.localhost:1": 200, "127.0.0.1": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "[::1]": 200,
		"10.1.2.3:80": 200, machine: 200,
		"evil.example": 403, "evil.example:8080": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403, "xlocalhost": 403, ":8080": 403, "[evil]:80": 403,
		"graphs.example.org": 403, "2130706433": 403,
	} {
		request := fmt.Sprintf("POST /predict HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", host, len(body), body)
		if status, text := wire(t, url, request); status != want {
			t.Errorf("Host %q: %d, %s, want %d", host, status, text, want)
		}
		if status, _ := wire(t, url, fmt.Sprintf("GET /metrics HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host)); status != want {
			t.Errorf("metrics, Host %q: %d, want %d", host, status, want)
		}
		if status, _ := wire(t, shut, strings.Replace(request, "Connection", "Authorization: bearer secret\r\nConnection", 1)); status != 200 {
			t.Errorf("with a token, Host %q: %d", host, status)
		}
	}
	for _, c := range []struct {
		url, request string
		want         int
	}{
		{url, "GET /metrics HTTP/1.0\r\n\r\n", 200},
		{url, "GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 403},
		{url, "GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 200},
		{named, "GET /metrics HTTP/1.1\r\nHost: graphs.EXAMPLE.org:80\r\nConnection: close\r\n\r\n", 200},
		{named, "GET /metrics HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n", 403},
		{shut, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: secret\r\nConnection: close\r\n\r\n", 401},
		{shut, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic secret\r\nConnection: close\r\n\r\n", 401},
		{shut, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer\r\nConnection: close\r\n\r\n", 401},
		{shut, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret2\r\nConnection: close\r\n\r\n", 401},
		{shut, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\nConnection: close\r\n\r\n", 200},
	} {
		if status, text := wire(t, c.url, c.request); status != c.want {
			t.Errorf("%q: %d, %s, want %d", c.request, status, text, c.want)
		}
	}
}

// packed is text packed by gzip.
func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A body may be packed by gzip, and is bounded when it is unpacked. Other packings are refused by name.
func TestPackedBody(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	model := filepath.Join(t.TempDir(), "model")
	trainLinear(t, model)
	_, url := started(t, "-model", model, "-max-body", "100000")
	plain := `{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}]}`
	_, want := post(t, url, plain)
	whole := packed(t, plain)
	for _, c := range []struct {
		body, encoding string
		status         int
		want           string
	}{
		{whole, "gzip", 200, want},
		{whole, "", 200, want}, // as curl --data-binary sends it
		{plain, "identity", 200, want},
		{packed(t, plain[:20]) + packed(t, plain[20:]), "gzip", 200, want},
		{packed(t, strings.Repeat(" ", 100001)), "gzip", 413, "more than 100000 bytes"},
		{packed(t, strings.Repeat(" ", 100<<20)), "gzip", 413, "more than 100000 bytes"},
		{whole[:len(whole)-9], "gzip", 400, "unexpected EOF"},
		{whole + "more than that", "gzip", 400, "gzip: invalid header"},
		{strings.Replace(whole, "\x1f\x8b", "\x1f\x8b\x00", 1), "gzip", 400, "gzip: invalid header"},
		{plain, "br", 415, `packed by "br", want JSON, plain or packed by gzip`},
		{plain, "gzip, br", 415, `packed by "gzip, br"`},
		{plain, "zstd", 415, `packed by "zstd"`},
	} {
		if status, text := post(t, url, c.body, "Content-Encoding", c.encoding); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%.20q, %q: %d, %s; want %d, %s", c.body, c.encoding, status, text, c.status, c.want)
		}
	}
}

// A client whose body is refused before all of it is there has the answer, also where it sends the rest late.
func TestRefusedBodyIsAnswered(t *testing.T) {
	clitest.Silence(t)
	model := filepath.Join(t.TempDir(), "model")
	trainLinear(t, model)
	_, url := started(t, "-model", model, "-max-body", "3000000")
	for _, c := range []struct {
		encoding string
		size     int
		status   int
	}{{"gzip", 5000000, 413}, {"br", 1000, 415}} {
		client, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		fmt.Fprintf(client, "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n", c.encoding, c.size)
		for range 2 {
			if _, err := io.WriteString(client, strings.Repeat(" ", c.size/2)); err != nil {
				t.Fatalf("%s: %v", c.encoding, err)
			}
			time.Sleep(700 * time.Millisecond) // a server waits for 500 ms before it resets a connection
		}
		answer, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatalf("%s: %v", c.encoding, err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status {
			t.Errorf("%s: %d, want %d", c.encoding, answer.StatusCode, c.status)
		}
	}
}

// serve says of a pair that is an edge what explain says, and refuses a node with itself.
func TestServeSaysWhatExplainSays(t *testing.T) {
	clitest.Silence(t)
	data, dir := village(t), t.TempDir()
	model := filepath.Join(dir, "model")
	must(t, "train", "-task", "links", "-data", data, "-systems", "linear", "-out", model)
	_, url := started(t, "-model", model, "-data", data)
	for _, pair := range [][2]string{{"0", "1"}, {"1", "0"}, {"0", "30"}, {"3", "10"}, {"2", "40"}} {
		e := clitest.JSON[explanation](t, run, "explain", "-model", model, "-data", data, "-of", pair[0], "-of", pair[1])
		status, text := post(t, url, fmt.Sprintf(`{"ids": [[%s, %s]]}`, pair[0], pair[1]))
		var got []answer
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || *got[0].P != e.Probs[1] {
			t.Errorf("%v: %d, %s, %v, want %v", pair, status, text, err, e.Probs)
		}
	}
	graph := `"nodes": [{"id": 1}, {"id": 2}, {"id": 3}], "edges": [{"source": 1, "target": 2}, {"source": 2, "target": 3}, {"source": 1, "target": 3}]`
	_, with := post(t, url, `{"ids": [[1, 2]], `+graph+`}`)
	if _, without := post(t, url, strings.Replace(`{"ids": [[1, 2]], `+graph+`}`, `{"source": 1, "target": 2}, `, "", 1)); with != without {
		t.Errorf("with the edge %s, without %s", with, without)
	}
	if status, text := post(t, url, `{"ids": [[1, 2, 3]]}`); status != 422 || !strings.Contains(text, "[1, 2, 3]") && !strings.Contains(text, "[1,2,3]") {
		t.Errorf("three nodes: %d, %s", status, text)
	}
	for _, body := range []string{`{"ids": [[1, 1]]}`, `{"ids": [[0, 1], [5, 5]]}`, `{"ids": [[1, 1]], ` + graph + `}`} {
		if status, text := post(t, url, body); status != 422 || !strings.Contains(text, "a node with itself, want two nodes") {
			t.Errorf("%s: %d, %s", body, status, text)
		}
	}
}

// Names of classes and columns that hold escapes, marks of direction or bytes that are no text reach the
// terminal quoted, whichever command prints them.
func TestNamesOnTerminals(t *testing.T) {
	dir := t.TempDir()
	names := []string{"a\x1b[31mred", "b\u202Eevil", "plain é 名"}
	nodes, edges := []string{"id,size\x1b]0;title\a,role"}, []string{"source,target,kind\u009b1m"}
	for v := range 60 {
		nodes = append(nodes, fmt.Sprintf("%d,w%d,%s", v, v%3, names[v%3]))
		edges = append(edges, fmt.Sprintf("%d,%d,k%d", v, (v+3)%60, v%2))
	}
	model := filepath.Join(dir, "model")
	data := []string{"-edges", write(t, dir, "e.csv", edges), "-nodes", write(t, dir, "n.csv", nodes), "-class", "role"}
	for _, args := range [][]string{
		append([]string{"train", "-systems", "linear", "-out", model}, data...),
		{"inspect", model},
		append([]string{"evaluate", "-model", model}, data...),
		append([]string{"explain", "-model", model, "-of", "4"}, data...),
		append([]string{"train", "-out", filepath.Join(dir, "none"), "-ignore", "no\x1b[31msuch"}, data...),
		append([]string{"predict", "-model", model, "-types", "size=\x1b[31m"}, data...),
	} {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), "SANFLOW_TEST_COMMAND=1")
		out, _ := cmd.CombinedOutput()
		if len(out) == 0 {
			t.Errorf("%s prints nothing", args[0])
		}
		for _, r := range string(out) {
			if r != '\n' && !strconv.IsPrint(r) || r == utf8.RuneError {
				t.Errorf("%s prints %q:\n%q", args[0], r, out)
				break
			}
		}
		if (args[0] == "evaluate" || args[0] == "inspect") && !strings.Contains(string(out), `"a\x1b[31mred"`) || args[0] == "evaluate" && !strings.Contains(string(out), " plain é 名") {
			t.Errorf("%s: %s", args[0], out)
		}
	}
}

// Requests share a memory: large bodies are answered by 503 while it is taken, small ones have theirs, a request
// that finds none for its work waits as long as -timeout, and all of it comes back.
func TestMemoryOfRequests(t *testing.T) {
	clitest.Silence(t)
	model := filepath.Join(t.TempDir(), "model")
	trainLinear(t, model)
	s, url := started(t, "-model", model, "-timeout", "500ms")
	small, large := `{"nodes": [{"id": 1}, {"id": 2}]}`, `{"nodes": [{"id": 1}, {"id": 2}]`+strings.Repeat(" ", 1<<20)+`}`
	most := int64(max(textMemory, 4*s.bodyLimit))
	status := func(body string, want int) {
		t.Helper()
		if got, text := post(t, url, body); got != want {
			t.Errorf("%d, %.200s, want %d", got, text, want)
		}
	}
	all := func() {
		t.Helper()
		for range 200 {
			if len(s.work)+len(s.bodies) == 0 && s.memory.text.TryAcquire(most) {
				s.memory.text.Release(most)
				if s.memory.work.TryAcquire(workMemory) {
					s.memory.work.Release(workMemory)
					return
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("memory is missing, %d at work, %d bodies", len(s.work), len(s.bodies))
	}
	status(small, 200)
	status(large, 200)
	all()
	if !s.memory.text.TryAcquire(most) {
		t.Error("the memory of text is not there")
	}
	status(large, 503)
	status(small, 200)
	s.memory.text.Release(most)
	status(large, 200)
	all()
	if !s.memory.work.TryAcquire(workMemory) {
		t.Error("the memory of work is not there")
	}
	start := time.Now()
	status(small, 503)
	if took := time.Since(start); took < 400*time.Millisecond {
		t.Errorf("it did not wait: %v", took)
	}
	time.AfterFunc(100*time.Millisecond, func() { s.memory.work.Release(workMemory) })
	status(small, 200)
	all()
	status(`{"nodes": [`+strings.Repeat("{},", maxValues)+`{}]}`, 413)
	status("{", 400)
	status(packed(t, strings.Repeat(" ", 9<<20)), 413)
	all()
	// Bodies that do not come end with 408, and take no place of those at work.
	var slow sync.WaitGroup
	for i := range 40 {
		slow.Go(func() {
			length := []string{"Content-Length: 100000", "Transfer-Encoding: chunked"}[i%2]
			if got, text := wire(t, url, "POST /predict HTTP/1.1\r\nHost: localhost\r\n"+length+"\r\n\r\n2\r\n{ \r\n"); got != 408 {
				t.Errorf("%s: %d, %s", length, got, text)
			}
		})
	}
	status(small, 200)
	slow.Wait()
	all()
}

// A molecule that is posted as SMILES has the answer that predict gives to its row, also with hydrogens that are written out. The columns of a table
// that a model of molecules does not read are named.
func TestServeMolecules(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	texts := []string{"CCO", "[H]C([H])([H])CO", "c1ccccc1CCl", "C[N+](C)(C)C", "O=C([O-])c1ccncc1", "[Na+].[Cl-]", "C/C=C/C#N"}
	rows := []string{"name,smiles,dose,acid"}
	for n := range 60 {
		texts = append(texts, strings.Repeat("C", 1+n%9)+[]string{"N", "O"}[n%2]+strings.Repeat("C", n/9))
	}
	for n, text := range texts {
		rows = append(rows, fmt.Sprintf("mol-%d,%s,%d,%s", n, text, n%3, []string{"no", "yes"}[n%2]))
	}
	model, table, out := filepath.Join(dir, "model"), write(t, dir, "mol.csv", rows), filepath.Join(dir, "out.csv")
	_, said := printed(t, "train", "-data", table, "-smiles", "smiles", "-class", "acid", "-systems", "words", "-out", model)
	if want := `ignored columns ["name" "dose"] of mol: `; strings.Count(said, want) != 1 {
		t.Errorf("%s, want %s", said, want)
	}
	if _, said := printed(t, "predict", "-data", table, "-model", model, "-out", out); strings.Contains(said, "ignored") {
		t.Error(said)
	}
	answers, err := csv.NewReader(strings.NewReader(read(t, out))).ReadAll()
	if err != nil || len(answers) != 1+len(texts) {
		t.Fatal(len(answers), err)
	}
	_, url := started(t, "-model", model)
	for n, text := range texts {
		body := fmt.Sprintf(`{"smiles": %q}`, text)
		status, got := post(t, url, body)
		want := fmt.Sprintf(`[{"id":null,"class":%q,"probs":{"no":%s,"yes":%s}}]`, answers[n+1][1], answers[n+1][2], answers[n+1][3])
		if status != http.StatusOK || strings.TrimSpace(got) != want {
			t.Errorf("%s: %d %s, want %s", text, status, got, want)
		}
		if status, _, got := request(t, "POST", url+"/explain", body); status != http.StatusOK || !strings.Contains(got, `"reasons":{`) {
			t.Errorf("%s: %d %s", text, status, got)
		}
	}
	alone := clitest.JSON[map[string]any](t, run, "explain", "-model", model, "-data", table, "-id", "name", "-of", "mol-2")
	text, err := json.Marshal(map[string]any{"text": alone["text"]})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, got := request(t, "POST", url+"/explain", `{"smiles": "c1ccccc1CCl"}`); alone["text"] == "" || !strings.Contains(got, strings.Trim(string(text), "{}")) {
		t.Errorf("%v is not in %.300s", alone["text"], got)
	}
	for body, want := range map[string]string{
		`{"smiles": "C("}`:                                 "400 sources: SMILES: ",
		`{"smiles": ""}`:                                   `400 want {"smiles": "CCO"}: one text`,
		`{"smiles": "C", "dose": 3}`:                       `400 want {"smiles": "CCO"}: one text`,
		`{"smiles": "C", "nodes": [{}]}`:                   `400 want {"smiles": "CCO"}: one text`,
		`{"smiles": "` + strings.Repeat("C", 2<<20) + `"}`: "413 the request takes ",
	} {
		if status, got := post(t, url, body); !strings.HasPrefix(fmt.Sprint(status, " ", got), want) {
			t.Errorf("%.40s: %d %.300s, want %s", body, status, got, want)
		}
	}
	for n, want := range map[int]string{1000: `200 [{`, 1501: "413 the graph has 1501 nodes, want at most 1500"} {
		if status, _, got := request(t, "POST", url+"/explain", `{"smiles": "`+strings.Repeat("C", n)+`"}`); !strings.HasPrefix(fmt.Sprint(status, " ", got), want) {
			t.Errorf("%d atoms: %d %.300s, want %s", n, status, got, want)
		}
	}
	families, nodes := filepath.Join(dir, "families"), filepath.Join(dir, "nodes")
	trainLinear(t, families)
	must(t, "train", "-task", "nodes", "-systems", "linear", "-out", nodes)
	for _, of := range []string{families, nodes} {
		_, url := started(t, "-model", of)
		if status, got := post(t, url, `{"smiles": "CCO"}`); status != http.StatusBadRequest || !strings.Contains(got, "the model is not of molecules") {
			t.Errorf("%s: %d %s", of, status, got)
		}
	}
}
