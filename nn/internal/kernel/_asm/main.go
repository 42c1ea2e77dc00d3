// Command asm writes the assembly of package kernel for amd64 with AVX2 and FMA:
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

var files = map[string][]func(){
	"gemm":   {func() { panel(1, 12) }, func() { panel(2, 6) }},
	"fields": {rowOffsets, gatherFields, scatterFields},
	"vector": {dot, axpy, reluGrad, biasReLU, addRows, addToRows, adagradRows, rmsprop, adam, sigmoid, tanh},
}

func main() {
	name := flag.String("file", "", "what to write")
	flag.Parse()
	kernels := files[*name]
	if kernels == nil {
		log.Fatalf("asm: -file is %q, want one of %q", *name, slices.Sorted(maps.Keys(files)))
	}
	ConstraintExpr("!noasm")
	for _, kernel := range kernels {
		kernel()
	}
	Generate()
}
