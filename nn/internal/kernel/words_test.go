package kernel

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Another assembler makes the same words of the instructions that kernel_arm64.s has as numbers.
func TestWords(t *testing.T) {
	text, err := os.ReadFile("kernel_arm64.s")
	if err != nil {
		t.Fatal(err)
	}
	macro := regexp.MustCompile(`(?m)^#define \w+\([^)]*\)\s+WORD \$\(0x(\w+)(.*)\) +// (.*)$`)
	field := regexp.MustCompile(`\| \((\w)\)(?:<<(\d+))?`)
	macros := macro.FindAllStringSubmatch(string(text), -1)
	if want := strings.Count(string(text), "WORD "); len(macros) == 0 || len(macros) != want {
		t.Fatalf("%d macros are understood of %d", len(macros), want)
	}
	var codes []uint32
	var arm []string
	for _, m := range macros {
		base, err := strconv.ParseUint(m[1], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		for _, registers := range []map[string]uint32{{"d": 1, "n": 2, "m": 3}, {"d": 26, "n": 31, "m": 17}} {
			code, line := uint32(base), m[3]
			for _, f := range field.FindAllStringSubmatch(m[2], -1) {
				shift, _ := strconv.Atoi(f[2]) // none is 0
				code |= registers[f[1]] << shift
			}
			for name, r := range registers {
				line = strings.ReplaceAll(line, "{"+name+"}", strconv.Itoa(int(r)))
			}
			codes, arm = append(codes, code), append(arm, line)
		}
	}
	object := filepath.Join(t.TempDir(), "o")
	as, err := exec.LookPath("aarch64-linux-gnu-as")
	if err != nil {
		t.Skip("aarch64-linux-gnu-as (Debian: binutils-aarch64-linux-gnu) is not here")
	}
	cmd := exec.Command(as, "-o", object)
	cmd.Stdin = strings.NewReader(strings.Join(arm, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	f, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	words, err := f.Section(".text").Data()
	if err != nil || len(words) != 4*len(codes) {
		t.Fatalf("%d bytes for %d instructions, %v", len(words), len(codes), err)
	}
	for i, code := range codes {
		if want := binary.LittleEndian.Uint32(words[4*i:]); code != want {
			t.Errorf("%s is 0x%08x, want 0x%08x", arm[i], code, want)
		}
	}
}
