package parquet

// Values in lists carry two small numbers, as in Dremel (Melnik et al. 2010):
// the repetition level says at which depth a list goes on, the definition level
// how much of the path to a value is there.
//
//	rows        [[7 8] []]   []   [[9]]
//	value        7 8 -       -     9
//	repetition   0 2 1       0     0
//	definition   4 4 2       0     4
//
// A list counts for one level and its elements for another, since they could be
// nulls: ours never are, but Polars 0.26 for Node reads lists of elements that
// cannot be as zeros or nulls.

// batch is how many levels are handed over at once. A page, which takes no more
// than two batches, begins and ends with a row, as its version 2 requires: a row
// that is larger has a page of its own.
const batch = 1 << 17

// reserve hands over what is there unless a row of n more levels fits.
func (c *typed[T]) reserve(n int) error {
	if len(c.def)+n > batch {
		return c.flush()
	}
	return nil
}

// nothing adds the levels of an empty list.
func (c *typed[T]) nothing(rep, def int16) {
	c.rep, c.def = append(c.rep, rep), append(c.def, def)
}

// list adds a list at a depth, whose first value repeats at rep.
func (c *typed[T]) list(v []T, rep, depth int16) {
	if len(v) == 0 {
		c.nothing(rep, 2*depth-2)
	}
	for range v {
		c.rep, c.def = append(c.rep, rep), append(c.def, 2*depth)
		rep = depth
	}
	c.values = append(c.values, v...)
}

// flush hands over what is there.
func (c *typed[T]) flush() error {
	if len(c.def) == 0 {
		return nil
	}
	err := c.put(c.w, c.values, c.def, c.rep)
	c.values, c.def, c.rep = c.values[:0], c.def[:0], c.rep[:0]
	return err
}
