// Package corrupt tests readers with damaged files.
package corrupt

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sanflow/sanflow/internal/race"
)

// patience is how long a reader may take for a damaged file on a machine that is busy;
// it takes milliseconds, or hangs.
const patience = time.Minute

// Times is how often to damage each of so many files: 10 000 times in all where
// there is time, otherwise 2000, and 500 where the race detector makes it slow.
func Times(files int) int {
	switch {
	case race.Enabled || testing.Short():
		return 500/files + 1
	case Long():
		return 10_000/files + 1
	}
	return 2000/files + 1
}

// Run damages a file n times, in the ways of Damage, and reads it. The reader
// must come to an end, within 5 seconds and without allocating more than most
// bytes: with an error of one line, or, where the damage makes no difference to
// the rules, without.
func Run(t *testing.T, file []byte, n int, most uint64, read func([]byte) error) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(len(file)), 1))
	refused := 0
	for range n {
		if _, err := guarded(t, Damage(rng, file), most, func(b []byte) (Content, error) { return Content{}, read(b) }); err != nil {
			refused++
		}
	}
	if refused < n/2 {
		t.Errorf("%d of %d damaged files were refused", refused, n)
	}
	t.Logf("%d of %d damaged files were refused", refused, n)
}

// Damage returns a copy of a file with bits flipped, numbers replaced by
// extreme ones, pieces moved, cut out or zeroed, or its end cut off.
func Damage(rng *rand.Rand, file []byte) []byte {
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
			binary.LittleEndian.PutUint32(b[at:], extremes[rng.IntN(len(extremes))])
		case 3:
			binary.LittleEndian.PutUint64(b[at:], uint64(int64(int32(extremes[rng.IntN(len(extremes))])))<<rng.IntN(32))
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

var extremes = []uint32{0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x10000, 0x7ffffff8, 0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff}
