package count

import (
	"math"
	"math/bits"

	"github.com/sanflow/sanflow/flow/graph"
)

// Profiles counts nodes by their degree and the degrees of their neighbours: the local degree
// profile of Cai and Wang, "A simple yet effective baseline for non-attributed graph
// classification", 2018, as words. A node with neighbours has five words, each of its degree
// and one of
//
//	1  the smallest degree of a neighbour
//	2  the largest
//	3  their mean
//	4  their standard deviation
//	5  the smallest and the largest
//
// Degrees are rounded down to a power of 2, mean and deviation to the nearest half doubling, so
// that similar hubs have equal words. Attributes and directions are ignored. O(n + m).
type Profiles struct{}

// String returns "profiles".
func (p Profiles) String() string { return describe(p) }

var kindProfile = Kind("profile")

// Prepare implements Counter.
func (p Profiles) Prepare() (Worker, error) { return profileCounter{p}, nil }

type profileCounter struct{ Profiles }

func (p profileCounter) Count(in Input, bag *Bag) error {
	g, err := plain(in.Graph)
	if err != nil {
		return err
	}
	for v := range int32(g.N()) {
		if v&4095 == 0 && in.Err() != nil {
			return in.Err()
		}
		if g.Degree(v) > 0 {
			for _, word := range profileOf(g, v).words() {
				bag.Add(uint64(word), 1)
			}
		}
	}
	return nil
}

// profile has the degree of a node and statistics of those of its neighbours, rounded.
type profile struct{ degree, least, most, mean, deviation uint64 }

// profileOf returns the profile of a node with neighbours.
func profileOf(g *graph.Graph, v int32) profile {
	// A sum of squares is at most the largest degree times the number of CSR entries.
	n, least, most, sum, squares := uint64(g.Degree(v)), uint64(math.MaxUint64), uint64(0), uint64(0), uint64(0)
	for _, u := range g.Adj(v) {
		d := uint64(g.Degree(u))
		least, most = min(least, d), max(most, d)
		sum += d
		squares += d * d
	}
	// Integers make the result independent of the order of the neighbours: n²·variance = n·Σd² -
	// (Σd)².
	high, low := bits.Mul64(n, squares)
	h2, l2 := bits.Mul64(sum, sum)
	low, borrow := bits.Sub64(low, l2, 0)
	high, _ = bits.Sub64(high, h2, borrow)
	deviation := math.Sqrt(math.Ldexp(float64(high), 64)+float64(low)) / float64(n)

	return profile{doublings(n), doublings(least), doublings(most), halfDoublings(float64(sum) / float64(n)), halfDoublings(deviation)}
}

func (p profile) words() [5]Hash {
	h := kindProfile.Add(p.degree)
	return [...]Hash{h.Add(1).Add(p.least), h.Add(2).Add(p.most), h.Add(3).Add(p.mean), h.Add(4).Add(p.deviation), h.Add(5).Add(p.least).Add(p.most)}
}

// text returns the text of word i of words.
func (p profile) text(i int) string {
	text := "profile: degree " + doublingText(p.degree) + ", neighbours' "
	switch i {
	case 0:
		return text + "least " + doublingText(p.least)
	case 1:
		return text + "largest " + doublingText(p.most)
	case 2:
		return text + "mean about " + halfText(p.mean)
	case 4:
		return text + "least " + doublingText(p.least) + " and largest " + doublingText(p.most)
	}
	if p.deviation == 0 {
		return text + "deviation 0"
	}
	return text + "deviation about " + halfText(p.deviation)
}

// doublings returns 1 + ⌊log₂ x⌋, and 0 for 0.
func doublings(x uint64) uint64 { return uint64(bits.Len64(x)) }

// halfDoublings returns x rounded to half doublings, as a number, and 0 for 0. No fraction of
// integers, nor its root, lies halfway between two of them, so the last bits of a logarithm do not
// matter.
func halfDoublings(x float64) uint64 {
	if x == 0 {
		return 0
	}
	return uint64(int64(math.Round(2*math.Log2(x)))) + 1<<32
}

// halfText returns the text of the number that halfDoublings rounded to x.
func halfText(x uint64) string {
	return number(math.Exp2(float64(int64(x)-1<<32) / 2))
}
