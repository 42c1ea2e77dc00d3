package sources

import "testing"

// A Builder takes no more nodes than 32-bit offsets can tell.
func TestBuilderMaxNodes(t *testing.T) {
	for _, bad := range []int64{1 << 31, 1 << 32} {
		b := Builder{MaxNodes: int(bad)}
		if got := b.maxNodes(); got >= 1<<31-1 {
			t.Errorf("a Builder takes %d nodes", got)
		}
	}
}
