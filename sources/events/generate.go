package events

import (
	"iter"
	"math/rand/v2"

	"github.com/sanflow/sanflow/flow/event"
)

// Generated is a stream of n edges among 240 nodes in six groups, whose mechanism changes
// after half of them. Each node meets its last partner again (60 %), another node of its
// group (30 %), or any node; after the change, in place of its last partner it meets the
// node whose number follows that of the partner in the group. Times are about a minute
// apart, in seconds. The first edge of a node is followed by its class, the group.
func Generated(n int, seed uint64) iter.Seq2[event.Event, error] {
	const nodes, groups = 240, 6
	return func(yield func(event.Event, error) bool) {
		rng := rand.New(rand.NewPCG(seed, 0x7e4))
		var partner, told [nodes]int32
		now, pos := int64(0), int64(0)
		give := func(e event.Event) bool {
			e.Pos, e.Time = pos, now
			pos++
			return yield(e, nil)
		}
		for i := range n {
			now += int64(rng.IntN(120))
			s := int32(min(rng.IntN(nodes), rng.IntN(nodes))) // the minimum makes activity uneven
			group := s % groups
			t := partner[s] - 1
			switch p := rng.IntN(10); {
			case p < 6 && t >= 0 && i < n/2:
			case p < 6 && t >= 0:
				t = (t + groups) % nodes
			case p < 9:
				t = int32(rng.IntN(nodes/groups))*groups + group
			default:
				t = int32(rng.IntN(nodes))
			}
			if t == s {
				t = (t + groups) % nodes
			}
			partner[s] = t + 1
			if !give(event.Event{Source: s, Target: t, Class: -1}) {
				return
			}
			for _, v := range [2]int32{s, t} {
				if told[v] == 0 {
					told[v] = 1
					if !give(event.Event{Kind: event.SetClass, Source: v, Class: v % groups}) {
						return
					}
				}
			}
		}
	}
}
