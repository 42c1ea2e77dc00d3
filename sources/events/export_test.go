package events

// Sorted is what the order Sort does, for tests.
var Sorted = sorted

// SortSettings are the settings of Sorted.
type SortSettings = sortSettings

// Nodes is the number of nodes so far.
func (s *Stream) Nodes() int { return len(s.ids.list) }
