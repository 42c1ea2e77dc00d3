//go:build !unix

package field_test

import "time"

var begin = time.Now()

// cpuTime is the time on the wall where that of the processor is not to be had.
func cpuTime() time.Duration { return time.Since(begin) }
