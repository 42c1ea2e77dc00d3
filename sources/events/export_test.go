package events

// Sorted and Once are what Order and Once of Source do, for tests.
var (
	Sorted = sorted
	Once   = once
)

// SortSettings are the settings of Sorted.
type SortSettings = sortSettings

// Nodes is the number of nodes so far.
func (s *Stream) Nodes() int { return len(s.ids.list) }
