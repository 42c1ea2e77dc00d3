//go:build !unix && !windows

package cli

import "time"

// CPU is the processor time that the process has taken; it is not known here.
func CPU() time.Duration { return 0 }
