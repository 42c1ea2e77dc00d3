package sources_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet/file"

	toparquet "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources/parquet"
)

func TestParquetDamaged(t *testing.T) {
	made := stages(t)
	for _, name := range []string{"graphs", "hoods", "fields"} {
		for _, compression := range []string{"", "zstd", "snappy"} {
			t.Run(name+compression, func(t *testing.T) {
				var b bytes.Buffer
				store(t, made[name], toparquet.Sink{W: &b, Compression: compression})
				damageRun(t, b.Bytes(), damageTimes(9), 16*cap1, func(b []byte) error {
					_, _, err := drain(parquetIn(b), memory.DefaultAllocator)
					return err
				})
			})
		}
	}
}

// A damaged file of Parquet is refused, or has the rows that it had.
func TestParquetContent(t *testing.T) {
	made := stages(t)
	for _, name := range []string{"graphs", "fields"} {
		for _, compression := range []string{"", "snappy"} {
			t.Run(name+compression, func(t *testing.T) {
				var b bytes.Buffer
				store(t, made[name], toparquet.Sink{W: &b, Compression: compression, RowGroupBytes: 1})
				spans := pages(t, b.Bytes())
				// The notes, with the Arrow schema.
				at, tail := bytes.Index(b.Bytes(), []byte("ARROW:schema")), 0
				for i := at; i < b.Len() && b.Bytes()[i] >= ' ' || i < at+20; i++ {
					tail = i + 1
				}
				spans = append(spans, classSpan{at: at, end: tail, class: saidOnce})
				damageSame(t, b.Bytes(), 4, spans, 64*cap1, true, func(b []byte) (fileContent, error) {
					src := parquetIn(b)
					src.MaxBytes = 4 * cap1
					rows, schema, err := drain(src, memory.DefaultAllocator)
					return fileContent{schema: fmt.Sprint(schema), rows: rows}, err
				})
			})
		}
	}
}

func parquetIn(b []byte) parquet.Source {
	return parquet.Source{ReaderAt: bytes.NewReader(b), Size: int64(len(b)), MaxBytes: cap1}
}

// pages returns where the pages of a Parquet file are, without their headers.
func pages(t *testing.T, b []byte) (spans []classSpan) {
	t.Helper()
	f, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range f.NumRowGroups() {
		for j := range f.MetaData().Schema.NumColumns() {
			k, err := f.MetaData().RowGroup(i).ColumnChunk(j)
			if err != nil {
				t.Fatal(err)
			}
			at := k.DataPageOffset()
			if k.HasDictionaryPage() {
				at = min(at, k.DictionaryPageOffset())
			}
			for end := at + k.TotalCompressedSize(); at < end; {
				h := pageHeader{b: b[at:end]}
				h.fields(1)
				at = end - int64(len(h.b)) // behind the header
				spans = append(spans, classSpan{at: int(at), end: int(at + h.size), class: ofValue})
				at += h.size
			}
		}
	}
	return spans
}

// pageHeader reads a PageHeader in Thrift's compact protocol.
type pageHeader struct {
	b    []byte // what follows
	size int64  // compressed_page_size, the field 3 of the outer structure
}

// fields reads the fields of a structure at a depth.
func (h *pageHeader) fields(depth int) {
	for id := int64(0); ; {
		c := h.b[0]
		h.b = h.b[1:]
		switch {
		case c == 0:
			return
		case c>>4 == 0:
			id = h.signed()
		default:
			id += int64(c >> 4)
		}
		switch c & 15 {
		case 1, 2: // a bool, which is the type
		case 3:
			h.b = h.b[1:]
		case 4, 5, 6:
			if n := h.signed(); depth == 1 && id == 3 {
				h.size = n
			}
		case 8:
			n, width := binary.Uvarint(h.b)
			h.b = h.b[width+int(n):]
		case 12:
			h.fields(depth + 1)
		default:
			panic("no field of a PageHeader")
		}
	}
}

// signed reads a number in zigzag.
func (h *pageHeader) signed() int64 {
	n, width := binary.Varint(h.b)
	h.b = h.b[width:]
	return n
}
