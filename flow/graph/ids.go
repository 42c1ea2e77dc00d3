package graph

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"sort"
	"strconv"
	"unicode/utf8"
)

// IDKind is the type of the ids of nodes.
type IDKind string

// The types of the ids of nodes.
const (
	NoIDs     IDKind = ""       // a node has its number and no other id
	Int64IDs  IDKind = "int64"  // any 64-bit integer
	StringIDs IDKind = "string" // any UTF-8 text, the empty one too
)

// IDs are the ids of the nodes of a graph in its source: one for each node, in the order of the
// nodes, all different, in any order of values. IDs usually borrows from an Arrow record and is
// valid as long as the record. The zero value has no ids.
type IDs struct {
	kind IDKind
	ints []int64
	ends []int32 // n+1 offsets into text, the first of any value
	text []byte
}

// IDsOf returns integers as ids, which borrow the slice.
func IDsOf(ids []int64) IDs { return IDs{kind: Int64IDs, ints: ids} }

// IDsOfText returns strings as ids, which borrow the slices: id v is
// text[ends[v]:ends[v+1]]. ends has one more element than there are ids.
func IDsOfText(ends []int32, text []byte) IDs { return IDs{kind: StringIDs, ends: ends, text: text} }

// IDsOfStrings returns a copy of strings as ids. More than 2³¹-1 bytes are an error.
func IDsOfStrings(ids []string) (IDs, error) {
	size := 0
	for _, id := range ids {
		size += len(id)
	}
	if size > math.MaxInt32 {
		return IDs{}, fmt.Errorf("graph: %d ids have %d bytes, want at most %d", len(ids), size, math.MaxInt32)
	}
	ends, text := make([]int32, 1, len(ids)+1), make([]byte, 0, size)
	for _, id := range ids {
		text = append(text, id...)
		ends = append(ends, int32(len(text)))
	}
	return IDsOfText(ends, text), nil
}

// Kind returns the type of the ids.
func (ids IDs) Kind() IDKind { return ids.kind }

// Len returns the number of ids.
func (ids IDs) Len() int {
	if ids.kind == StringIDs {
		return max(len(ids.ends)-1, 0)
	}
	return len(ids.ints)
}

// Int returns the id of node v, and false if ids are not integers.
func (ids IDs) Int(v int32) (id int64, ok bool) {
	if ids.kind != Int64IDs {
		return 0, false
	}
	return ids.ints[v], true
}

// Name returns a copy of the id of node v as text: for an integer its decimal digits, and without
// ids the number of the node.
func (ids IDs) Name(v int32) string { return string(ids.Append(nil, v)) }

// Append appends the result of Name.
func (ids IDs) Append(to []byte, v int32) []byte {
	switch ids.kind {
	case Int64IDs:
		return strconv.AppendInt(to, ids.ints[v], 10)
	case StringIDs:
		return append(to, ids.bytes(v)...)
	}
	return strconv.AppendInt(to, int64(v), 10)
}

// Quoted returns the id of node v for a message: at most 80 bytes of a string in quotes, an
// integer, or the number of a node without an id.
func (ids IDs) Quoted(v int32) string {
	switch {
	case v < 0 || int(v) >= ids.Len():
		return strconv.Itoa(int(v))
	case ids.kind == StringIDs:
		return quoted(ids.bytes(v))
	}
	return ids.Name(v)
}

func quoted(id []byte) string {
	const most = 80
	if len(id) > most {
		return strconv.Quote(string(id[:most])) + "…"
	}
	return strconv.Quote(string(id))
}

// bytes returns a string id, borrowed.
func (ids IDs) bytes(v int32) []byte { return ids.text[ids.ends[v]:ids.ends[v+1]] }

// Ints returns the integer ids, borrowed; nil if ids are strings.
func (ids IDs) Ints() []int64 { return ids.ints }

// Text returns the offsets and the bytes of string ids, borrowed, as IDsOfText takes
// them; nil if ids are integers.
func (ids IDs) Text() (ends []int32, text []byte) { return ids.ends, ids.text }

// Bytes returns the size of the ids in memory.
func (ids IDs) Bytes() int64 {
	n := 8*int64(len(ids.ints)) + 4*int64(len(ids.ends))
	if len(ids.ends) > 0 {
		n += int64(ids.ends[len(ids.ends)-1] - ids.ends[0])
	}
	return n
}

// Same reports whether two ids lie at the same place in memory. O(1).
func (ids IDs) Same(other IDs) bool {
	return ids.kind == other.kind && sameMemory(ids.ints, other.ints) && sameMemory(ids.ends, other.ends) &&
		sameMemory(ids.text, other.text)
}

// Renumber returns a copy of the ids for a graph in which node v is called perm[v].
func (ids IDs) Renumber(perm []int32) IDs {
	out := IDs{kind: ids.kind}
	old := make([]int32, len(perm))
	for v, p := range perm {
		old[p] = int32(v)
	}
	switch ids.kind {
	case Int64IDs:
		for _, v := range old {
			out.ints = append(out.ints, ids.ints[v])
		}
	case StringIDs:
		out.ends = []int32{0}
		for _, v := range old {
			out.text = append(out.text, ids.bytes(v)...)
			out.ends = append(out.ends, int32(len(out.text)))
		}
	}
	return out
}

// Check returns the first violation of the rules: falling offsets, offsets outside the text, a
// string that is not UTF-8, or two nodes with one id. O(bytes). Ids that are not strictly
// ascending take 8 to 16 bytes of memory a node.
func (ids IDs) Check() error {
	if err := ids.CheckText(); err != nil {
		return err
	}
	if ids.ascending() {
		return nil
	}
	_, err := ids.hash()
	return err
}

// CheckText is Check without the search for equal ids.
func (ids IDs) CheckText() error {
	if ids.kind != StringIDs {
		return nil
	}
	if len(ids.ends) > 0 && ids.ends[0] < 0 {
		return fmt.Errorf("offset 0 of the ids is %d, want 0 to %d", ids.ends[0], len(ids.text))
	}
	for v := range int32(ids.Len()) {
		if from, to := ids.ends[v], ids.ends[v+1]; to < from || int(to) > len(ids.text) {
			return fmt.Errorf("the id of node %d has the offsets %d and %d, of %d bytes", v, from, to, len(ids.text))
		}
		if id := ids.bytes(v); !utf8.Valid(id) {
			return fmt.Errorf("the id of node %d, %s, is not UTF-8", v, quoted(id))
		}
	}
	return nil
}

// ascending reports whether ids strictly ascend, strings by their bytes.
func (ids IDs) ascending() bool {
	for v := 1; v < ids.Len(); v++ {
		if ids.kind == Int64IDs && ids.ints[v-1] >= ids.ints[v] ||
			ids.kind == StringIDs && bytes.Compare(ids.bytes(int32(v-1)), ids.bytes(int32(v))) >= 0 {
			return false
		}
	}
	return true
}

// IDIndex maps ids to nodes. It borrows the ids. Any number of goroutines may use it.
type IDIndex struct {
	ids  IDs
	hash *hash // nil if ids ascend
}

// Index returns the index from ids to nodes. O(bytes); if ids are not strictly
// ascending it takes 8 to 16 bytes of memory a node. Ids that break the rules of Check
// are an error.
func (ids IDs) Index() (*IDIndex, error) {
	x := &IDIndex{ids: ids}
	err := ids.CheckText()
	if err == nil && !ids.ascending() {
		x.hash, err = ids.hash()
	}
	return x, err
}

// Int returns the node of an integer id, and false if no node has it.
func (x *IDIndex) Int(id int64) (v int32, ok bool) {
	ints := x.ids.ints
	if x.ids.kind != Int64IDs {
		return 0, false
	}
	if x.hash != nil {
		return x.hash.find(x.hash.int(id), func(v int32) bool { return ints[v] == id })
	}
	at := sort.Search(len(ints), func(v int) bool { return ints[v] >= id })
	return int32(at), at < len(ints) && ints[at] == id
}

// Name returns the node whose id is that text, as IDs.Name writes it, and false where
// no node has it.
func (x *IDIndex) Name(name string) (v int32, ok bool) {
	if x.ids.kind != StringIDs {
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil || strconv.FormatInt(id, 10) != name {
			return 0, false
		}
		return x.Int(id)
	}
	if x.hash != nil {
		return x.hash.find(maphash.String(x.hash.seed, name), func(v int32) bool { return string(x.ids.bytes(v)) == name })
	}
	n := x.ids.Len()
	at := sort.Search(n, func(v int) bool { return string(x.ids.bytes(int32(v))) >= name })
	return int32(at), at < n && string(x.ids.bytes(int32(at))) == name
}

// hash is a hash table of nodes by their ids, with open addressing.
type hash struct {
	seed maphash.Seed
	slot []int32 // node plus one, or 0
}

func (h *hash) int(id int64) uint64 { return maphash.Comparable(h.seed, id) }

// find returns the node with the hash sum for which is returns true.
func (h *hash) find(sum uint64, is func(v int32) bool) (v int32, ok bool) {
	mask := uint64(len(h.slot) - 1)
	for at := sum & mask; h.slot[at] != 0; at = (at + 1) & mask {
		if v := h.slot[at] - 1; is(v) {
			return v, true
		}
	}
	return 0, false
}

// hash returns a table of all ids. Two equal ids are an error.
func (ids IDs) hash() (*hash, error) {
	n := ids.Len()
	h := &hash{maphash.MakeSeed(), make([]int32, 1<<bits.Len(uint(2*n)))}
	mask := uint64(len(h.slot) - 1)
	for v := range int32(n) {
		var sum uint64
		if ids.kind == Int64IDs {
			sum = h.int(ids.ints[v])
		} else {
			sum = maphash.Bytes(h.seed, ids.bytes(v))
		}
		at := sum & mask
		for ; h.slot[at] != 0; at = (at + 1) & mask {
			if u := h.slot[at] - 1; ids.equal(u, v) {
				return nil, fmt.Errorf("nodes %d and %d have the same id %s", u, v, ids.Quoted(v))
			}
		}
		h.slot[at] = v + 1
	}
	return h, nil
}

func (ids IDs) equal(u, v int32) bool {
	if ids.kind == Int64IDs {
		return ids.ints[u] == ids.ints[v]
	}
	return bytes.Equal(ids.bytes(u), ids.bytes(v))
}
