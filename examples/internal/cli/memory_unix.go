//go:build unix

package cli

import (
	"runtime"
	"syscall"
)

// PeakRSS is the most memory, in bytes, that the process has had resident; 0
// where the system does not tell.
func PeakRSS() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss) // bytes there, kilobytes elsewhere
	}
	return int64(u.Maxrss) << 10
}
