//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package file

import (
	"errors"
	"os"
	"syscall"
)

// hold locks an open file. Two open files of one process exclude each other too, and the end of the process
// releases the lock. On a file system without locks it excludes no process.
func hold(f *os.File) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	if err := c.Control(func(fd uintptr) { locked = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) }); err != nil {
		return err
	}
	if errors.Is(locked, syscall.EWOULDBLOCK) {
		return ErrHeld
	}
	return nil
}
