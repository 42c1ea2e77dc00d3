package arrowipc

import (
	"encoding/binary"
	"strings"
	"testing"
)

// bomb writes a schema in FlatBuffers whose tables are all at the same places:
// a type that refers n times to itself, or rather to the next of so many, and
// metadata that many columns share. Written out it would be of exponential size.
func bomb(levels, children, notes int) []byte {
	b := make([]byte, 0, 1<<20)
	put32 := func(x int) int { b = binary.LittleEndian.AppendUint32(b, uint32(x)); return len(b) - 4 }
	point := func(at, to int) { binary.LittleEndian.PutUint32(b[at:], uint32(to-at)) }
	// table begins a table of so many reference fields in the given slots and
	// returns where each of them is.
	table := func(slots ...int) (at int, fields map[int]int) {
		top := 0
		for _, s := range slots {
			top = max(top, s+1)
		}
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
		vtable := len(b)
		b = binary.LittleEndian.AppendUint16(b, uint16(4+2*top))
		b = binary.LittleEndian.AppendUint16(b, uint16(4+4*len(slots)))
		off := make([]byte, 2*top)
		for i, s := range slots {
			binary.LittleEndian.PutUint16(off[2*s:], uint16(4+4*i))
		}
		b = append(b, off...)
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
		at = put32(len(b) - vtable)
		fields = map[int]int{}
		for _, s := range slots {
			fields[s] = put32(0)
		}
		return at, fields
	}
	schema, fields := table(1)
	to := fields[1] // the vector that refers to the next type
	var shared int
	for range levels {
		vector := put32(children)
		point(to, vector)
		var refs []int
		for range children {
			refs = append(refs, put32(0))
		}
		slots := []int{2, 3, 5, 6}
		if shared > 0 { // those of columns, not of what is in them
			slots = slots[:3]
		}
		at, f := table(slots...)
		for _, r := range refs {
			point(r, at)
		}
		b[f[2]] = 13 // a struct
		empty, _ := table()
		point(f[3], empty)
		if shared == 0 {
			shared = put32(notes)
			var kvs []int
			for range notes {
				kvs = append(kvs, put32(0))
			}
			kv, k := table(0, 1)
			text := put32(1000)
			b = append(b, strings.Repeat("x", 1000)...)
			point(k[0], text)
			point(k[1], text)
			for _, r := range kvs {
				point(r, kv)
			}
		}
		if len(slots) == 4 {
			point(f[6], shared)
		}
		to = f[5]
	}
	end := put32(0)
	point(to, end)
	return append(binary.LittleEndian.AppendUint32(nil, uint32(schema+4)), b...)
}

// Schemas that are small in a file and would be huge in memory.
func TestSchemaBombs(t *testing.T) {
	for _, c := range []struct {
		levels, children, notes int
		want                    string
	}{
		{2, 3, 1, ""},
		{60, 2, 0, "a schema of more than"},
		{100, 1, 0, "types are more than 64 deep"},
		{1, 10000, 10, "texts"},
		{1, 60000, 60000, "texts"},
	} {
		f := &flat{b: bomb(c.levels, c.children, c.notes)}
		s, err := f.schema(f.follow(0))
		if c.want == "" && (err != nil || len(s.Columns) != c.children) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
