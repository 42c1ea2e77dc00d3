package sources_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/sources"
)

// craft writes messages of Arrow IPC as no library would, without checksums. Slots are
// numbered as in Arrow's Schema.fbs and Message.fbs.
type craft struct{ *flatbuffers.Builder }

func newCraft() craft { return craft{flatbuffers.NewBuilder(1 << 10)} }

// table is a table of offsets and numbers, each in the slot of its index; nil is an
// absent one.
func (c craft) table(slots ...any) flatbuffers.UOffsetT {
	c.StartObject(len(slots))
	for i, x := range slots {
		switch x := x.(type) {
		case flatbuffers.UOffsetT:
			c.PrependUOffsetTSlot(i, x, 0)
		case int:
			c.PrependInt32Slot(i, int32(x), 0)
		case int16:
			c.PrependInt16Slot(i, x, 0)
		case int64:
			c.PrependInt64Slot(i, x, 0)
		case byte:
			c.PrependByteSlot(i, x, 0)
		}
	}
	return c.EndObject()
}

func (c craft) tables(of ...flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	c.StartVector(4, len(of), 4)
	for i := len(of) - 1; i >= 0; i-- {
		c.PrependUOffsetT(of[i])
	}
	return c.EndVector(len(of))
}

// pairs is a vector of two numbers each.
func (c craft) pairs(of ...[2]int64) flatbuffers.UOffsetT {
	c.StartVector(16, len(of), 8)
	for i := len(of) - 1; i >= 0; i-- {
		c.PrependInt64(of[i][1])
		c.PrependInt64(of[i][0])
	}
	return c.EndVector(len(of))
}

const (
	kindSchema, kindBatch                       = 1, 3
	typeInt, typeList, typeFixed, typeLargeList = 2, 12, 16, 21
)

func (c craft) i32() flatbuffers.UOffsetT { return c.table(32, byte(1)) }

// field is a column, or what is in one.
func (c craft) field(name flatbuffers.UOffsetT, kind byte, of flatbuffers.UOffsetT, notes any, children ...flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	var inside any
	if len(children) > 0 {
		inside = c.tables(children...)
	}
	return c.table(name, byte(0), kind, of, nil, inside, notes)
}

// message ends a message of that kind with a body.
func (c craft) message(kind byte, header flatbuffers.UOffsetT, body []byte, claimed int64) []byte {
	c.Finish(c.table(int16(4), kind, header, claimed))
	meta := c.FinishedBytes()
	meta = append(meta, make([]byte, -len(meta)&7)...)
	b := binary.LittleEndian.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, uint32(len(meta)))
	return append(append(b, meta...), body...)
}

// streamOf is a stream of a schema and one batch.
func streamOf(schema func(c craft) []flatbuffers.UOffsetT, rows int64, nodes, buffers [][2]int64, body []byte) []byte {
	c := newCraft()
	fields := schema(c)
	b := c.message(kindSchema, c.table(nil, c.tables(fields...)), nil, 0)
	c = newCraft()
	ns := c.pairs(nodes...)
	bs := c.pairs(buffers...)
	return append(b, c.message(kindBatch, c.table(rows, ns, bs), body, int64(len(body)))...)
}

// crafted reads a stream. It must be refused, or have so many rows, without a panic and
// without more memory than most.
func crafted(t *testing.T, what string, b []byte, rows int, most uint64) (refused bool) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, _, err := drain(sources.IPC{Reader: bytes.NewReader(b), MaxBytes: cap1}, memory.DefaultAllocator)
	runtime.ReadMemStats(&after)
	switch took := after.TotalAlloc - before.TotalAlloc; {
	case took > most:
		t.Errorf("%s: %d bytes made it allocate %d, want at most %d: %v", what, len(b), took, most, err)
	case err == nil && len(got) != rows:
		t.Errorf("%s: %d rows, want %d", what, len(got), rows)
	case err != nil && (strings.Contains(err.Error(), "cannot be read") || strings.Contains(err.Error(), "\n")):
		t.Errorf("%s: %.300v", what, err)
	}
	return err != nil
}

// lists has a column of lists, of large lists, of lists of two values and of values, in
// two rows. Numbers of the batch, in this order: those of its nodes, of its buffers, and
// the offsets of both kinds of lists.
func lists(edit func(numbers []int64, body []byte)) []byte {
	numbers := []int64{
		2, 0, 3, 0, 2, 0, 3, 0, 2, 0, 4, 0, 2, 0,
		0, 0, 0, 12, 16, 0, 16, 12, 32, 0, 32, 24, 56, 0, 56, 12, 72, 0, 72, 0, 72, 16, 88, 0, 88, 8,
	}
	const nodes = 14
	body := make([]byte, 96)
	for i, end := range []uint32{0, 1, 3} {
		binary.LittleEndian.PutUint32(body[4*i:], end)
		binary.LittleEndian.PutUint64(body[32+8*i:], uint64(end))
	}
	edit(numbers, body)
	pairs := func(v []int64) (p [][2]int64) {
		for i := 0; i < len(v); i += 2 {
			p = append(p, [2]int64{v[i], v[i+1]})
		}
		return p
	}
	return streamOf(func(c craft) []flatbuffers.UOffsetT {
		item := func() flatbuffers.UOffsetT { return c.field(c.CreateString("item"), typeInt, c.i32(), nil) }
		return []flatbuffers.UOffsetT{
			c.field(c.CreateString("a"), typeList, c.table(), nil, item()),
			c.field(c.CreateString("b"), typeLargeList, c.table(), nil, item()),
			c.field(c.CreateString("c"), typeFixed, c.table(2), nil, item()),
			c.field(c.CreateString("d"), typeInt, c.i32(), nil),
		}
	}, 2, pairs(numbers[:nodes]), pairs(numbers[nodes:]), body)
}

// Numbers of a batch that lead outside of it, overflow, or are negative, and offsets of
// lists of 2³¹ and more, one and two at a time.
func TestIPCCraftedBatch(t *testing.T) {
	if crafted(t, "nothing", lists(func([]int64, []byte) {}), 2, cap1) {
		t.Fatal("what is right is refused")
	}
	extremes := []int64{-1, -8, 1, 1 << 20, 1<<31 - 1, 1 << 31, 1 << 32, 1 << 60, 1 << 61, 1 << 62, math.MaxInt64 - 7, math.MaxInt64, math.MinInt64}
	tried, refused := 0, 0
	try := func(what string, edit func([]int64, []byte)) {
		if tried++; crafted(t, what, lists(edit), 2, 4*cap1) {
			refused++
		}
	}
	const numbers = 34
	for i := range numbers {
		for j, x := range extremes {
			try(fmt.Sprintf("number %d is %d", i, x), func(n []int64, _ []byte) { n[i] = x })
			k, y := (i+1+j)%numbers, extremes[(i+j)%len(extremes)]
			try(fmt.Sprintf("number %d is %d, %d is %d", i, x, k, y), func(n []int64, _ []byte) { n[i], n[k] = x, y })
		}
	}
	for i := range 3 {
		for _, x := range extremes {
			try(fmt.Sprintf("offset %d is %d", i, x), func(_ []int64, body []byte) { binary.LittleEndian.PutUint32(body[4*i:], uint32(x)) })
			try(fmt.Sprintf("large offset %d is %d", i, x), func(_ []int64, body []byte) { binary.LittleEndian.PutUint64(body[32+8*i:], uint64(x)) })
		}
	}
	if t.Logf("%d of %d were refused", refused, tried); refused < tried*9/10 {
		t.Errorf("%d of %d were refused", refused, tried)
	}
}

// Schemas that say the same name or note again and again, and batches of rows without
// columns, take no more memory than a file of their size may.
func TestIPCCraftedSchema(t *testing.T) {
	none := func(craft) []flatbuffers.UOffsetT { return nil }
	if !crafted(t, "rows without columns", streamOf(none, math.MaxInt32, nil, nil, nil), 0, cap1) {
		t.Error("rows without columns are read")
	}
	for _, s := range [][2]int{{1, 60}, {60, 60}, {1000, 2}, {1000, 60}} {
		crafted(t, fmt.Sprintf("a name in %d columns of lists %d deep", s[0], s[1]), streamOf(func(c craft) (all []flatbuffers.UOffsetT) {
			name, empty := c.CreateString(strings.Repeat("x", 4096)), c.table()
			for range s[0] {
				f := c.field(name, typeInt, c.i32(), nil)
				for range s[1] {
					f = c.field(name, typeList, empty, nil, f)
				}
				all = append(all, f)
			}
			return all
		}, 0, nil, nil, nil), 0, 32*cap1)
	}
	note := "[" + strings.Repeat("{},", 1<<16) + "{}]"
	if !crafted(t, "a note of 100 columns", streamOf(func(c craft) (all []flatbuffers.UOffsetT) {
		notes := c.tables(c.table(c.CreateString("channels"), c.CreateString(note)))
		for i := range 100 {
			all = append(all, c.field(c.CreateString(fmt.Sprint("c", i)), typeList, c.table(), notes, c.field(c.CreateString("item"), typeInt, c.i32(), nil)))
		}
		return all
	}, 0, nil, nil, nil), 0, 32*cap1) {
		t.Error("a note of 100 columns is read")
	}
}
