package main

import (
	"bufio"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/leak"
)

func TestMain(m *testing.M) { clitest.Main(m) }

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
	defer leak.VerifyNone(t)
	lines := output(t, func() {
		if err := run(context.Background(), []string{"-learn", "60"}); err != nil {
			t.Error(err)
		}
	})
	if len(lines) != 20 || !strings.HasPrefix(lines[19], "graph 19: ") {
		t.Errorf("%d answers: %q", len(lines), lines)
	}
}

func TestErrors(t *testing.T) {
	defer leak.VerifyNone(t)
	for args, want := range map[string]string{
		"stray":    "unexpected argument",
		"-learn 0": "-learn is 0",
	} {
		output(t, func() {
			if err := run(context.Background(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want an error with %q", args, err, want)
			}
		})
	}
}
