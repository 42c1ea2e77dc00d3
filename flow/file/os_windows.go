package file

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// movesOpen tells that an open file cannot be renamed or removed: between its
// Close and its new name another run may take it, and both fail.
const movesOpen = false

// syncDir does nothing: Windows has no way to bring a directory to disk. After a
// loss of power a file may have its old name or content.
func syncDir(string) error { return nil }

// hold takes a lock on one byte far behind the end, so that reading goes on.
func hold(f *os.File) error {
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrHeld
	}
	return err
}
