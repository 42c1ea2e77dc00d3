// Package rooms keeps rows of numbers that change one by one. A row is in a room, which is memory for 1, 2, 3, 4,
// 6, 8, 12, … entries. A row that outgrows or shrinks below its room moves to another one. Later rows reuse the
// old room.
package rooms

import (
	"math/bits"
	"slices"
)

// Rows are ascending lists of numbers. The list of v is Items[Begin[v]:End[v]]. Cat and Attr have Cats and
// Attrs values for each item, which move with it.
type Rows struct {
	Begin, End, Items []int32
	Cat               []int32
	Attr              []float32
	Cats, Attrs       int

	free [64][]int32 // free rooms, by size class
}

// sizeClass returns the class of the rooms for n entries. Their sizes are 1, 2, 3, 4, 6, 8, 12, …
func sizeClass(n int) int {
	if n <= 2 {
		return n
	}
	b := bits.Len(uint(n - 1)) // 2^(b-1) < n ≤ 2^b
	class := 2 * b
	if n <= 3<<(b-2) {
		class--
	}
	return class
}

// roomOf returns the size of the rooms of a class.
func roomOf(class int) int {
	if class <= 2 {
		return class
	}
	b := (class + 1) / 2
	if class&1 == 1 {
		return 3 << (b - 2)
	}
	return 1 << b
}

// Grow adds empty rows, up to n in all.
func (r *Rows) Grow(n int) {
	if more := n - len(r.Begin); more > 0 {
		r.Begin, r.End = append(r.Begin, make([]int32, more)...), append(r.End, make([]int32, more)...)
	}
}

// Load fills empty Rows. Row v becomes items[offsets[v]:offsets[v+1]], with the values of its items. A fifth
// of the memory is spare.
func (r *Rows) Load(offsets, items, cat []int32, attr []float32) {
	n, size := len(offsets)-1, 0
	r.Grow(n)
	for v := range n {
		r.Begin[v] = int32(size)
		size += roomOf(sizeClass(int(offsets[v+1] - offsets[v])))
	}
	room := size + size/4
	r.Items = make([]int32, size, room)
	r.Cat, r.Attr = make([]int32, size*r.Cats, room*r.Cats), make([]float32, size*r.Attrs, room*r.Attrs)
	for v := range n {
		from, to, at := int(offsets[v]), int(offsets[v+1]), int(r.Begin[v])
		r.End[v] = int32(at + to - from)
		copy(r.Items[at:], items[from:to])
		copy(r.Cat[at*r.Cats:], cat[from*r.Cats:to*r.Cats])
		copy(r.Attr[at*r.Attrs:], attr[from*r.Attrs:to*r.Attrs])
	}
}

// Row returns the row of u, which is valid until the next change.
func (r *Rows) Row(u int32) []int32 { return r.Items[r.Begin[u]:r.End[u]:r.End[u]] }

// Find returns the position of v in the row of u, or -1.
func (r *Rows) Find(u, v int32) int32 {
	i, ok := slices.BinarySearch(r.Row(u), v)
	if !ok {
		return -1
	}
	return r.Begin[u] + int32(i)
}

// At returns the values of the item at a position.
func (r *Rows) At(e int32) (cat []int32, attr []float32) {
	c, a := int(e)*r.Cats, int(e)*r.Attrs
	return r.Cat[c : c+r.Cats : c+r.Cats], r.Attr[a : a+r.Attrs : a+r.Attrs]
}

// Insert adds v to the row of u and returns its position. It does not set the values of the item.
func (r *Rows) Insert(u, v int32) int32 {
	i, _ := slices.BinarySearch(r.Row(u), v)
	begin, n, at := r.Begin[u], r.End[u]-r.Begin[u], int32(i)
	from := begin
	if old, class := sizeClass(int(n)), sizeClass(int(n+1)); old != class {
		begin = r.take(class)
		r.move(begin, from, at)
		r.release(old, from)
	}
	r.move(begin+at+1, from+at, n-at)
	r.Items[begin+at] = v
	r.Begin[u], r.End[u] = begin, begin+n+1
	return begin + at
}

// Remove removes the item at position e from the row of u.
func (r *Rows) Remove(u, e int32) {
	begin, end := r.Begin[u], r.End[u]
	n := end - begin
	r.move(e, e+1, end-e-1)
	if old, class := sizeClass(int(n)), sizeClass(int(n-1)); old != class {
		to := int32(0)
		if class > 0 {
			to = r.take(class)
			r.move(to, begin, n-1)
		}
		r.release(old, begin)
		begin = to
	}
	r.Begin[u], r.End[u] = begin, begin+n-1
}

// Bytes returns the memory of the rows, free rooms included.
func (r *Rows) Bytes() int64 {
	sum := 0
	for _, f := range r.free {
		sum += cap(f)
	}
	return 4 * int64(sum+cap(r.Begin)+cap(r.End)+cap(r.Items)+cap(r.Cat)+cap(r.Attr))
}

// take returns the position of a free room.
func (r *Rows) take(class int) int32 {
	if f := r.free[class]; len(f) > 0 {
		r.free[class] = f[:len(f)-1]
		return f[len(f)-1]
	}
	at, size := len(r.Items), roomOf(class)
	r.Items = append(r.Items, make([]int32, size)...)
	r.Cat = append(r.Cat, make([]int32, size*r.Cats)...)
	r.Attr = append(r.Attr, make([]float32, size*r.Attrs)...)
	return int32(at)
}

// move copies n items from one position to another.
func (r *Rows) move(to, from, n int32) {
	copy(r.Items[to:to+n], r.Items[from:])
	if w := int(r.Cats); w > 0 {
		copy(r.Cat[int(to)*w:int(to+n)*w], r.Cat[int(from)*w:])
	}
	if w := int(r.Attrs); w > 0 {
		copy(r.Attr[int(to)*w:int(to+n)*w], r.Attr[int(from)*w:])
	}
}

// release marks a room as free.
func (r *Rows) release(class int, at int32) {
	if class > 0 {
		r.free[class] = append(r.free[class], at)
	}
}
