package rows

import "slices"

// SortKeys sorts keys below 1<<width, and asks alive now and then. It needs as much
// room as there are keys, or it takes more time: what is larger is first divided in
// place by its upper bits. The sorted keys are in keys or in tmp.
func SortKeys(keys, tmp []uint64, width int, alive func() error) ([]uint64, error) {
	switch {
	case len(keys) < 128:
		slices.Sort(keys)
		return keys, nil
	case len(keys) <= len(tmp):
		if err := alive(); err != nil {
			return nil, err
		}
		return countingSort(keys, tmp[:len(keys)], width), nil
	case width <= 8:
		slices.Sort(keys)
		return keys, alive()
	}
	if err := alive(); err != nil {
		return nil, err
	}
	for _, part := range divideKeys(keys, width-8) {
		sorted, err := SortKeys(part, tmp, width-8, alive)
		if err != nil {
			return nil, err
		}
		if len(part) > 0 && &sorted[0] != &part[0] {
			copy(part, sorted)
		}
	}
	return keys, nil
}

// digit is the bits that one pass of countingSort sorts by: its counts stay in the
// nearest cache.
const digit = 11

// countingSort sorts by the lower bits, then by those above them, and so on; each
// pass moves the keys from one slice to the other, and the one they end in is
// returned. O(len·width/11).
func countingSort(keys, tmp []uint64, width int) []uint64 {
	passes := (width + digit - 1) / digit
	var count [6][1 << digit]int32
	for _, k := range keys {
		for p := range passes {
			count[p][k>>(p*digit)&(1<<digit-1)]++
		}
	}
	for p := range passes {
		c, shift := &count[p], p*digit
		if int(c[keys[0]>>shift&(1<<digit-1)]) == len(keys) {
			continue // all have the same digit
		}
		at := int32(0)
		for i, n := range c {
			c[i] = at
			at += n
		}
		for _, k := range keys {
			d := k >> shift & (1<<digit - 1)
			tmp[c[d]] = k
			c[d]++
		}
		keys, tmp = tmp, keys
	}
	return keys
}

// divideKeys puts keys in place in the order of their 8 bits from shift on (McIlroy,
// Bostic and McIlroy, Engineering radix sort, 1993), and returns the parts that have
// these bits in common.
func divideKeys(keys []uint64, shift int) (parts [256][]uint64) {
	var next, end [256]int
	for _, k := range keys {
		end[k>>shift&255]++
	}
	at := 0
	for d, n := range end {
		next[d], parts[d] = at, keys[at:at+n]
		at += n
		end[d] = at
	}
	for d := range 256 {
		for next[d] < end[d] {
			k := keys[next[d]]
			for to := k >> shift & 255; int(to) != d; to = k >> shift & 255 {
				keys[next[to]], k = k, keys[next[to]]
				next[to]++
			}
			keys[next[d]] = k
			next[d]++
		}
	}
	return parts
}
