//go:build !noasm

package kernel

//go:generate go run -C _asm ./neon -out ..

// Every arm64 processor has NEON, so the variant is a constant.
const best, inUse = neon, neon
