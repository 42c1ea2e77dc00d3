package record

import (
	"fmt"
	"math"
	"sync"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Value is an element type of columns of graph records.
type Value interface {
	uint8 | int32 | int64 | float32 | uint64 | float64
}

// number returns the index of T in plainTypes, listTypes and nestedTypes.
func number[T Value]() int {
	var zero T
	switch any(zero).(type) {
	case uint8:
		return 0
	case int32:
		return 1
	case int64:
		return 2
	case float32:
		return 3
	case uint64:
		return 4
	default:
		return 5
	}
}

var plainTypes = [...]arrow.DataType{
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float32,
	arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float64,
}

func typeOf[T Value]() arrow.DataType { return plainTypes[number[T]()] }

// values is a growing Arrow buffer of T. Arrow's builders store a validity bit for each value,
// which costs time and which these columns do not need.
type values[T Value] struct {
	mem  memory.Allocator
	buf  *memory.Buffer
	all  []T // all of the capacity of buf; the first n are in use
	n    int
	hint int // number of values of the last column, the expected size of the next
}

// extend appends n values of arbitrary content and returns them for writing.
func (v *values[T]) extend(n int) []T {
	if v.n+n > len(v.all) || v.buf == nil {
		v.reserve(v.n + n)
	}
	s := v.all[v.n : v.n+n]
	v.n += n
	return s
}

// reserve makes room for n values.
func (v *values[T]) reserve(n int) {
	size := int(unsafe.Sizeof(*new(T)))
	if v.buf == nil {
		v.buf = memory.NewResizableBuffer(v.mem)
		n = max(n, v.hint)
	}
	if n*size > v.buf.Cap() {
		v.buf.Reserve(max(n*size, 2*v.buf.Cap()))
	}
	v.all = cast[T](v.buf.Buf())
}

// grow appends n zero values and returns them for writing.
func (v *values[T]) grow(n int) []T {
	s := v.extend(n)
	clear(s)
	return s
}

func (v *values[T]) add(x []T) { copy(v.extend(len(x)), x) }

// push appends one value.
func (v *values[T]) push(x T) {
	if v.n == len(v.all) {
		v.reserve(v.n + 1)
	}
	v.all[v.n] = x
	v.n++
}

// buffer returns the values as a buffer that v still owns.
func (v *values[T]) buffer() *memory.Buffer {
	if v.buf == nil {
		v.reserve(0)
	}
	v.buf.ResizeNoShrink(v.n * int(unsafe.Sizeof(*new(T))))
	return v.buf
}

// finish returns the values as an array and empties v.
func (v *values[T]) finish() arrow.ArrayData {
	data := array.NewData(typeOf[T](), v.n, []*memory.Buffer{nil, v.buffer()}, nil, 0, 0)
	v.release()
	return data
}

func (v *values[T]) release() {
	v.hint = v.n
	if v.buf != nil {
		v.buf.Release()
	}
	v.buf, v.all, v.n = nil, nil, 0
}

func cast[T Value](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	size := int(unsafe.Sizeof(*new(T)))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/size)
}

// Column builds a column of one value per row. Release frees unfinished values; it may be called at
// any time and more than once.
type Column[T Value] struct{ v values[T] }

// NewColumn returns an empty column in mem.
func NewColumn[T Value](mem memory.Allocator) *Column[T] {
	return &Column[T]{values[T]{mem: mem}}
}

// Append adds rows.
func (b *Column[T]) Append(x ...T) { b.v.add(x) }

// Finish returns the column, which the caller owns, and empties b.
func (b *Column[T]) Finish() arrow.Array { return makeArray(b.v.finish()) }

// Release frees the values since the last Finish.
func (b *Column[T]) Release() { b.v.release() }

// Lists builds a column of one list per row.
type Lists[T Value] struct {
	ends values[int32]
	v    values[T]
}

// NewLists returns an empty column of lists in mem.
func NewLists[T Value](mem memory.Allocator) *Lists[T] {
	return &Lists[T]{values[int32]{mem: mem}, values[T]{mem: mem}}
}

// Append adds a row that holds x.
func (b *Lists[T]) Append(x []T) {
	end := listEnd(b.v.n + len(x)) // panics before the values are copied
	b.start()
	b.v.add(x)
	b.ends.push(end)
}

// appendAll adds the rows v[ends[i]:ends[i+1]].
func (b *Lists[T]) appendAll(ends []int32, v []T) {
	v = v[ends[0]:ends[len(ends)-1]]
	listEnd(b.v.n + len(v)) // panics before the values are copied
	b.start()
	shift := int32(b.v.n) - ends[0]
	b.v.add(v)
	for _, end := range ends[1:] {
		b.ends.push(end + shift)
	}
}

// Grow adds a row of n zeros and returns it for writing, which must happen
// before the next call to b.
func (b *Lists[T]) Grow(n int) []T {
	end := listEnd(b.v.n + n)
	b.start()
	row := b.v.grow(n)
	b.ends.push(end)
	return row
}

// room reports whether n more values fit 32-bit offsets. The builder panics beyond 2³¹-1 values.
func (b *Lists[T]) room(n int) bool { return b.v.n+n <= math.MaxInt32 }

// listEnd returns n as an Arrow offset. It panics if n does not fit.
func listEnd(n int) int32 {
	if n > math.MaxInt32 {
		panic("record: " + tooLong(n).Error())
	}
	return int32(n)
}

// tooLong is the panic value of a column of lists with n values.
func tooLong(n int) error {
	return fmt.Errorf("%d values in a column of lists, want at most %d: use records of fewer rows", n, math.MaxInt32)
}

func (b *Lists[T]) start() {
	if b.ends.n == 0 {
		b.ends.grow(1)
	}
}

// Finish returns the column, which the caller owns, and empties b.
func (b *Lists[T]) Finish() arrow.Array { return makeArray(b.finish()) }

// lend returns a column of one row that shares the memory of x.
func (b *Lists[T]) lend(x []T) arrow.Array {
	b.start()
	b.ends.push(listEnd(len(x)))
	return makeArray(listData(ListType[T](), &b.ends, array.NewData(typeOf[T](), len(x), []*memory.Buffer{nil, lent(x)}, nil, 0, 0)))
}

// lent returns a buffer that shares the memory of x.
func lent[T Value](x []T) *memory.Buffer {
	return memory.NewBufferBytes(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T)))))
}

func (b *Lists[T]) finish() arrow.ArrayData {
	b.start()
	return listData(ListType[T](), &b.ends, b.v.finish())
}

// Release frees the values since the last Finish.
func (b *Lists[T]) Release() {
	b.ends.release()
	b.v.release()
}

// Nested builds a column of one list of lists per row.
type Nested[T Value] struct {
	ends  values[int32]
	inner *Lists[T]
	n     int
}

// NewNested returns an empty column of lists of lists in mem.
func NewNested[T Value](mem memory.Allocator) *Nested[T] {
	return &Nested[T]{ends: values[int32]{mem: mem}, inner: NewLists[T](mem)}
}

// Append adds a list to the row under construction.
func (b *Nested[T]) Append(x []T) {
	b.inner.Append(x)
	b.n++
}

// EndRow ends the row under construction, which may be empty.
func (b *Nested[T]) EndRow() {
	if b.ends.n == 0 {
		b.ends.grow(1)
	}
	b.ends.push(listEnd(b.n))
}

// Finish returns the column, which the caller owns, and empties b.
func (b *Nested[T]) Finish() arrow.Array { return b.finish(NestedType[T](), (*Lists[T]).finish) }

// finish returns a column of type t. lists converts the inner builder to its items.
func (b *Nested[T]) finish(t arrow.DataType, lists func(*Lists[T]) arrow.ArrayData) arrow.Array {
	if b.ends.n == 0 {
		b.ends.grow(1)
	}
	b.n = 0
	return makeArray(listData(t, &b.ends, lists(b.inner)))
}

// Release frees the values since the last Finish.
func (b *Nested[T]) Release() {
	b.ends.release()
	b.inner.Release()
	b.n = 0
}

// Fixed builds a column of width values per row: one row of a tensor.
type Fixed[T Value] struct {
	width int
	rows  int
	t     arrow.DataType // type of the column; nil before the first Finish
	v     values[T]
}

// NewFixed returns an empty column of rows of width values in mem.
func NewFixed[T Value](mem memory.Allocator, width int) *Fixed[T] {
	return &Fixed[T]{width: width, v: values[T]{mem: mem}}
}

// Grow adds rows of zeros and returns them, (rows, width) row-major, for
// writing, which must happen before the next call to b.
func (b *Fixed[T]) Grow(rows int) []T {
	b.rows += rows
	return b.v.grow(rows * b.width)
}

// Extend is Grow without the zeros: the rows have arbitrary contents, and the
// caller writes all of them.
func (b *Fixed[T]) Extend(rows int) []T {
	b.rows += rows
	return b.v.extend(rows * b.width)
}

// Shrink drops that many rows at the end.
func (b *Fixed[T]) Shrink(rows int) {
	b.rows -= rows
	b.v.n -= rows * b.width
}

// Finish returns the column, which the caller owns, and empties b.
func (b *Fixed[T]) Finish() arrow.Array {
	if b.t == nil {
		b.t = fixedType[T](b.width)
	}
	child := b.v.finish()
	defer child.Release()
	rows := b.rows
	b.rows = 0
	return makeArray(array.NewData(b.t, rows, []*memory.Buffer{nil}, []arrow.ArrayData{child}, 0, 0))
}

// Release frees the values since the last Finish.
func (b *Fixed[T]) Release() {
	b.rows = 0
	b.v.release()
}

// listTypes and nestedTypes are allocated once, since comparing a type with itself is fast and
// every record compares the type of each column.
var (
	listTypes   = listsOf(plainTypes)
	nestedTypes = listsOf(listTypes)
)

// listsOf returns, for each of some types, the type of lists of it.
func listsOf(types [len(plainTypes)]arrow.DataType) (lists [len(plainTypes)]arrow.DataType) {
	for i, t := range types {
		lists[i] = arrow.ListOf(t)
	}
	return lists
}

// ListType is the Arrow type of a column built by Lists.
func ListType[T Value]() arrow.DataType { return listTypes[number[T]()] }

// NestedType is the Arrow type of a column built by Nested.
func NestedType[T Value]() arrow.DataType { return nestedTypes[number[T]()] }

// fixedType returns the Arrow type of a column built by Fixed.
func fixedType[T Value](width int) arrow.DataType {
	key := fixedKey{number[T](), int32(width)}
	if t, ok := fixedTypes.Load(key); ok {
		return t.(arrow.DataType)
	}
	t, _ := fixedTypes.LoadOrStore(key, arrow.FixedSizeListOf(int32(width), typeOf[T]()))
	return t.(arrow.DataType)
}

// fixedTypes caches the Arrow type for each fixedKey. One instance of a type makes comparisons of schemas fast.
var fixedTypes sync.Map // fixedKey to arrow.DataType

type fixedKey struct {
	number int
	width  int32
}

// listData returns lists with the builder's offsets and the child, both of which it takes over.
func listData(t arrow.DataType, ends *values[int32], child arrow.ArrayData) arrow.ArrayData {
	defer child.Release()
	defer ends.release()
	return array.NewData(t, ends.n-1, []*memory.Buffer{nil, ends.buffer()}, []arrow.ArrayData{child}, 0, 0)
}

func makeArray(data arrow.ArrayData) arrow.Array {
	defer data.Release()
	return array.MakeFromData(data)
}
