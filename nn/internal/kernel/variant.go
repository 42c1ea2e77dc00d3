package kernel

//go:generate go run -C _asm . -file gemm -out ../gemm_amd64.s
//go:generate go run -C _asm . -file vector -out ../vector_amd64.s
//go:generate go run -C _asm . -file fields -out ../fields_amd64.s

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
