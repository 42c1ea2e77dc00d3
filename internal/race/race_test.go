package race

import "testing"

func TestParts(t *testing.T) {
	share, one, some := 40, 3, 9
	if Enabled {
		share, one, some = 5, 1, 3
	}
	if Share(40) != share || Share(3) != one || len(Some(make([]int, 9))) != some {
		t.Error(Share(40), Share(3), Some(make([]int, 9)))
	}
}
