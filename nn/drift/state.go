package drift

import (
	"fmt"
	"io"

	"github.com/sanflow/sanflow/internal/state"
)

const (
	adwinState = "sanflow adwin 1\n"
	mostRows   = 62      // of buckets: 2⁶² numbers
	mostRow    = 1 << 20 // buckets
)

// Save writes the settings and the window.
func (a *ADWIN) Save(w io.Writer) error { return state.Save(w, adwinState, a.state) }

// Load reads the output of Save and no byte behind it. The settings must equal those of a.
// After an error a is as before.
func (a *ADWIN) Load(r io.Reader) error {
	next := ADWIN{delta: a.delta, m: a.m, clock: a.clock}
	if err := state.Load(r, adwinState, next.state); err != nil {
		return fmt.Errorf("drift: ADWIN: state: %w", err)
	}
	*a = next
	return nil
}

func (a *ADWIN) state(c *state.Codec) {
	state.Same(c, "Delta", a.delta)
	state.Same(c, "M", int64(a.m))
	state.Same(c, "Clock", int64(a.clock))
	state.Num(c, &a.n, &a.seen)
	state.Num(c, &a.sum, &a.variance)
	n := int64(0)
	state.Each(c, "rows", mostRows, &a.rows, func(row *[]bucket) {
		state.Each(c, "buckets", mostRow, row, func(b *bucket) { state.Num(c, &b.sum, &b.variance) })
	})
	for i, row := range a.rows {
		n += int64(len(row)) << i
	}
	c.Check(n == a.n && a.seen >= n, "the window has %d numbers of %d, its buckets have %d", a.n, a.seen, n)
	c.Check(len(a.rows) == 0 || len(a.rows[len(a.rows)-1]) > 0, "the last row has no buckets")
}
