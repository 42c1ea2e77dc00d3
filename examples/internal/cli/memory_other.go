//go:build !unix

package cli

// PeakRSS is the largest resident memory of the process in bytes; 0 if the system does not report it.
func PeakRSS() int64 { return 0 }
