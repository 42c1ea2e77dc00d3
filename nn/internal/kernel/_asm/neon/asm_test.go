package main

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What is in the package is what this command writes.
func TestGenerated(t *testing.T) {
	for _, f := range files {
		got, err := os.ReadFile(filepath.Join("../..", f.name+"_arm64.s"))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != write(f.kernels).String() {
			t.Errorf("%s_arm64.s is not what is generated: go generate ./nn/internal/kernel", f.name)
		}
	}
}

var wordLine = regexp.MustCompile(`^\tWORD \$0x([0-9a-f]{8}) // (.*)$`)

// words are the instructions written as numbers, each once, with what they say
// they are.
func words(t *testing.T) (codes []uint32, arm []string) {
	seen := map[string]bool{}
	for _, f := range files {
		for s := bufio.NewScanner(strings.NewReader(write(f.kernels).String())); s.Scan(); {
			if m := wordLine.FindStringSubmatch(s.Text()); m != nil && !seen[m[0]] {
				var code uint32
				if _, err := fmt.Sscanf(m[1], "%x", &code); err != nil {
					t.Fatal(err)
				}
				seen[m[0]], codes, arm = true, append(codes, code), append(arm, m[2])
			} else if m == nil && strings.Contains(s.Text(), "WORD") {
				t.Fatalf("%q is not understood", s.Text())
			}
		}
	}
	return codes, arm
}

// Another assembler makes the same numbers of the same words.
func TestWords(t *testing.T) {
	codes, arm := words(t)
	if len(codes) < 50 {
		t.Fatalf("%d instructions, want dozens", len(codes))
	}
	object := filepath.Join(t.TempDir(), "o")
	var cmd *exec.Cmd
	if path, err := exec.LookPath("aarch64-linux-gnu-as"); err == nil {
		cmd = exec.Command(path, "-o", object)
	} else if path, err := exec.LookPath("llvm-mc"); err == nil {
		cmd = exec.Command(path, "-triple=aarch64", "-filetype=obj", "-o", object)
	} else {
		t.Skip("neither aarch64-linux-gnu-as (Debian: binutils-aarch64-linux-gnu) nor llvm-mc (llvm) is here")
	}
	cmd.Stdin = strings.NewReader(strings.Join(arm, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	f, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := f.Section(".text").Data()
	if err != nil || len(text) != 4*len(codes) {
		t.Fatalf("%d bytes for %d instructions, %v", len(text), len(codes), err)
	}
	for i, code := range codes {
		if want := binary.LittleEndian.Uint32(text[4*i:]); code != want {
			t.Errorf("%s is 0x%08x, want 0x%08x", arm[i], code, want)
		}
	}
	t.Logf("%d instructions, by %s", len(codes), filepath.Base(cmd.Path))
}
