package main

import (
	"fmt"
	"strings"
)

// asm collects the text of one file for Go's assembler. That assembler lacks most vector instructions
// for floats. They are written as 32-bit words, with Arm's spelling in a comment.
type asm struct {
	out   strings.Builder
	fn    string         // name of the current function
	frame int            // bytes of its stack frame
	at    map[string]int // offsets of its parameters
}

// reg is a general register, vec a vector register.
type (
	reg int
	vec int
)

func (r reg) String() string { return fmt.Sprint("R", int(r)) }

// four is v in Go's spelling as four values of 32 bits, float as a floating-point register.
func (v vec) four() string  { return fmt.Sprintf("V%d.S4", v) }
func (v vec) float() string { return fmt.Sprint("F", int(v)) }

// emit writes an instruction of Go's assembler.
func (a *asm) emit(format string, args ...any) { fmt.Fprintf(&a.out, "\t"+format+"\n", args...) }

// word writes an instruction that Go's assembler lacks, with the registers d, n and m. arm is Arm's
// spelling, with the numbers of d, n and m as arguments 1 to 3.
func (a *asm) word(code uint32, arm string, d, n, m vec) {
	a.emit("WORD $0x%08x // %s", code|uint32(m)<<16|uint32(n)<<5|uint32(d), fmt.Sprintf(arm, int(d), int(n), int(m)))
}

func (a *asm) comment(lines ...string) {
	for _, l := range lines {
		a.emit("// %s", l)
	}
}

func (a *asm) label(name string) { fmt.Fprintf(&a.out, "%s:\n", name) }

// codes are the instructions on three vector registers that Go's assembler lacks, for registers 0, 0, 0.
var codes = map[string]uint32{"fadd": 0x4e20d400, "fmax": 0x4e20f400, "faddp": 0x6e20d400}

// op is d = n op m, on four values of 32 bits.
func (a *asm) op(name string, d, n, m vec) {
	a.word(codes[name], name+" v%[1]d.4s, v%[2]d.4s, v%[3]d.4s", d, n, m)
}

// fmla is d += n·m.
func (a *asm) fmla(d, n, m vec) { a.emit("VFMLA %s, %s, %s", m.four(), n.four(), d.four()) }

// fmlaBy is d += n·m[0].
func (a *asm) fmlaBy(d, n, m vec) {
	a.word(0x4f801000, "fmla v%[1]d.4s, v%[2]d.4s, v%[3]d.s[0]", d, n, m)
}

// bic is d = n and not m, bit by bit.
func (a *asm) bic(d, n, m vec) {
	a.word(0x4e601c00, "bic v%[1]d.16b, v%[2]d.16b, v%[3]d.16b", d, n, m)
}

// notPositive sets d to ones where n ≤ 0, and to zeros elsewhere and for NaN.
func (a *asm) notPositive(d, n vec) {
	a.word(0x6ea0d800, "fcmle v%[1]d.4s, v%[2]d.4s, #0.0", d, n, 0)
}

func (a *asm) zero(v vec) { a.emit("VMOVI $0, V%d.B16", v) }

// dup copies the first value of v to all four.
func (a *asm) dup(v vec) { a.emit("VDUP V%d.S[0], %s", v, v.four()) }

// loadPair and storePair move two consecutive registers.
func (a *asm) loadPair(v vec, p reg, off int) {
	a.emit("FLDPQ %d(%v), (%s, %s)", off, p, v.float(), (v + 1).float())
}

func (a *asm) storePair(v vec, p reg, off int) {
	a.emit("FSTPQ (%s, %s), %d(%v)", v.float(), (v + 1).float(), off, p)
}

// load and store take the kinds q (four values), d (two) and s (one). A load of fewer than four
// values sets the others to 0.
func (a *asm) load(kind byte, v vec, p reg, off int) {
	a.emit("FMOV%c %d(%v), %s", kind-'a'+'A', off, p, v.float())
}

func (a *asm) store(kind byte, v vec, p reg, off int) {
	a.emit("FMOV%c %s, %d(%v)", kind-'a'+'A', v.float(), off, p)
}

// loadAt loads one value from p+off.
func (a *asm) loadAt(v vec, p, off reg) { a.emit("FMOVS (%v)(%v), %s", p, off, v.float()) }

// loadThird and storeThird move one value between p and the third lane of v.
func (a *asm) loadThird(v vec, p reg)  { a.emit("VLD1 (%v), V%d.S[2]", p, v) }
func (a *asm) storeThird(v vec, p reg) { a.emit("VST1 V%d.S[2], (%v)", v, p) }

// Instructions on general registers. The result is the first argument, as in Arm's spelling.

func (a *asm) mov(d, n reg)    { a.emit("MOVD %v, %v", n, d) }
func (a *asm) add(d, n, m reg) { a.emit("ADD %v, %v, %v", m, n, d) }

// addShifted is d = n + m·2ᵏ.
func (a *asm) addShifted(d, n, m reg, k int) { a.emit("ADD %v<<%d, %v, %v", m, k, n, d) }

func (a *asm) addTo(d reg, k int)     { a.emit("ADD $%d, %v", k, d) }
func (a *asm) addImm(d, n reg, k int) { a.emit("ADD $%d, %v, %v", k, n, d) }
func (a *asm) zeroReg(d reg)          { a.emit("MOVD ZR, %v", d) }

// subFrom subtracts k and sets the flags.
func (a *asm) subFrom(d reg, k int) { a.emit("SUBS $%d, %v", k, d) }

func (a *asm) times4(d, n reg) { a.emit("LSL $2, %v, %v", n, d) }

// madd is d = s + n·m.
func (a *asm) madd(d, n, m, s reg) { a.emit("MADD %v, %v, %v, %v", m, s, n, d) }

// loadInt loads an int32.
func (a *asm) loadInt(d, p reg) { a.emit("MOVW (%v), %v", p, d) }

func (a *asm) compare(n, m reg)                { a.emit("CMP %v, %v", m, n) }
func (a *asm) compareTo(n reg, k int)          { a.emit("CMP $%d, %v", k, n) }
func (a *asm) jump(to string)                  { a.emit("B %s", to) }
func (a *asm) jumpIf(cond, to string)          { a.emit("B%s %s", strings.ToUpper(cond), to) }
func (a *asm) jumpUnlessZero(r reg, to string) { a.emit("CBNZ %v, %s", r, to) }

// choose is d = n if the last comparison has the condition, otherwise d = m.
func (a *asm) choose(cond string, d, n, m reg) {
	a.emit("CSEL %s, %v, %v, %v", strings.ToUpper(cond), n, m, d)
}

// jumpUnlessBit jumps if bit k of r is 0.
func (a *asm) jumpUnlessBit(r reg, k int, to string) { a.emit("TBZ $%d, %v, %s", k, r, to) }

// sizes has the bytes of the Go types of parameters, other than pointers.
var sizes = map[string]int{"int": 8, "float32": 4, "int32": 4, "uint32": 4, "bool": 1}

// function begins a function. params and result are those of its Go declaration, such as
// "n int, x *float32" and "bad bool"; result may be empty.
func (a *asm) function(name, params, result string, frame int, comments ...string) {
	a.fn, a.frame, a.at = name, frame, map[string]int{}
	size := 0
	place := func(name, kind string) {
		n := 8
		if !strings.HasPrefix(kind, "*") {
			n = sizes[kind]
		}
		size = (size + n - 1) / n * n
		a.at[name] = size
		size += n
	}
	var waiting []string // names before their type, as in "a, b int"
	for p := range strings.SplitSeq(params, ", ") {
		name, kind, found := strings.Cut(p, " ")
		waiting = append(waiting, name)
		if !found {
			continue
		}
		for _, w := range waiting {
			place(w, kind)
		}
		waiting = nil
	}
	decl := fmt.Sprintf("func %s(%s)", name, params)
	if name, kind, found := strings.Cut(result, " "); found {
		size = (size + 7) / 8 * 8
		place(name, kind)
		if decl += " (" + result + ")"; name == "ret" {
			decl = strings.TrimSuffix(decl, " ("+result+")") + " " + kind
		}
	}
	fmt.Fprintf(&a.out, "\n// %s\nTEXT ·%s(SB), NOSPLIT, $%d-%d\n", decl, name, frame, size)
	a.comment(comments...)
}

func (a *asm) param(name string, r reg) {
	a.paramAs("MOVD", name, r.String())
}

// params loads parameters, whose names are separated by spaces.
func (a *asm) params(names string, rs ...reg) {
	for i, name := range strings.Fields(names) {
		a.param(name, rs[i])
	}
}

// stride loads a parameter in values and converts it to bytes.
func (a *asm) stride(name string, r reg) {
	a.param(name, r)
	a.times4(r, r)
}

func (a *asm) paramAs(how, name, to string) {
	at, ok := a.at[name]
	if !ok {
		panic(a.fn + " has no parameter " + name)
	}
	a.emit("%s %s+%d(FP), %s", how, name, at, to)
}

// spread loads a parameter into all lanes of v.
func (a *asm) spread(name string, v vec) {
	a.paramAs("FMOVS", name, v.float())
	a.dup(v)
}

func (a *asm) ret() { a.emit("RET") }

// returns stores a result and returns from the function.
func (a *asm) returns(how, name, from string) {
	a.emit("%s %s, %s+%d(FP)", how, from, name, a.at[name])
	a.ret()
}

// table writes 32-bit constants. A function below takes their address by name.
func (a *asm) table(name string, values ...uint32) {
	a.out.WriteByte('\n')
	for i, v := range values {
		fmt.Fprintf(&a.out, "DATA %s<>+%d(SB)/4, $0x%08x\n", name, 4*i, v)
	}
	fmt.Fprintf(&a.out, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", name, 4*len(values))
}

func (a *asm) address(name string, r reg) {
	a.emit("MOVD $%s<>(SB), %v", name, r)
}

func (a *asm) String() string {
	head := "// Code generated by command: go run ./neon. DO NOT EDIT.\n\n//go:build !noasm\n\n#include \"textflag.h\"\n"
	return head + a.out.String()
}
