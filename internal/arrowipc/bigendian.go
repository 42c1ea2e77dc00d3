//go:build armbe || arm64be || m68k || mips || mips64 || mips64p32 || ppc || ppc64 || s390 || s390x || shbe || sparc || sparc64

package arrowipc

// Columns of files are used in place, and files are little-endian: on a
// machine of the other order their numbers would be read wrong without an error,
// so there is no build for it.
var _ = sanflow_needs_a_little_endian_machine
