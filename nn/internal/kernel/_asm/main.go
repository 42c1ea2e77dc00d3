// Command asm writes the assembly of package kernel:
//
//	go run . -file gemm -out ../gemm_amd64.s
//
// and so for each name in files.
package main

import (
	"flag"
	"log"
	"maps"
	"slices"

	. "github.com/mmcloughlin/avo/build"
)

var files = map[string]func(){
	"gemm": func() {
		for _, s := range []simd{avx2, avx512} {
			panel(s, 1, 12)
			panel(s, 2, s.rows2)
			transpose(s)
		}
		pair(24)
		pairTN(20)
	},
	"fields": func() {
		rowOffsets()
		forBoth(gatherFields, scatterFields)()
	},
	"vector": func() {
		forBoth(dot)()
		for _, kernel := range []func(){axpy, reluGrad, biasReLU, addBiasGrad, addRows, addToRows, adagradRows,
			rmsprop, adam, exp, sigmoid, tanh, bernoulli} {
			kernel()
		}
	},
}

func forBoth(kernels ...func(simd)) func() {
	return func() {
		for _, s := range []simd{avx2, avx512} {
			for _, kernel := range kernels {
				kernel(s)
			}
		}
	}
}

func main() {
	name := flag.String("file", "", "what to write")
	flag.Parse()
	write := files[*name]
	if write == nil {
		log.Fatalf("asm: -file is %q, want one of %q", *name, slices.Sorted(maps.Keys(files)))
	}
	ConstraintExpr("!noasm")
	write()
	Generate()
}
