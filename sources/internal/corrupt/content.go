package corrupt

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Class says what depends on a byte of a file.
type Class int

const (
	// Structure is where things are and how many there are, which a file says
	// twice: damage is refused, or makes no difference at all.
	Structure Class = iota
	// Once are names, types and notes that are nowhere else: damage is refused,
	// or leaves the number of rows.
	Once
	// Value are numbers, and lengths of lists: damage is refused, or leaves
	// the number of rows and the schema. No format without checksums sees more.
	Value
)

// Span is a part of a file.
type Span struct {
	At, End int
	Class   Class
}

// Content is what was read.
type Content struct {
	Schema string
	Rows   []string
}

// Long reports whether there is time: SANFLOW_LONG is set.
func Long() bool { return os.Getenv("SANFLOW_LONG") != "" }

// Same damages a file and compares what is read with what was in it: 10 000
// times in all files together if there is time, otherwise 500 times. Bytes outside of spans
// are Structure. If insert is set, pieces are cut out, moved and truncated
// too, which has to be refused, or make no difference.
func Same(t *testing.T, file []byte, files int, spans []Span, most uint64, insert bool, read func([]byte) (Content, error)) {
	t.Helper()
	want, err := read(file)
	if err != nil || len(want.Rows) == 0 {
		t.Fatal(len(want.Rows), err)
	}
	class := make([]Class, len(file))
	for _, s := range spans {
		for i := s.At; i < s.End; i++ {
			class[i] = s.Class
		}
	}
	n := 500/files + 1
	if Long() {
		n = 10_000/files + 1
	}
	rng := rand.New(rand.NewPCG(uint64(len(file)), 2))
	var tried, refused, same [3]int
	for i := range n {
		bad, of := inPlace(rng, file, class)
		if insert && i%4 == 3 {
			if bad, of = Damage(rng, file), Structure; len(bad) == len(file) {
				of = touched(file, bad, class)
			}
		}
		tried[of]++
		got, err := guarded(t, bad, most, read)
		switch {
		case err != nil:
			refused[of]++
		case got.Schema == want.Schema && slices.Equal(got.Rows, want.Rows):
			same[of]++
		case of == Structure || len(got.Rows) != len(want.Rows) || of == Value && got.Schema != want.Schema:
			t.Errorf("damage %d of class %d at %v: %d rows, want %d, and no error: %s", i, of, changes(file, bad), len(got.Rows), len(want.Rows), first(got, want))
		}
	}
	t.Logf("tried %v, refused %v, no difference %v (structure, said once, values)", tried, refused, same)
}

// guarded reads, and checks the time and the memory that this takes, and that an error has one line.
func guarded(t *testing.T, b []byte, most uint64, read func([]byte) (Content, error)) (Content, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	got, err := read(b)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if took > patience {
		t.Errorf("it took %v: %v", took, err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d bytes were allocated, want at most %d: %v", n, most, err)
	}
	if err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %v", err)
	}
	return got, err
}

// inPlace changes some bytes of one class, and says which that was.
func inPlace(rng *rand.Rand, file []byte, class []Class) ([]byte, Class) {
	want := Class(rng.IntN(3))
	for {
		b := bytes.Clone(file)
		at := rng.IntN(len(b) - 8)
		for tries := 0; class[at] != want && tries < 1000; tries++ {
			at = rng.IntN(len(b) - 8)
		}
		switch rng.IntN(5) {
		case 0:
			b[at] ^= 1 << rng.IntN(8)
		case 1:
			b[at] = byte(rng.Uint32())
		case 2:
			binary.LittleEndian.PutUint32(b[at&^3:], extremes[rng.IntN(len(extremes))])
		case 3:
			binary.LittleEndian.PutUint64(b[at&^7:], uint64(int64(int32(extremes[rng.IntN(len(extremes))]))))
		case 4:
			clear(b[at:min(at+1+rng.IntN(64), len(b))])
		}
		if !bytes.Equal(b, file) {
			return b, touched(file, b, class)
		}
	}
}

// touched is the highest class of the bytes that differ.
func touched(a, b []byte, class []Class) (c Class) {
	for i := range a {
		if a[i] != b[i] {
			c = max(c, class[i])
		}
	}
	return c
}

func changes(a, b []byte) (at []int) {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] && len(at) < 8 {
			at = append(at, i)
		}
	}
	return at
}

// first is the first difference.
func first(got, want Content) string {
	if got.Schema != want.Schema {
		return got.Schema + ", want " + want.Schema
	}
	for i := range min(len(got.Rows), len(want.Rows)) {
		if got.Rows[i] != want.Rows[i] {
			return got.Rows[i] + ", want " + want.Rows[i]
		}
	}
	return "the number of rows"
}
