package kernel

// variant is an implementation of the kernels.
type variant int

const (
	generic variant = iota // plain Go loops
	avx2                   // AVX2 and FMA
	neon                   // NEON, which every arm64 has
)

func (v variant) String() string {
	return [...]string{"generic", "avx2", "neon"}[v]
}

// Variant names the implementation in use.
func Variant() string { return inUse.String() }
