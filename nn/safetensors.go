package nn

// The safetensors format, as far as tensors of float32, float64 and uint64 need it:
//
//	8 bytes   length of the header, little-endian
//	header    JSON: name → {dtype, shape, data_offsets}, and __metadata__ → {string: string}
//	data      the tensors, row-major little-endian, one after the other
//
// The same tensors and metadata give the same bytes: names are sorted, and the
// header is padded with spaces to a multiple of 8.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"
)

// Files beyond these bounds are refused before memory is asked for.
const (
	maxHeader = 16 << 20
	maxData   = 4 * maxWeights
)

const metadataKey = "__metadata__"

// tensorData is one tensor of a file.
type tensorData struct {
	name  string
	shape []int
	x     []float32

	// Where dtype is "F64" or "U64", and not "", there is no x, but these bits.
	dtype string
	wide  []uint64
}

// bytes returns the name of the type and how many bytes the values take.
func (t tensorData) bytes() (dtype string, n int) {
	if t.dtype == "" {
		return "F32", 4 * len(t.x)
	}
	return t.dtype, 8 * len(t.wide)
}

func (t tensorData) write(w io.Writer) error {
	if t.dtype == "" {
		return writeFloats(w, t.x)
	}
	return writeLittle(w, t.wide, 8, binary.LittleEndian.AppendUint64)
}

// set takes over the values of a shape from the beginning of data, and returns the
// rest.
func (t *tensorData) set(data []byte) []byte {
	n := product(t.shape)
	if t.dtype != "" {
		t.wide = make([]uint64, n)
		for i := range t.wide {
			t.wide[i] = binary.LittleEndian.Uint64(data[8*i:])
		}
		return data[8*n:]
	}
	t.x = make([]float32, n)
	for i := range t.x {
		t.x[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return data[4*n:]
}

// width is the bytes of a value.
func (t tensorData) width() int {
	if t.dtype == "" {
		return 4
	}
	return 8
}

type tensorEntry struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

func writeTensors(w io.Writer, meta map[string]string, list []tensorData) error {
	for k, v := range meta {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return fmt.Errorf("nn: save: metadata %q is not UTF-8", k)
		}
	}
	header := map[string]any{metadataKey: meta}
	at := int64(0)
	for _, t := range list {
		dtype, n := t.bytes()
		end := at + int64(n)
		header[t.name] = tensorEntry{dtype, t.shape, [2]int64{at, end}}
		at = end
	}
	text, err := json.Marshal(header)
	if err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	if len(text) > maxHeader {
		return fmt.Errorf("nn: save: a header of %d bytes, want at most %d", len(text), maxHeader)
	}
	text = append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	if _, err := w.Write(text); err != nil {
		return err
	}
	for _, t := range list {
		if err := t.write(w); err != nil {
			return err
		}
	}
	return nil
}

func writeFloats(w io.Writer, x []float32) error {
	return writeLittle(w, x, 4, func(b []byte, v float32) []byte {
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	})
}

// writeLittle writes values of that many bytes in little-endian order, 16 KiB at a
// time.
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

// readTensors reads to the end of r. The tensors are returned in the order of
// their data, which covers the file without gap or overlap.
func readTensors(r io.Reader) (meta map[string]string, list []tensorData, err error) {
	var size [8]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, nil, truncated("header length", err)
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n < 2 || n > maxHeader {
		return nil, nil, fmt.Errorf("nn: load: not a safetensors file: a header of %d bytes, want 2 to %d", n, maxHeader)
	}
	// ReadAll takes memory as bytes arrive, so what promises much costs nothing
	// until the file keeps the promise.
	text, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && uint64(len(text)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, nil, truncated("header", err)
	}
	meta, list, err = parseHeader(text)
	if err != nil {
		return nil, nil, fmt.Errorf("nn: load: header: %w", err)
	}
	total := 0
	for _, t := range list {
		total += t.width() * product(t.shape)
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(total)+1))
	if err != nil {
		return nil, nil, fmt.Errorf("nn: load: %w", err)
	}
	if len(data) < total {
		return nil, nil, fmt.Errorf("nn: load: the file is truncated: %d bytes of weights, want %d", len(data), total)
	}
	if len(data) > total {
		return nil, nil, fmt.Errorf("nn: load: the file goes on after its %d bytes of weights", total)
	}
	for i := range list {
		data = list[i].set(data)
	}
	return meta, list, nil
}

// parseHeader returns the tensors without their values.
func parseHeader(text []byte) (meta map[string]string, list []tensorData, err error) {
	var header map[string]json.RawMessage
	if err := json.Unmarshal(text, &header); err != nil {
		return nil, nil, err
	}
	starts := make(map[string]int64)
	for name, raw := range header {
		if name == metadataKey {
			if err := json.Unmarshal(raw, &meta); err != nil {
				return nil, nil, fmt.Errorf("metadata: %w", err)
			}
			continue
		}
		var e tensorEntry
		if err := strictJSON(raw, &e); err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		one := tensorData{name: name, shape: e.Shape}
		switch e.DType {
		case "F32":
		case "F64", "U64":
			one.dtype = e.DType
		default:
			return nil, nil, fmt.Errorf("tensor %q: type %q, want F32, F64 or U64", name, e.DType)
		}
		size := int64(one.width())
		for _, d := range e.Shape {
			if d < 1 || size > maxData/int64(d) {
				return nil, nil, fmt.Errorf("tensor %q: shape %v is empty or too large", name, e.Shape)
			}
			size *= int64(d)
		}
		if b, end := e.Offsets[0], e.Offsets[1]; b < 0 || b > maxData || end != b+size {
			return nil, nil, fmt.Errorf("tensor %q: bytes %d to %d do not hold shape %v", name, b, end, e.Shape)
		}
		starts[name] = e.Offsets[0]
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b tensorData) int { return int(starts[a.name] - starts[b.name]) })
	at := int64(0)
	for _, t := range list {
		if starts[t.name] != at {
			return nil, nil, fmt.Errorf("tensor %q begins at byte %d, want %d", t.name, starts[t.name], at)
		}
		if at += int64(t.width() * product(t.shape)); at > maxData {
			return nil, nil, fmt.Errorf("more than %d bytes of weights", maxData)
		}
	}
	return meta, list, nil
}

// strictJSON is json.Unmarshal that refuses fields v does not have.
func strictJSON(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("text after the value")
	}
	return nil
}

func truncated(what string, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("nn: load: the file ends within its %s", what)
	}
	return fmt.Errorf("nn: load: %w", err)
}
