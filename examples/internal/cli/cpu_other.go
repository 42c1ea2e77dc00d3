//go:build !unix && !windows

package cli

import "time"

// CPU is the processor time of the process. This system does not report it.
func CPU() time.Duration { return 0 }
