package validation

// Majority returns the number of test rows of a split whose class is the most frequent class of
// the training rows, the lowest of equals. It is the baseline of every method. class has the
// class of row r at r.
func Majority(class []int32, s Split) (right int) {
	count, largest := map[int32]int{}, int32(0)
	for i, row := range s.Train {
		c := class[row]
		count[c]++
		if n := count[c] - count[largest]; i == 0 || n > 0 || n == 0 && c < largest {
			largest = c
		}
	}
	if len(s.Train) == 0 {
		return 0
	}
	for _, row := range s.Test {
		if class[row] == largest {
			right++
		}
	}
	return right
}
