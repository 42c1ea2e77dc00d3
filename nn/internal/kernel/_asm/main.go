// Command asm writes the assembly of package kernel:
//
//	go run . -file gemm -out ../gemm_amd64.s
//	go run . -file vector -out ../vector_amd64.s
//	go run . -file bernoulli -out ../bernoulli_amd64.s
package main

import (
	"flag"
	"log"

	. "github.com/mmcloughlin/avo/build"
)

func main() {
	file := flag.String("file", "", "what to write: gemm, vector or bernoulli")
	flag.Parse()
	ConstraintExpr("!noasm")
	switch *file {
	case "gemm":
		for _, s := range []simd{avx2, avx512} {
			panel(s, 1, 12)
			panel(s, 2, s.rows2)
			transpose(s)
		}
		pair(24)
		pairTN(20)
	case "vector":
		for _, s := range []simd{avx2, avx512} {
			axpy(s)
			dot(s)
			reluGrad(s)
			rmsprop(s)
			biasReLU(s)
			addBiasGrad(s)
			gatherAdd(s)
			scatterAdd(s)
		}
	case "bernoulli":
		bernoulli(avx2)
		bernoulli(avx512)
	default:
		log.Fatalf("asm: -file is %q, want gemm, vector or bernoulli", *file)
	}
	Generate()
}
