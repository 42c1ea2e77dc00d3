//go:build !noasm

package kernel

// use switches the variant.
func use(v variant) { inUse = v }
