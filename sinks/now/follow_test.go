package now_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sanflow/sanflow/sinks/now"
)

// A file that is named in another way goes on where it was read; one that takes its place, at work or between two processes, is read from its
// beginning, behind the last line of the one before, and told.
func TestFollowRotated(t *testing.T) {
	dir := t.TempDir()
	events := lines(120)
	path, link := filepath.Join(dir, "events.jsonl"), filepath.Join(dir, "link.jsonl")
	write := func(path, text string) {
		t.Helper()
		f := must(os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	part := func(from, to int) string { return strings.Join(events[from:to], "\n") + "\n" }
	var mu sync.Mutex
	var notes []string
	follow := func(name string, want int64, while func(l *now.Live)) {
		t.Helper()
		rows := open(payments(stored))
		l := must(now.Open(t.Context(), rows, now.Options{Dir: filepath.Join(dir, "store"), Note: func(line string) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(line, "another file") { // not of unknown words
				notes = append(notes, line)
			}
		}}))
		ctx, stop := contextWithCancel(t)
		ended := make(chan error)
		go func() { ended <- l.Follow(ctx, name) }()
		if while != nil {
			while(l)
		}
		if err := l.Wait(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		time.Sleep(150 * time.Millisecond) // nothing more comes
		if at := l.Position(); at != want {
			t.Errorf("%s: position %d, want %d", name, at, want)
		}
		stop()
		if err := <-ended; !errors.Is(err, ctx.Err()) {
			t.Error(err)
		}
		cold(t, rows, events[:want])
		if err := errors.Join(l.Close(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	write(path, part(0, 20))
	follow(path, 20, nil)
	if err := os.Symlink(path, link); err != nil {
		t.Skip("no symbolic links")
	}
	for _, name := range []string{dir + "/./events.jsonl", link} {
		follow(name, 20, nil)
	}
	t.Chdir(dir)
	follow("events.jsonl", 20, nil)
	if len(notes) != 0 {
		t.Errorf("%q", notes)
	}
	// At work: lines behind the move, and the last one without an end, are read before the new file.
	follow(path, 60, func(l *now.Live) {
		write(path, part(20, 25))
		if err := l.Wait(t.Context(), 25); err != nil { // it has the file open
			t.Error(err)
		}
		move(path, path+".1")
		write(path+".1", part(25, 30)+strings.TrimSuffix(part(30, 31), "\n"))
		write(path, part(31, 60))
	})
	// Between two processes, by a longer file.
	move(path, path+".2")
	write(path, part(60, 110))
	follow(path, 110, nil)
	// Of no length at first.
	move(path, path+".3")
	write(path, "")
	follow(path, 120, func(l *now.Live) { write(path, part(110, 120)) })
	if len(notes) != 3 || !strings.Contains(notes[0], "events.jsonl is another file than the one that was read: it is read from its beginning") {
		t.Errorf("%q", notes)
	}
}
