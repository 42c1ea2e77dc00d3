// Command neon writes the assembly of package kernel for arm64, where NEON is
// part of every processor:
//
//	go run ./neon -out ../
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
	{"gemm", []func(*asm){func(a *asm) { panel(a, 1) }, func(a *asm) { panel(a, 2) }}},
	{"vector", []func(*asm){axpy, dot, reluGrad, biasReLU}},
	{"fields", []func(*asm){gatherFields, scatterFields}},
}

// write returns the text of a file with these kernels.
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
	flag.Parse()
	if *out == "" {
		log.Fatal("neon: want -out")
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(*out, f.name+"_arm64.s"), []byte(write(f.kernels).String()), 0o644); err != nil {
			log.Fatal("neon: ", err)
		}
	}
}
