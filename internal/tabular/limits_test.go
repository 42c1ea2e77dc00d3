package tabular

import "testing"

// Offsets of large lists that do not fit 32 bits are an error, and take what their
// number does.
func TestOffsetsBeyond(t *testing.T) {
	for _, bad := range []int64{-1, 1 << 31, 1 << 32, 1<<62 + 1} {
		if ends, err := short([]int64{0, bad}, nil); err == nil {
			t.Errorf("offset %d becomes %d", bad, ends)
		}
	}
	if ends, err := short([]int64{0, 1<<31 - 1}, nil); err != nil || ends[1] != 1<<31-1 {
		t.Errorf("%d, %v", ends, err)
	}
}
