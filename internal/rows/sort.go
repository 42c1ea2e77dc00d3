package rows

import "slices"

// SortKeys sorts keys below 1<<width. The sorted keys are in keys or in tmp. Keys that do not fit into tmp,
// those of a hub, are sorted by comparison.
func SortKeys(keys, tmp []uint64, width int) []uint64 {
	if len(keys) < 128 || len(keys) > len(tmp) {
		slices.Sort(keys)
		return keys
	}
	return countingSort(keys, tmp[:len(keys)], width)
}

// digit is the number of bits that one pass of countingSort sorts by. Its counts fit into the nearest cache.
const digit = 11

// countingSort sorts by the lowest digit first. Each pass moves the keys from one slice to the other, and the
// last one is returned. O(len·width/11).
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
