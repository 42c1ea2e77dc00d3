//go:build armbe || arm64be || m68k || mips || mips64 || mips64p32 || ppc || ppc64 || s390 || s390x || shbe || sparc || sparc64

package arrowipc

// Columns of little-endian files are used in place. A big-endian machine would read wrong numbers
// without an error, so the package does not compile there.
var _ = sanflow_needs_a_little_endian_machine
