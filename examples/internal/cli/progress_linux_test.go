package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asError makes a file standard error during a test.
func asError(t *testing.T, f *os.File) {
	old := os.Stderr
	os.Stderr = f
	t.Cleanup(func() { os.Stderr = old })
}

// On a terminal a bar of unknown length draws nothing behind Done, and a stage ends the bar of the stage
// before.
func TestBarEnds(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there is no /dev/ptmx: ", err)
	}
	defer master.Close()
	unlock := 0
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, unlock)
	}
	if err != nil {
		t.Skip(err)
	}
	slave, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer slave.Close()
	asError(t, slave)
	text := make(chan string)
	go func() {
		var all strings.Builder
		b := make([]byte, 4096)
		for !strings.Contains(all.String(), "REPORT ENDS") {
			n, err := master.Read(b)
			if all.Write(b[:n]); err != nil {
				break
			}
		}
		text <- all.String()
	}()
	Stages("reading a file", 1, -1)
	time.Sleep(150 * time.Millisecond) // of the throttle of the bar
	Stages("reading a file", 2, -1)
	Stages("learning", 1, 10)
	time.Sleep(150 * time.Millisecond)
	Stages("learning", 2, 10)
	Stages("", 0, 0)
	fmt.Fprint(slave, "REPORT BEGINS")
	time.Sleep(400 * time.Millisecond)
	fmt.Fprint(slave, "REPORT ENDS")
	got := <-text
	before, after, _ := strings.Cut(got, "REPORT BEGINS")
	if after != "REPORT ENDS" {
		t.Errorf("drawn behind the end: %q", after)
	}
	if !strings.Contains(before, "reading a file") || !strings.Contains(before, "learning") || strings.LastIndex(before, "reading a file") > strings.Index(before, "learning") {
		t.Errorf("bars: %q", before)
	}
}

// Without a terminal a bar is a line now and then, and none behind Done.
func TestLines(t *testing.T) {
	defer func(every time.Duration) { lineEvery = every }(lineEvery)
	lineEvery = 20 * time.Millisecond
	f, err := os.Create(filepath.Join(t.TempDir(), "err"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	asError(t, f)
	known, unknown := NewProgress("learning", 10), NewProgress("reading", -1)
	known.Set(3)
	time.Sleep(110 * time.Millisecond)
	known.Done()
	unknown.Done()
	read := func() string {
		b, err := os.ReadFile(f.Name())
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		return string(b)
	}
	text := read()
	time.Sleep(60 * time.Millisecond)
	if n := strings.Count(text, "progress: learning: 3 of 10, 0 s\n"); n < 2 || n > 5 || !strings.Contains(text, "progress: reading: 0, 0 s\n") || read() != text {
		t.Errorf("%q, then %q", text, read())
	}
}
