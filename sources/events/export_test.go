package events

// Sorted is what the order Sort does, for tests.
var Sorted = sorted

// Nodes is the number of nodes so far.
func (s *Stream) Nodes() int { return len(s.ids.list) }
