package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/examples/sanflow/command"
)

// serving is the variable with the command line of a process of its own, which is killed.
const serving = "SANFLOW_CONNECT_LINE"

// served runs serve in a process of its own, and returns its address.
func served(t *testing.T, line string) (url string, kill func()) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), serving+"="+line)
	stderr, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	lines := bufio.NewScanner(stderr)
	for url == "" && lines.Scan() {
		log.WriteString(lines.Text() + "\n")
		if at := regexp.MustCompile(`msg=listening address=(\S+)`).FindStringSubmatch(lines.Text()); at != nil {
			url = "http://" + at[1]
		}
	}
	if url == "" {
		t.Fatal(log.String())
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, stderr)
	}()
	return url, func() {
		_ = c.Process.Kill()
		<-drained
		_ = c.Wait()
	}
}

// asked posts a question that waits for a position, and returns the status and the text of the answer.
func asked(t *testing.T, url, body string, after int) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Sanflow-After", fmt.Sprint(after))
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

// payments are rows of a table, and those behind them as messages, with messages that cannot be accepted among these.
func payments(n, stored int) (table, messages []string, refused int) {
	r := rand.New(rand.NewPCG(3, 3))
	table = []string{"when,from,to,amount,fraud"}
	for i := range n {
		from, class := r.IntN(20), "no"
		if from%3 == 0 {
			class = "yes"
		}
		row := []any{i / 2, fmt.Sprint("a", from), fmt.Sprint("a", r.IntN(20)), r.IntN(100), class}
		table = append(table, fmt.Sprintf("%v,%v,%v,%v,%v", row...))
		if i < stored {
			continue
		}
		messages = append(messages, fmt.Sprintf(`{"when": %v, "from": %q, "to": %q, "amount": %v, "fraud": %q}`, row...))
		if i%20 == 0 {
			messages = append(messages, []string{`{"when": 1, "colour": "red"}`, "no\xff", ""}[refused%3])
			refused++
		}
	}
	return table, messages, refused
}

// Messages of a broker are accepted once each, in their order, over kills at random moments; those that cannot be accepted are dead letters and stop nothing. The
// answers are those of a server that begins with tables of all rows.
func TestEvents(t *testing.T) {
	const stored, all = 400, 700
	dir := t.TempDir()
	table, messages, refused := payments(all, stored)
	first, whole, model := filepath.Join(dir, "first.csv"), filepath.Join(dir, "all.csv"), filepath.Join(dir, "model")
	for path, rows := range map[string][]string{first: table[:stored+1], whole: table} {
		if err := os.WriteFile(path, []byte(strings.Join(rows, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ran(t, "train -rows "+first+" -time when -key from:account,to:account -class fraud -windows 20 -systems trees-words -out "+model)
	question := fmt.Sprintf(`{"ids": [3, %d, %d, %d], "rows": [{"when": 500, "from": "a3", "to": "a1", "amount": 3}]}`, stored, stored+100, all)
	url, kill := served(t, "serve -listen localhost:0 -labels all -model "+model+" -rows "+whole)
	_, want := asked(t, url+"/explain", question, 0)
	kill()
	for name, open := range map[string]func(*testing.T) (string, func(from, to int)){
		"nats":  func(t *testing.T) (string, func(from, to int)) { return ofNATS(t, messages) },
		"kafka": func(t *testing.T) (string, func(from, to int)) { return ofKafka(t, messages) },
	} {
		t.Run(name, func(t *testing.T) {
			topic, publish := open(t)
			store := filepath.Join(t.TempDir(), "store")
			line := "serve -listen localhost:0 -model " + model + " -rows " + first + " -store " + store + " -events " + topic
			r := rand.New(rand.NewPCG(1, uint64(len(name))))
			at := 0
			for range 5 {
				_, kill := served(t, line)
				to := min(len(messages), at+40+r.IntN(40))
				published := make(chan struct{})
				go func(from int) {
					defer close(published)
					publish(from, to)
				}(at)
				time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
				kill()
				<-published
				at = to
			}
			url, kill := served(t, line)
			defer kill()
			publish(at, len(messages))
			status, got := asked(t, url+"/explain", question, all-stored)
			if status != http.StatusOK || got != want {
				t.Errorf("%d %s, want %s", status, got, want)
			}
			text, err := os.ReadFile(filepath.Join(store, "refused.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			var reasons []string
			for line := range strings.Lines(string(text)) {
				var letter struct{ Line, Reason string }
				if err := json.Unmarshal([]byte(line), &letter); err != nil {
					t.Error(line, err)
				}
				reasons = append(reasons, letter.Reason)
			}
			slices.Sort(reasons) // a process that is killed may write one again
			if n := len(slices.Compact(reasons)); n != refused {
				t.Errorf("%d reasons, want %d: %q", n, refused, reasons)
			}
			if _, text := asked(t, url+"/explain", question, all-stored+1); !strings.Contains(text, fmt.Sprint(all-stored)) {
				t.Errorf("one position more: %s", text)
			}
		})
	}
	for args, want := range map[string]string{
		"nats://localhost:1/events?durable=x": "leave out durable",
		"kafka://localhost:1/events?group=x":  "leave out group",
		"amqp://user:secret@host/events":      "no linked package reads messages at URLs amqp://",
	} {
		err := command.Run(t.Context(), strings.Fields("serve -listen localhost:0 -model "+model+" -rows "+first+" -store "+filepath.Join(dir, "store")+" -events "+args))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// ofNATS makes a stream, and a function that publishes messages.
func ofNATS(t *testing.T, messages []string) (string, func(from, to int)) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not listen")
	}
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err == nil {
		_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "events", Subjects: []string{"paid.>"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.ClientURL() + "/events?subject=paid.card", func(from, to int) {
		for _, m := range messages[from:to] {
			_, err := js.Publish(context.Background(), "paid.card", []byte(m))
			if err == nil { // of another subject: the numbers of those that are read have gaps
				_, err = js.Publish(context.Background(), "paid.cash", []byte("nothing"))
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// ofKafka makes a topic of one partition, and a function that publishes messages.
func ofKafka(t *testing.T, messages []string) (string, func(from, to int)) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "events"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic("events"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return "kafka://" + c.ListenAddrs()[0] + "/events", func(from, to int) {
		for _, m := range messages[from:to] {
			if err := cl.ProduceSync(context.Background(), kgo.StringRecord(m)).FirstErr(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestMain(m *testing.M) {
	if line := os.Getenv(serving); line != "" {
		if err := command.Run(context.Background(), strings.Fields(line)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	clitest.Main(m)
}
