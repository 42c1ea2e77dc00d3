//go:build !amd64 || noasm

package kernel

// use does nothing where there is one variant.
func use(variant) {}
