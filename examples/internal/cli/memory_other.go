//go:build !unix

package cli

// PeakRSS is the most memory, in bytes, that the process has had resident; 0
// where the system does not tell.
func PeakRSS() int64 { return 0 }
