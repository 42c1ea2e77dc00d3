//go:build unix

package cli

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// PeakRSS is the largest resident memory of the process in bytes; 0 if the system does not report it.
func PeakRSS() int64 {
	// getrusage of Linux includes the memory before exec, so a small command would have the memory of a
	// large parent.
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(status)) {
			if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				if kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64); err == nil {
					return kb << 10
				}
			}
		}
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss) // bytes there, kilobytes elsewhere
	}
	return int64(u.Maxrss) << 10
}

// CPU is the processor time of the process, of all threads; 0 if the system does not report it.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
