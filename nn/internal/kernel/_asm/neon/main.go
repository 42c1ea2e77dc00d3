// Command neon writes the assembly of package kernel for arm64, where NEON is
// part of every processor:
//
//	go run ./neon -out ../
//
// and with -mca it has llvm-mca estimate the cycles that the loops take.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
)

var files = []struct {
	name    string
	kernels []func(*asm)
}{
	{"gemm", []func(*asm){func(a *asm) { panel(a, 1) }, func(a *asm) { panel(a, 2) }, transpose}},
	{"vector", []func(*asm){axpy, dot, reluGrad, biasReLU, addBiasGrad, gatherAdd, scatterAdd}},
	{"fields", []func(*asm){rowOffsets, gatherFields, scatterFields}},
}

// write makes the file of these kernels.
func write(kernels []func(*asm)) *asm {
	a := new(asm)
	for _, kernel := range kernels {
		kernel(a)
	}
	return a
}

func main() {
	log.SetFlags(0)
	out := flag.String("out", "", "the directory to write to")
	mca := flag.String("mca", "", "the llvm-mca to ask, as llvm-mca-19")
	flag.Parse()
	if *out == "" && *mca == "" {
		log.Fatal("neon: want -out or -mca")
	}
	for _, f := range files {
		a := write(f.kernels)
		if *out != "" {
			if err := os.WriteFile(filepath.Join(*out, f.name+"_arm64.s"), []byte(a.String()), 0o644); err != nil {
				log.Fatal("neon: ", err)
			}
		}
		if *mca != "" {
			if err := estimate(os.Stdout, *mca, a.loops); err != nil {
				log.Fatal("neon: ", err)
			}
		}
	}
}
