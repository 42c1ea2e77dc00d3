package canon

// Permute returns the matrix codes, (n, n), with the node order[i] in row and
// column i.
func Permute(codes []uint16, order []int32) []uint16 {
	n := len(order)
	out := make([]uint16, n*n)
	for i, u := range order {
		for j, v := range order {
			out[i*n+j] = codes[int(u)*n+int(v)]
		}
	}
	return out
}
