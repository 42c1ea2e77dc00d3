//go:build unix

package field_test

import (
	"syscall"
	"time"
)

// cpuTime is the processor time of this process so far: on a machine with other
// work the clock on the wall says little.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
