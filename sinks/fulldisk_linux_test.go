package sinks_test

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The disk is full: the system refuses to let a file grow.
func TestFullDisk(t *testing.T) {
	// The limit is one of the whole process, whose test log must go on growing.
	if os.Getenv("FULL_DISK") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$")
		cmd.Env = append(os.Environ(), "FULL_DISK=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Skip(err)
	}
	for name, open := range files {
		dir := t.TempDir()
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1000, Max: old.Max}); err != nil {
			t.Skip(err)
		}
		one := run(open(filepath.Join(dir, "a.x"), "", nil), nil)
		many := run(open("", filepath.Join(dir, "a"), nil), nil)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{one, many} {
			if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "cannot write "+dir) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want one line that names the file", name, err)
			}
		}
		if left := listing(t, dir); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
}
