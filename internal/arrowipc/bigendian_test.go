package arrowipc

import (
	"go/build"
	"slices"
	"testing"
)

// No program is built for a big-endian machine, and every other is.
func TestBigEndian(t *testing.T) {
	for arch, refused := range map[string]bool{
		"amd64": false, "386": false, "arm64": false, "arm": false, "riscv64": false, "loong64": false, "ppc64le": false, "mipsle": false,
		"mips64le": false, "wasm": false, "s390x": true, "ppc64": true, "mips": true, "mips64": true,
	} {
		c := build.Default
		c.GOARCH = arch
		p, err := c.ImportDir(".", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(p.GoFiles, "bigendian.go"); got != refused {
			t.Errorf("%s: refused %t, want %t", arch, got, refused)
		}
	}
}
