//go:build unix

package now_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks/now"
)

// A full disk refuses events, by 503 and a line, and changes nothing: answers go on, a stream waits, and when there is room again each event is accepted once.
func TestFullDisk(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	dir := t.TempDir()
	noted := make(chan string, 9)
	rows := open(payments(stored))
	defer rows.Close()
	l := must(now.Open(t.Context(), rows, now.Options{Dir: dir, Note: func(line string) { noted <- line }}))
	events := lines(1200)
	must(l.Post([]byte(strings.Join(events[:100], "\n"))))
	info := must(os.Stat(filepath.Join(dir, "now.db")))
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	limit := func(n uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
	}
	limit(uint64(info.Size()))
	defer limit(before.Cur)
	at := 100
	server := httptest.NewServer(l)
	defer server.Close()
	for ; ; at += 20 {
		if at >= 900 {
			t.Fatal("the disk is not full")
		}
		r, err := http.Post(server.URL, "application/json", strings.NewReader(strings.Join(events[at:at+20], "\n")))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode == http.StatusServiceUnavailable && r.Header.Get("Retry-After") != "" {
			break
		} else if r.StatusCode != http.StatusOK {
			t.Fatal(r.Status)
		}
	}
	if l.Position() != int64(at) {
		t.Fatalf("position %d, want %d", l.Position(), at)
	}
	cold(t, rows, events[:at])
	ended := make(chan error)
	go func() { ended <- l.Read(t.Context(), strings.NewReader(strings.Join(events[at:at+100], "\n"))) }()
	if line := <-noted; !strings.HasPrefix(line, "unknown words: ") {
		t.Error(line) // of the words that the model does not have
	}
	if line := <-noted; !strings.Contains(line, dir) || !strings.Contains(line, "the events are read when the store can be written") {
		t.Error(line)
	}
	if asked, position, err := l.Ask(t.Context(), 0, []string{"3"}, nil); err != nil || position != int64(at) || len(asked) != 1 {
		t.Error(position, err)
	}
	limit(before.Cur)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	must(l.Post([]byte(strings.Join(events[at+100:], "\n"))))
	cold(t, rows, events)
	again := open(payments(stored))
	defer again.Close()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = must(now.Open(t.Context(), again, now.Options{Dir: dir}))
	defer l.Close()
	cold(t, again, events)
}

// A store of a newer version, of other tables, or in another process is an error of one line; a file that has shrunk ends Follow.
func TestStrangeStores(t *testing.T) {
	race.Skip(t)
	dir := t.TempDir()
	rows := open(payments(stored))
	defer rows.Close()
	l := must(now.Open(t.Context(), rows, now.Options{Dir: dir}))
	if _, err := now.Open(t.Context(), rows, now.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "another process has the store open") {
		t.Errorf("twice: %v", err)
	}
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines(50), "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- l.Follow(context.WithoutCancel(t.Context()), path) }()
	if err := l.Wait(t.Context(), 50); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "have been read: want the file to which lines were appended") {
		t.Errorf("a file that has shrunk: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	other := open(payments(stored - 1))
	defer other.Close()
	if _, err := now.Open(t.Context(), other, now.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "the store began with other rows") {
		t.Errorf("other tables: %v", err)
	}
	db := must(bbolt.Open(filepath.Join(dir, "now.db"), 0o600, nil))
	err := db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("meta"))
		var m map[string]any
		if err := json.Unmarshal(b.Get([]byte("meta")), &m); err != nil {
			return err
		}
		m["version"] = 99
		return b.Put([]byte("meta"), must(json.Marshal(m)))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := now.Open(t.Context(), rows, now.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "the store has version 99, want ") {
		t.Errorf("a newer version: %v", err)
	}
}
