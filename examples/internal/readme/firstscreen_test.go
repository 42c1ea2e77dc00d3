package readme_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/sanflow/command"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// TestFirstScreen runs the commands about payments of the README, and compares what they print with what it shows: "…" stands for any text, and numbers
// are compared up to three digits.
func TestFirstScreen(t *testing.T) {
	race.Skip(t)
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(paymentsFile)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("payments.csv", table, 0o666); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	running := false
	block := regexp.MustCompile("(?s)```sh\n(sanflow train -task rows .*?)```").FindSubmatch(readme)
	if block == nil {
		t.Fatal("the README has no commands about rows")
	}
	printed, compared := "", 0
	for line := range strings.Lines(string(block[1])) {
		line = strings.TrimSpace(line)
		args := strings.Fields(line)[1:]
		switch body, isPost := strings.CutPrefix(line, "curl localhost:8080/predict -d "); {
		case strings.HasPrefix(line, "# "):
			compared++
			if want := shape(line[2:]); !regexp.MustCompile(want).MatchString(rounded(printed)) {
				t.Errorf("the README shows\n%s\nwant something of\n%s", line[2:], printed)
			}
		case isPost:
			printed = ask(t, "http://"+address+"/predict", strings.Trim(body, "'"))
		case args[0] == "serve":
			running = true
			args = append(args[:len(args)-1], "-listen", address) // without the &
			go func() { ended <- command.Run(ctx, args) }()
		default:
			printed = captured(t, func() error { return command.Run(ctx, args) })
		}
	}
	answer, err := answerAbout(ctx, choose.Row{"time": "2026-03-30T12:40:00", "account": "A185", "shop": "S57", "device": "D323", "amount": 93})
	if err != nil || answer.Class != "fraud" || fmt.Sprintf("%.4f", answer.Probs[answer.Index]) != "0.7821" {
		t.Errorf("in Go %+v, %v, want what curl has", answer, err)
	}
	if compared < 2 {
		t.Errorf("the README shows %d lines of output", compared)
	}
	stop()
	if running {
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// answerAbout is the Go of the README about a row.
func answerAbout(ctx context.Context, payment choose.Row) (sinks.Answer, error) {
	p, _ := sinks.Load("rows.model")
	keys, _ := choose.KeysOf(p.Net())
	table, _ := sources.OpenTable(ctx, "payments.csv", sources.Options{})
	set, _ := sources.Rows{Tables: []sources.RowTable{{Table: table, ID: "id", Time: "time", Class: "class", Keys: keys}}}.Read(ctx)
	history, _ := choose.HistoryOf(p, set, nil)
	rows, _ := history.OpenRows(p, choose.RowColumns{ID: "id", Time: "time", Class: "class"})
	asked, _, _ := rows.Ask(nil, []choose.Row{payment}) // now.Open(ctx, rows, …) takes events
	answer, _ := rows.Predict(ctx, asked[0])            // or Explain
	return answer, errors.Join(rows.Close(), p.Close())
}

var number = regexp.MustCompile(`(\d\.\d{3})\d+`)

// rounded is a text whose numbers end behind three digits.
func rounded(text string) string { return number.ReplaceAllString(text, "$1") }

// shape is the regular expression of a line of the README.
func shape(line string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(rounded(line)), "…", ".*")
}

// ask posts a body, when the server listens.
func ask(t *testing.T, url, body string) string {
	t.Helper()
	for try := 0; ; try++ {
		r, err := http.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			if try == 300 {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
			continue
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// captured returns what f writes to standard output.
func captured(t *testing.T, f func() error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	to, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdout
	os.Stdout = to
	err = f()
	os.Stdout = old
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	text, readErr := os.ReadFile(path)
	if err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	return string(text)
}
