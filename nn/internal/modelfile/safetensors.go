package modelfile

// The part of the safetensors format that tensors of float32, float64 and uint64 need:
//
//	8 bytes   length of the header, little-endian
//	header    JSON: name → {dtype, shape, data_offsets}, and __metadata__ → {string: string}
//	data      the tensors, row-major little-endian, one after the other
//
// The same tensors and metadata give the same bytes: names are sorted, and the
// header is padded with spaces to a multiple of 8.

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"
)

// Files beyond these bounds are refused before memory is taken.
const (
	maxHeader = 64 << 20
	maxData   = 1 << 30
)

const metadataKey = "__metadata__"

// Tensor is one tensor of a file. Exactly one of F32, F64 and U64 has the values.
type Tensor struct {
	Name  string
	Shape []int
	F32   []float32
	F64   []float64
	U64   []uint64
}

// Vector returns a tensor of one dimension.
func Vector[T float32 | float64 | uint64](name string, x []T) Tensor {
	t := Tensor{Name: name, Shape: []int{len(x)}}
	switch x := any(x).(type) {
	case []float32:
		t.F32 = x
	case []float64:
		t.F64 = x
	case []uint64:
		t.U64 = x
	}
	return t
}

// Fits returns an error unless t has the name and shape of u and is float32.
func (t Tensor) Fits(u Tensor) error {
	if t.Name != u.Name || t.F32 == nil || !slices.Equal(t.Shape, u.Shape) {
		return fmt.Errorf("a tensor is %q %v of %s, want %q %v of F32", t.Name, t.Shape, t.entry().DType, u.Name, u.Shape)
	}
	return nil
}

// entry describes a tensor in the header.
type entry struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`

	name  string
	width int64 // bytes of a value
}

func (e *entry) size() int64 { return e.Offsets[1] - e.Offsets[0] }

// entry returns the entry of t, with offsets from 0.
func (t Tensor) entry() entry {
	e := entry{DType: "F32", Shape: t.Shape, Offsets: [2]int64{0, 4 * int64(len(t.F32))}}
	switch {
	case t.F64 != nil:
		e.DType, e.Offsets[1] = "F64", 8*int64(len(t.F64))
	case t.U64 != nil:
		e.DType, e.Offsets[1] = "U64", 8*int64(len(t.U64))
	}
	return e
}

func (t Tensor) write(w io.Writer) error {
	switch {
	case t.F64 != nil:
		return writeLittle(w, t.F64, 8, func(b []byte, v float64) []byte {
			return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		})
	case t.U64 != nil:
		return writeLittle(w, t.U64, 8, binary.LittleEndian.AppendUint64)
	}
	return writeLittle(w, t.F32, 4, func(b []byte, v float32) []byte {
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	})
}

// writeLittle writes values of width bytes in little-endian order, 16 KiB at a time.
func writeLittle[T any](w io.Writer, x []T, width int, add func([]byte, T) []byte) error {
	buf := make([]byte, 0, 16<<10)
	for part := range slices.Chunk(x, cap(buf)/width) {
		buf = buf[:0]
		for _, v := range part {
			buf = add(buf, v)
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

// tensor returns the tensor of an entry. data are its values.
func (e *entry) tensor(data []byte) Tensor {
	t := Tensor{Name: e.name, Shape: e.Shape}
	n := len(data) / int(e.width)
	switch e.DType {
	case "F32":
		t.F32 = make([]float32, n)
		for i := range t.F32 {
			t.F32[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	case "F64":
		t.F64 = make([]float64, n)
		for i := range t.F64 {
			t.F64[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		}
	case "U64":
		t.U64 = make([]uint64, n)
		for i := range t.U64 {
			t.U64[i] = binary.LittleEndian.Uint64(data[8*i:])
		}
	}
	return t
}

// formatHeader returns the 8 bytes of the length and the header.
func formatHeader(meta map[string]string, list []Tensor) ([]byte, error) {
	for k, v := range meta {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return nil, fmt.Errorf("metadata %q is not UTF-8", k)
		}
	}
	header := map[string]any{metadataKey: meta}
	at := int64(0)
	for _, t := range list {
		e := t.entry()
		size := e.size()
		e.Offsets = [2]int64{at, at + size}
		header[t.Name] = e
		at += size
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	if len(text) > maxHeader || at > maxData {
		return nil, fmt.Errorf("a header of %d bytes and tensors of %d, want at most %d and %d", len(text), at, maxHeader, maxData)
	}
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), nil
}

// readHeader returns the 8 bytes of the length and the header. It allocates memory as bytes arrive.
func readHeader(r io.Reader) ([]byte, error) {
	size := make([]byte, 8)
	if _, err := io.ReadFull(r, size); err != nil {
		return nil, truncated("header length", err)
	}
	n := binary.LittleEndian.Uint64(size)
	if n < 2 || n > maxHeader {
		return nil, fmt.Errorf("not a safetensors file: a header of %d bytes, want 2 to %d", n, maxHeader)
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && uint64(len(text)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, truncated("header", err)
	}
	return append(size, text...), nil
}

func truncated(what string, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("the file ends within its %s", what)
	}
	return err
}

// parseHeader returns the metadata, and the tensors in the order of their data, which must cover the file
// without gap or overlap.
func parseHeader(text []byte) (meta map[string]string, list []entry, err error) {
	var header map[string]json.RawMessage
	if err := json.Unmarshal(text, &header); err != nil {
		return nil, nil, err
	}
	for name, raw := range header {
		if name == metadataKey {
			if err := json.Unmarshal(raw, &meta); err != nil {
				return nil, nil, fmt.Errorf("metadata: %w", err)
			}
			continue
		}
		e := entry{name: name}
		err := StrictJSON(raw, &e)
		if err == nil {
			err = e.check()
		}
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b entry) int { return int(a.Offsets[0] - b.Offsets[0]) })
	at := int64(0)
	for _, e := range list {
		if e.Offsets[0] != at {
			return nil, nil, fmt.Errorf("tensor %q begins at byte %d, want %d", e.name, e.Offsets[0], at)
		}
		if at = e.Offsets[1]; at > maxData {
			return nil, nil, fmt.Errorf("more than %d bytes of weights", maxData)
		}
	}
	return meta, list, nil
}

// check sets the width of e, and returns an error unless the offsets match the shape.
func (e *entry) check() error {
	switch e.DType {
	case "F32":
		e.width = 4
	case "F64", "U64":
		e.width = 8
	default:
		return fmt.Errorf("type %q, want F32, F64 or U64", e.DType)
	}
	size := e.width
	for _, d := range e.Shape {
		if d < 1 || size > maxData/int64(d) {
			return fmt.Errorf("shape %v is empty or too large", e.Shape)
		}
		size *= int64(d)
	}
	if from, to := e.Offsets[0], e.Offsets[1]; from < 0 || from > maxData || to != from+size {
		return fmt.Errorf("bytes %d to %d do not hold shape %v", from, to, e.Shape)
	}
	return nil
}

// readData reads the values of all tensors, up to the end of r.
func readData(r io.Reader, list []entry) ([]byte, error) {
	total := int64(0)
	for _, e := range list {
		total += e.size()
	}
	data, err := io.ReadAll(io.LimitReader(r, total+1))
	switch n := int64(len(data)); {
	case err != nil:
		return nil, err
	case n < total:
		return nil, fmt.Errorf("the file is truncated: %d bytes of weights, want %d", n, total)
	case n > total:
		return nil, fmt.Errorf("the file goes on after its %d bytes of weights", total)
	}
	return data, nil
}
