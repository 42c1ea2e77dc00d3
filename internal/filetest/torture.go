package filetest

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Outcome is a directory after a failure.
type Outcome struct {
	// Dir is the directory as the next process finds it.
	Dir string
	// What describes the failure in messages.
	What string
	// Ops is the number of completed operations that change the disk.
	Ops int
	// Done reports that the write succeeded, so its result must exist.
	Done bool
}

// Torture runs write in new directories, each filled by prepare. Once for each operation, the operation
// fails, or all operations from it on fail, or the process is killed or loses power after it. check is called
// with each outcome. It may write to the directory, as the next run would.
func Torture(t *testing.T, prepare func(dir string), write func(d *Disk, dir string) error, check func(t *testing.T, o Outcome)) {
	t.Helper()
	begin := func() (*Disk, string) {
		dir := t.TempDir()
		prepare(dir)
		return New(t, dir), dir
	}
	d, dir := begin()
	if err := write(d, dir); err != nil {
		t.Fatal(err)
	}
	check(t, Outcome{dir, "nothing", d.Len(), true})
	ops, count := d.Ops(), d.Count()
	var list strings.Builder
	for i, op := range ops {
		fmt.Fprintf(&list, "%3d %s\n", i, op)
	}
	crashes(t, d, check)

	for n := range count {
		for i, f := range []struct {
			what string
			fail func(i int, op Op) error
		}{
			{"fails", func(i int, _ Op) error { return failIf(i == n, syscall.EIO) }},
			{"and all later ones fail", func(i int, _ Op) error { return failIf(i >= n, syscall.ENOSPC) }},
		} {
			d, dir := begin()
			failed := ""
			d.Fail = func(i int, op Op) error {
				err := f.fail(i, op)
				if err != nil && failed == "" {
					failed = op.String()
				}
				return err
			}
			err := write(d, dir)
			what := fmt.Sprintf("operation %d, %s, %s", n, failed, f.what)
			check(t, Outcome{dir, what, d.Len(), err == nil})
			if i > 0 { // a crash covers a single failure, except for its last operations
				lost := d.Crash(t, d.Len(), All, 0)
				check(t, Outcome{lost, what + ", then power is lost", d.Len(), err == nil})
			}
		}
	}
	if t.Failed() {
		t.Logf("without failures:\n%s", &list)
	}
}

func failIf(is bool, err error) error {
	if is {
		return err
	}
	return nil
}

// crashes checks the outcomes of a crash after each operation.
func crashes(t *testing.T, d *Disk, check func(t *testing.T, o Outcome)) {
	t.Helper()
	seeds := uint64(3)
	if os.Getenv("SANFLOW_LONG") != "" {
		seeds = 100
	}
	for n := range d.Len() + 1 {
		for seed := range seeds {
			loss, what := Some, "power is lost"
			switch seed {
			case 0:
				loss, what = None, "killed"
			case 1:
				loss = All
			}
			what = fmt.Sprintf("%s after %d operations (%d)", what, n, seed)
			check(t, Outcome{d.Crash(t, n, loss, seed), what, n, n == d.Len()})
		}
	}
}
