package count

// Hash is the hash of a sequence of words of 64 bits, which begins with a kind.
// With all arithmetic modulo 2⁶⁴, ⊕ for exclusive or and g = 0x9e3779b97f4a7c15,
//
//	empty        h = 0
//	add a word x h = mix((h + g) ⊕ x)
//	mix(z)       z ⊕= z >> 30;  z *= 0xbf58476d1ce4e5b9
//	             z ⊕= z >> 27;  z *= 0x94d049bb133111eb
//	             z ⊕= z >> 31
//
// and a kind is the sequence of its bytes. mix is the finalizer of SplitMix64
// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014),
// a bijection: sequences of one length that differ in one word never collide.
//
// A multiset is the sum, modulo 2⁶⁴, of the hashes of its elements.
type Hash uint64

// Kind begins a hash of a kind. Different kinds have different ids; your counter uses its name.
func Kind(name string) Hash {
	var h Hash
	for i := range len(name) {
		h = h.Add(uint64(name[i]))
	}
	return h
}

// Add returns the hash of the sequence with one more word.
func (h Hash) Add(x uint64) Hash {
	z := (uint64(h) + 0x9e3779b97f4a7c15) ^ x
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return Hash(z ^ z>>31)
}
