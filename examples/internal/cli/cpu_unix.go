//go:build unix

package cli

import (
	"syscall"
	"time"
)

// CPU is the processor time that the process has taken, of all threads; 0 where
// the system does not tell.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
