package clitest

import "syscall"

const canLimit = true

// limitMemory bounds what this process may map.
func limitMemory(bytes uint64) {
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		panic(err)
	}
}
