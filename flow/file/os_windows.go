package file

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// movesOpen means that an open file can be renamed and removed. Otherwise another run can lock a file between
// its Close and its Rename, and both fail.
const movesOpen = false

// syncDir does nothing, because Windows cannot sync a directory. After a loss of power a file can have its
// old name or content.
func syncDir(string) error { return nil }

// hold locks one byte far behind the end, so that others can read.
func hold(f *os.File) error {
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrHeld
	}
	return err
}
