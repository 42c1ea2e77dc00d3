package main

import (
	"fmt"
	"strings"
)

// asm is a file of Go's assembler in the making. Of Arm's vector instructions
// that assembler knows the integer ones and few others: the rest are written as
// words, with the instruction in Arm's own spelling beside them.
type asm struct {
	out   strings.Builder
	fn    string         // the function being written
	frame int            // bytes that it keeps on the stack
	at    map[string]int // places of its parameters
}

// reg is a general register, vec a vector register.
type (
	reg int
	vec int
)

func (r reg) goes() string { return fmt.Sprint("R", int(r)) }
func (v vec) s() string    { return fmt.Sprintf("v%d.4s", v) }
func (v vec) b() string    { return fmt.Sprintf("v%d.16b", v) }
func (v vec) goS() string  { return fmt.Sprintf("V%d.S4", v) }
func (v vec) goB() string  { return fmt.Sprintf("V%d.B16", v) }
func (v vec) goF() string  { return fmt.Sprint("F", int(v)) }
func (v vec) next() vec    { return v + 1 }

// emit writes an instruction that Go's assembler knows.
func (a *asm) emit(goes string) { fmt.Fprintf(&a.out, "\t%s\n", goes) }

// word writes one that it does not know.
func (a *asm) word(code uint32, arm string) {
	fmt.Fprintf(&a.out, "\tWORD $0x%08x // %s\n", code, arm)
}

func (a *asm) comment(lines ...string) {
	for _, l := range lines {
		fmt.Fprintf(&a.out, "\t// %s\n", l)
	}
}

func (a *asm) label(name string) { fmt.Fprintf(&a.out, "%s:\n", name) }

// fill is every instruction with three vector registers that Go's assembler
// does not know: its code with the registers 0, 0, 0.
var fill = map[string]uint32{
	"fadd": 0x4e20d400, "fsub": 0x4ea0d400, "fmul": 0x6e20dc00, "fdiv": 0x6e20fc00,
	"fmax": 0x4e20f400, "fmin": 0x4ea0f400, "fcmgt": 0x6ea0e400, "faddp": 0x6e20d400,
	"mul": 0x4ea09c00, "mla": 0x4ea09400, "cmhi": 0x6ea03400, "cmhs": 0x6ea03c00,
}

// op is d = n op m, on four values of 32 bits.
func (a *asm) op(name string, d, n, m vec) {
	arm := fmt.Sprintf("%s %s, %s, %s", name, d.s(), n.s(), m.s())
	if code, ok := fill[name]; ok {
		a.word(code|uint32(m)<<16|uint32(n)<<5|uint32(d), arm)
		return
	}
	// add, sub, fmla and fmls
	a.emit(fmt.Sprintf("V%s %s, %s, %s", strings.ToUpper(name), m.goS(), n.goS(), d.goS()))
}

// bits is d = n op m, bit by bit: and, orr, eor, bit (d takes the bits of n where
// m has ones), bif (where it has zeros) or bsl (d, of ones and zeros, becomes n
// and m).
func (a *asm) bits(name string, d, n, m vec) {
	arm := fmt.Sprintf("%s %s, %s, %s", name, d.b(), n.b(), m.b())
	if name == "bic" { // n and not m
		a.word(0x4e601c00|uint32(m)<<16|uint32(n)<<5|uint32(d), arm)
		return
	}
	a.emit(fmt.Sprintf("V%s %s, %s, %s", strings.ToUpper(name), m.goB(), n.goB(), d.goB()))
}

// fmlaBy is d += n·m[0].
func (a *asm) fmlaBy(d, n, m vec) {
	a.word(0x4f801000|uint32(m)<<16|uint32(n)<<5|uint32(d), fmt.Sprintf("fmla %s, %s, v%d.s[0]", d.s(), n.s(), m))
}

// shift is d = n shifted by k bits: shl, ushr, sri (which leaves the k highest
// bits of d) or sshr.
func (a *asm) shift(name string, d, n vec, k int) {
	arm := fmt.Sprintf("%s %s, %s, #%d", name, d.s(), n.s(), k)
	if name == "sshr" {
		a.word(0x4f000400|uint32(64-k)<<16|uint32(n)<<5|uint32(d), arm)
		return
	}
	a.emit(fmt.Sprintf("V%s $%d, %s, %s", strings.ToUpper(name), k, n.goS(), d.goS()))
}

// notPositive sets d to ones where n ≤ 0, else, and for NaN, to zeros.
func (a *asm) notPositive(d, n vec) {
	a.word(0x6ea0d800|uint32(n)<<5|uint32(d), fmt.Sprintf("fcmle %s, %s, #0.0", d.s(), n.s()))
}

// highest is the highest of the four values of n, without sign, alone in d.
func (a *asm) highest(d, n vec) {
	a.word(0x6eb0a800|uint32(n)<<5|uint32(d), fmt.Sprintf("umaxv s%d, %s", d, n.s()))
}

func (a *asm) zero(v vec) { a.emit("VMOVI $0, " + v.goB()) }

// dup spreads the first value of v, or the low half of r, over all four.
func (a *asm) dup(v vec) {
	a.emit(fmt.Sprintf("VDUP V%d.S[0], %s", v, v.goS()))
}

func (a *asm) dupReg(v vec, r reg) {
	a.emit(fmt.Sprintf("VDUP %s, %s", r.goes(), v.goS()))
}

// pair is a load or store of two registers in a row.
func (a *asm) loadPair(v vec, p reg, off int) {
	a.emit(fmt.Sprintf("FLDPQ %d(%s), (%s, %s)", off, p.goes(), v.goF(), v.next().goF()))
}

func (a *asm) storePair(v vec, p reg, off int) {
	a.emit(fmt.Sprintf("FSTPQ (%s, %s), %d(%s)", v.goF(), v.next().goF(), off, p.goes()))
}

// load and store take the kinds q (four values), d (two) and s (one); a load of
// fewer fills the rest with zeros.
func (a *asm) load(kind byte, v vec, p reg, off int) {
	a.emit(fmt.Sprintf("FMOV%c %d(%s), %s", kind-'a'+'A', off, p.goes(), v.goF()))
}

func (a *asm) store(kind byte, v vec, p reg, off int) {
	a.emit(fmt.Sprintf("FMOV%c %s, %d(%s)", kind-'a'+'A', v.goF(), off, p.goes()))
}

// loadAt loads one value from p+off.
func (a *asm) loadAt(v vec, p, off reg) {
	a.emit(fmt.Sprintf("FMOVS (%s)(%s), %s", p.goes(), off.goes(), v.goF()))
}

// loadThird and storeThird move one value between p and the third place of v.
func (a *asm) loadThird(v vec, p reg) {
	a.emit(fmt.Sprintf("VLD1 (%s), V%d.S[2]", p.goes(), v))
}

func (a *asm) storeThird(v vec, p reg) {
	a.emit(fmt.Sprintf("VST1 V%d.S[2], (%s)", v, p.goes()))
}

// zip is d = trn1 or trn2 of n and m, which are four values of 32 bits (4s in
// Arm's words, S4 in Go's) or two of 64 (2d, D2).
func (a *asm) zip(name, arm, goes string, d, n, m vec) {
	a.emit(fmt.Sprintf("V%s V%d.%s, V%d.%s, V%d.%s", strings.ToUpper(name), m, goes, n, goes, d, goes))
}

// General registers. Operands are in the order of Arm: the result first.

func (a *asm) mov(d, n reg) { a.emit("MOVD " + n.goes() + ", " + d.goes()) }

func (a *asm) add(d, n, m reg) {
	a.emit(fmt.Sprintf("ADD %s, %s, %s", m.goes(), n.goes(), d.goes()))
}

// addShifted is d = n + m·2ᵏ.
func (a *asm) addShifted(d, n, m reg, k int) {
	a.emit(fmt.Sprintf("ADD %s<<%d, %s, %s", m.goes(), k, n.goes(), d.goes()))
}

func (a *asm) addTo(d reg, k int) {
	a.emit(fmt.Sprintf("ADD $%d, %s", k, d.goes()))
}

func (a *asm) addImm(d, n reg, k int) {
	a.emit(fmt.Sprintf("ADD $%d, %s, %s", k, n.goes(), d.goes()))
}

func (a *asm) zeroReg(d reg) { a.emit("MOVD ZR, " + d.goes()) }

// subFrom also sets the flags.
func (a *asm) subFrom(d reg, k int) {
	a.emit(fmt.Sprintf("SUBS $%d, %s", k, d.goes()))
}

func (a *asm) times4(d, n reg) {
	a.emit(fmt.Sprintf("LSL $2, %s, %s", n.goes(), d.goes()))
}

// madd is d = s + n·m.
func (a *asm) madd(d, n, m, s reg) {
	a.emit(fmt.Sprintf("MADD %s, %s, %s, %s", m.goes(), s.goes(), n.goes(), d.goes()))
}

// loadInt loads an int32.
func (a *asm) loadInt(d, p reg) {
	a.emit(fmt.Sprintf("MOVW (%s), %s", p.goes(), d.goes()))
}

func (a *asm) compare(n, m reg) {
	a.emit(fmt.Sprintf("CMP %s, %s", m.goes(), n.goes()))
}

func (a *asm) compareTo(n reg, k int) {
	a.emit(fmt.Sprintf("CMP $%d, %s", k, n.goes()))
}

// choose is d = n where the condition of the last comparison holds, else m.
func (a *asm) choose(cond string, d, n, m reg) {
	a.emit(fmt.Sprintf("CSEL %s, %s, %s, %s", strings.ToUpper(cond), n.goes(), m.goes(), d.goes()))
}

// Jumps.

func (a *asm) jump(to string) { a.emit("B " + to) }

func (a *asm) jumpIf(cond, to string) {
	a.emit("B" + strings.ToUpper(cond) + " " + to)
}

func (a *asm) jumpIfZero(r reg, to string) {
	a.emit("CBZ " + r.goes() + ", " + to)
}

func (a *asm) jumpUnlessZero(r reg, to string) {
	a.emit("CBNZ " + r.goes() + ", " + to)
}

// jumpUnlessBit jumps where bit k of r is 0.
func (a *asm) jumpUnlessBit(r reg, k int, to string) {
	a.emit(fmt.Sprintf("TBZ $%d, %s, %s", k, r.goes(), to))
}

// Functions.

var sizes = map[string]int{"int": 8, "float32": 4, "int32": 4, "uint32": 4, "bool": 1}

// function begins one. params is as in its Go declaration, "n int, x *float32",
// and result such as "bad bool" or empty.
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
	var waiting []string // a, b int
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
	a.paramAs("MOVD", name, r.goes())
}

func (a *asm) paramAs(how, name, to string) {
	at, ok := a.at[name]
	if !ok {
		panic(a.fn + " has no parameter " + name)
	}
	a.emit(fmt.Sprintf("%s %s+%d(FP), %s", how, name, at, to))
}

// spread loads a parameter into all of v.
func (a *asm) spread(name string, v vec) {
	a.paramAs("FMOVS", name, v.goF())
	a.dup(v)
}

func (a *asm) ret() { a.emit("RET") }

// returns stores a result.
func (a *asm) returns(how, name, from string) {
	a.emit(fmt.Sprintf("%s %s, %s+%d(FP)", how, from, name, a.at[name]))
	a.ret()
}

// table writes constants of 32 bits, of which the function that is to come can
// take the address.
func (a *asm) table(name string, values ...uint32) {
	a.out.WriteByte('\n')
	for i, v := range values {
		fmt.Fprintf(&a.out, "DATA %s<>+%d(SB)/4, $0x%08x\n", name, 4*i, v)
	}
	fmt.Fprintf(&a.out, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", name, 4*len(values))
}

func (a *asm) address(name string, r reg) {
	a.emit(fmt.Sprintf("MOVD $%s<>(SB), %s", name, r.goes()))
}

func (a *asm) String() string {
	head := "// Code generated by command: go run ./neon. DO NOT EDIT.\n\n//go:build !noasm\n\n#include \"textflag.h\"\n"
	return head + a.out.String()
}
