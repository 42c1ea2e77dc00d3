package field

import (
	"math"
	"math/bits"
)

// counts lists the counts that a field adds to besides Fields.
func (s *Stats) counts() [8]*int64 {
	return [8]*int64{&s.Cropped, &s.Ties, &s.Searches, &s.Leaves, &s.CropFallback, &s.Canon, &s.Refined, &s.Partial}
}

// packCounts packs what was counted since before into one word, a byte per
// count in the order of counts, and reports whether it fits.
func packCounts(before, after *Stats) (packed uint64, ok bool) {
	var all uint64
	for i, d := range [...]int64{
		after.Cropped - before.Cropped, after.Ties - before.Ties, after.Searches - before.Searches,
		after.Leaves - before.Leaves, after.CropFallback - before.CropFallback,
		after.Canon - before.Canon, after.Refined - before.Refined, after.Partial - before.Partial,
	} {
		all |= uint64(d)
		packed |= uint64(d) << (8 * i)
	}
	return packed, all <= math.MaxUint8
}

// addPacked adds what packCounts packed.
func (s *Stats) addPacked(packed uint64) {
	counts := s.counts()
	for ; packed != 0; packed &^= math.MaxUint8 << (bits.TrailingZeros64(packed) &^ 7) {
		at := bits.TrailingZeros64(packed) &^ 7
		*counts[at/8] += int64(packed >> at & math.MaxUint8)
	}
}
