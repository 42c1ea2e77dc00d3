//go:build !noasm

package kernel

//go:generate go run -C _asm ./neon -out ..

// best is part of every processor, so that there is nothing to choose.
const best, inUse = neon, neon
