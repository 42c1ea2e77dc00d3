package jetstream

import (
	"cmp"
	"slices"

	"github.com/sanflow/sanflow/internal/jet"
)

// counted are the positions of messages that the end of a queue counts, as spans that
// neither touch nor overlap, in order.
type counted []jet.Span

// add adds the positions of a message, and reports whether its first one is new.
func (c *counted) add(spans []jet.Span) bool {
	first := spans[0].From
	i := c.find(first)
	fresh := i == len(*c) || (*c)[i].From > first
	for _, s := range spans {
		from := c.find(s.From - 1) // the first span that touches s, or is behind it
		to := from
		for ; to < len(*c) && (*c)[to].From <= s.To+1; to++ {
			s.From, s.To = min(s.From, (*c)[to].From), max(s.To, (*c)[to].To)
		}
		*c = slices.Replace(*c, from, to, s)
	}
	return fresh
}

// find returns the first span that does not end before a position.
func (c *counted) find(pos int64) int {
	i, _ := slices.BinarySearchFunc(*c, pos, func(s jet.Span, pos int64) int { return cmp.Compare(s.To, pos) })
	return i
}
