package sources_test

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

// patience is how long a reader may take for a damaged file on a machine that is busy;
// it takes milliseconds, or hangs.
const patience = time.Minute

// damageTimes is how often to damage each of so many files: 500 times in all, or 10 000
// times if SANFLOW_LONG is set.
func damageTimes(files int) int {
	if longTests() {
		return 10_000/files + 1
	}
	return 500/files + 1
}

// damageRun damages a file n times, in the ways of damage, and reads it. The reader
// must come to an end, within patience and without allocating more than most
// bytes: with an error of one line, or, where the damage makes no difference to
// the rules, without.
func damageRun(t *testing.T, file []byte, n int, most uint64, read func([]byte) error) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(len(file)), 1))
	refused := 0
	for range n {
		if _, err := guardedRead(t, damage(rng, file), most, func(b []byte) (fileContent, error) { return fileContent{}, read(b) }); err != nil {
			refused++
		}
	}
	if refused < n/2 {
		t.Errorf("%d of %d damaged files were refused", refused, n)
	}
	t.Logf("%d of %d damaged files were refused", refused, n)
}

// damage returns a copy of a file with bits flipped, numbers replaced by
// extreme ones, pieces moved, cut out or zeroed, or its end cut off.
func damage(rng *rand.Rand, file []byte) []byte {
	b := bytes.Clone(file)
	for range 1 + rng.IntN(3) {
		if len(b) < 16 {
			return b
		}
		// The beginning and the end, where the metadata is, more often.
		at := rng.IntN(len(b) - 8)
		switch rng.IntN(4) {
		case 0:
			at = rng.IntN(min(len(b)-8, 1000))
		case 1:
			at = len(b) - 9 - rng.IntN(min(len(b)-8, 2000))
		}
		at = max(at, 0)
		n := min(1+rng.IntN(64), len(b)-at)
		switch rng.IntN(8) {
		case 0:
			b[at] ^= 1 << rng.IntN(8)
		case 1:
			b[at] = byte(rng.Uint32())
		case 2:
			binary.LittleEndian.PutUint32(b[at:], extremeNumbers[rng.IntN(len(extremeNumbers))])
		case 3:
			binary.LittleEndian.PutUint64(b[at:], uint64(int64(int32(extremeNumbers[rng.IntN(len(extremeNumbers))])))<<rng.IntN(32))
		case 4:
			clear(b[at : at+n])
		case 5:
			b = append(b[:at], b[at+n:]...)
		case 6:
			copy(b[rng.IntN(len(b)-n+1):], bytes.Clone(b[at:at+n]))
		case 7:
			b = b[:at]
		}
	}
	return b
}

var extremeNumbers = []uint32{0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x10000, 0x7ffffff8, 0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff}

// byteClass says what depends on a byte of a file.
type byteClass int

const (
	// ofStructure is where things are and how many there are, which a file says
	// twice: damage is refused, or makes no difference at all.
	ofStructure byteClass = iota
	// saidOnce are names, types and notes that are nowhere else: damage is refused,
	// or leaves the number of rows.
	saidOnce
	// ofValue are numbers, and lengths of lists: damage is refused, or leaves
	// the number of rows and the schema. No format without checksums sees more.
	ofValue
)

// classSpan is a part of a file.
type classSpan struct {
	at, end int
	class   byteClass
}

// fileContent is what was read.
type fileContent struct {
	schema string
	rows   []string
}

// longTests reports whether there is time: SANFLOW_LONG is set.
func longTests() bool { return os.Getenv("SANFLOW_LONG") != "" }

// damageSame damages a file and compares what is read with what was in it: 10 000
// times in all files together if there is time, otherwise 500 times. Bytes outside of spans
// are ofStructure. If insert is set, pieces are cut out, moved and truncated
// too, which has to be refused, or make no difference.
func damageSame(t *testing.T, file []byte, files int, spans []classSpan, most uint64, insert bool, read func([]byte) (fileContent, error)) {
	t.Helper()
	want, err := read(file)
	if err != nil || len(want.rows) == 0 {
		t.Fatal(len(want.rows), err)
	}
	class := make([]byteClass, len(file))
	for _, s := range spans {
		for i := s.at; i < s.end; i++ {
			class[i] = s.class
		}
	}
	n := damageTimes(files)
	rng := rand.New(rand.NewPCG(uint64(len(file)), 2))
	var tried, refused, same [3]int
	for i := range n {
		bad, of := damageInPlace(rng, file, class)
		if insert && i%4 == 3 {
			if bad, of = damage(rng, file), ofStructure; len(bad) == len(file) {
				of = touchedClass(file, bad, class)
			}
		}
		tried[of]++
		got, err := guardedRead(t, bad, most, read)
		switch {
		case err != nil:
			refused[of]++
		case got.schema == want.schema && slices.Equal(got.rows, want.rows):
			same[of]++
		case of == ofStructure || len(got.rows) != len(want.rows) || of == ofValue && got.schema != want.schema:
			t.Errorf("damage %d of class %d at %v: %d rows, want %d, and no error: %s", i, of, changedAt(file, bad), len(got.rows), len(want.rows), firstDifference(got, want))
		}
	}
	t.Logf("tried %v, refused %v, no difference %v (structure, said once, values)", tried, refused, same)
}

// guardedRead reads, and checks the time and the memory that this takes, and that an error has one line.
func guardedRead(t *testing.T, b []byte, most uint64, read func([]byte) (fileContent, error)) (fileContent, error) {
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

// damageInPlace changedAt some bytes of one class, and says which that was.
func damageInPlace(rng *rand.Rand, file []byte, class []byteClass) ([]byte, byteClass) {
	want := byteClass(rng.IntN(3))
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
			binary.LittleEndian.PutUint32(b[at&^3:], extremeNumbers[rng.IntN(len(extremeNumbers))])
		case 3:
			binary.LittleEndian.PutUint64(b[at&^7:], uint64(int64(int32(extremeNumbers[rng.IntN(len(extremeNumbers))]))))
		case 4:
			clear(b[at:min(at+1+rng.IntN(64), len(b))])
		}
		if !bytes.Equal(b, file) {
			return b, touchedClass(file, b, class)
		}
	}
}

// touchedClass is the highest class of the bytes that differ.
func touchedClass(a, b []byte, class []byteClass) (c byteClass) {
	for i := range a {
		if a[i] != b[i] {
			c = max(c, class[i])
		}
	}
	return c
}

func changedAt(a, b []byte) (at []int) {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] && len(at) < 8 {
			at = append(at, i)
		}
	}
	return at
}

// firstDifference is the firstDifference difference.
func firstDifference(got, want fileContent) string {
	if got.schema != want.schema {
		return got.schema + ", want " + want.schema
	}
	for i := range min(len(got.rows), len(want.rows)) {
		if got.rows[i] != want.rows[i] {
			return got.rows[i] + ", want " + want.rows[i]
		}
	}
	return "the number of rows"
}
