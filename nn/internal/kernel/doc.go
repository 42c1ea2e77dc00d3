// Package kernel holds the float32 loops that training and inference spend
// their time in.
//
// Every kernel is a plain Go loop that is always compiled, and most have an
// assembly sibling for AVX2 with FMA and for AVX-512, chosen once at start by
// what the processor has. Building with -tags noasm, or for another
// architecture, leaves the assembly out. The variants agree up to rounding;
// each alone gives the same bytes for the same input, every time.
package kernel
