package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sanflow/sanflow/examples/internal/cli"
)

// output runs f and returns the lines that it wrote to standard output.
func output(t *testing.T, f func()) []string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdout
	os.Stdout = w
	lines := make(chan []string)
	go func() {
		var all []string
		for s := bufio.NewScanner(r); s.Scan(); {
			all = append(all, s.Text())
		}
		lines <- all
	}()
	f()
	os.Stdout = old
	w.Close()
	return <-lines
}

func TestGenerated(t *testing.T) {
	defer goleak.VerifyNone(t)
	lines := output(t, func() {
		if err := run(context.Background(), []string{"-learn", "60"}); err != nil {
			t.Error(err)
		}
	})
	if len(lines) != 20 || !strings.HasPrefix(lines[19], "graph 19: ") {
		t.Errorf("%d answers: %q", len(lines), lines)
	}
}

// Graphs that are posted are answered in order, what is no graph is refused,
// and Ctrl-C ends it once everything is answered.
func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "localhost:0") // a port that nobody has
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	defer goleak.VerifyNone(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	post := func(body string) (status int) {
		for range 1200 {
			r, err := client.Post("http://"+address, "application/json", strings.NewReader(body))
			if err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
				r.Body.Close()
				return r.StatusCode
			}
			time.Sleep(50 * time.Millisecond) // it learns before it listens
		}
		t.Error("nobody listens")
		return 0
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	lines := output(t, func() {
		ended := make(chan error)
		go func() { ended <- run(ctx, []string{"-learn", "60", "-listen", address}) }()
		for _, c := range []struct {
			body string
			want int
		}{
			{`{"id": 7, "nodes": 4, "edges": [[0,1],[1,2],[2,3],[3,0]]}`, http.StatusAccepted},
			{`{"id": 8, "nodes": 4, "edges": [[0,4]]}`, http.StatusBadRequest},
			{`{"id": 8, "nodes": 1000000000}`, http.StatusBadRequest},
			{`{"id": 8, "nodes": -1}`, http.StatusBadRequest},
			{`{"id": 8`, http.StatusBadRequest},
			{`{"id": 9, "nodes": 4}`, http.StatusAccepted}, // filtered
			{`{"id": 10, "nodes": 2, "edges": [[0,1]]}`, http.StatusAccepted},
		} {
			if got := post(c.body); got != c.want {
				t.Errorf("%s: status %d, want %d", c.body, got, c.want)
			}
		}
		cancel(cli.ErrInterrupted)
		if err := <-ended; !errors.Is(err, cli.ErrInterrupted) {
			t.Errorf("%v, want %v", err, cli.ErrInterrupted)
		}
	})
	var ids []string
	for _, l := range lines {
		id, _, _ := strings.Cut(l, ":")
		ids = append(ids, id)
	}
	if !slices.Equal(ids, []string{"graph 7", "graph 10"}) {
		t.Errorf("answers %q", lines)
	}
}

func TestErrors(t *testing.T) {
	defer goleak.VerifyNone(t)
	for args, want := range map[string]string{
		"stray":                             "unexpected argument",
		"-learn 60 -listen nowhere.invalid": "address",
		"-learn 0":                          "-learn is 0",
	} {
		output(t, func() {
			if err := run(context.Background(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want an error with %q", args, err, want)
			}
		})
	}
}
