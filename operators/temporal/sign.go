package temporal

import "fmt"

// SignFeatures is the number of features that DescribeSign sets.
const SignFeatures = 16

// DescribeSign sets dst to the features of an edge whose value is asked for, before it arrives: the
// values that its source gave, the values that its target got, and the balance of the paths of two
// edges between them: the product of the values along the path.
func (h *History) DescribeSign(source, target int32, now int64, dst []float32) error {
	if len(dst) != SignFeatures || source < 0 || target < 0 {
		return fmt.Errorf("temporal: edge from %d to %d, %d values, want nodes from 0 and %d values", source, target, len(dst), SignFeatures)
	}
	clear(dst)
	h.grow(max(source, target))
	s, d := &h.nodes[source], &h.nodes[target]
	x := dst
	x[0] = 1
	mean := func(sum float32, n int32) float32 { return sum / float32(n+1) }
	x[1], x[2] = mean(s.gave, s.given), logOf(float64(s.given))
	x[3], x[4] = mean(d.was, d.judged), logOf(float64(d.judged))
	x[5], x[6] = mean(s.was, s.judged), mean(d.gave, d.given)
	x[7], x[8] = d.wasLast, s.gaveLast
	if j, ok := h.index[key(source, target)]; ok {
		x[9], x[10] = 1, h.pairs[j].value
	}
	if j, ok := h.index[key(target, source)]; ok {
		x[11], x[12] = 1, h.pairs[j].value
	}
	// The last mostWalked visitors of the target that the source has judged, or that judged it.
	n := float32(0)
	for i := range d.visitors.len() {
		u := d.visitors.newest(i)
		to, ok := h.index[key(u, target)]
		if !ok {
			continue
		}
		for _, k := range [2]uint64{key(source, u), key(u, source)} {
			if from, ok := h.index[k]; ok {
				x[13] += h.pairs[from].value * h.pairs[to].value
				n++
			}
		}
	}
	x[13] /= n + 1
	x[14] = logOf(float64(n))
	if d.got > 0 {
		x[15] = logOf(elapsed(d.inTime, now))
	}
	return nil
}
