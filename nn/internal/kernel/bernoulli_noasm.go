//go:build (!amd64 && !arm64) || noasm

package kernel

func bernoulli(dst, p []float32, s *[4][lanes]uint32) { bernoulliGeneric(dst, p, s) }
