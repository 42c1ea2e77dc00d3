package sources_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record/mapped"
	"github.com/sanflow/sanflow/internal/arrowipc"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

func content(src flow.Source) (fileContent, error) {
	rows, schema, err := drain(src, memory.DefaultAllocator)
	return fileContent{schema: fmt.Sprint(schema), rows: rows}, err
}

// bodies are the bodies of the batches of a file.
func bodies(t *testing.T, b []byte) (spans []classSpan) {
	f, err := arrowipc.OpenFile(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range f.Blocks {
		at := int(k.Offset + k.Meta)
		spans = append(spans, classSpan{at: at, end: at + int(k.Body), class: ofValue})
	}
	return spans
}

// unsummed is the file as it is without its checksum, from another writer.
func unsummed(t *testing.T, b []byte) []byte {
	at := bytes.LastIndex(b, []byte("SANFSUM1"))
	if at < 0 {
		t.Fatal("there is no checksum")
	}
	return slices.Concat(b[:at], b[at+24:])
}

// A damaged file is refused, or has the rows that it had.
func TestIPCContent(t *testing.T) {
	made := stages(t)
	for _, name := range []string{"graphs", "fields"} {
		for _, compression := range []string{"", "lz4"} {
			t.Run("file of "+name+compression, func(t *testing.T) {
				var b bytes.Buffer
				store(t, made[name], sinks.IPC{W: &b, Compression: compression})
				read := func(b []byte) (fileContent, error) {
					return content(sources.IPC{Reader: bytes.NewReader(b), MaxBytes: cap1})
				}
				// With the checksum values count as structure: none may change.
				damageSame(t, b.Bytes(), 8, nil, 16*cap1, true, read)
				old := unsummed(t, b.Bytes())
				damageSame(t, old, 8, bodies(t, old), 16*cap1, true, read)
			})
			t.Run("stream of "+name+compression, func(t *testing.T) {
				var b bytes.Buffer
				store(t, made[name], sinks.IPC{W: &b, Stream: true, Compression: compression})
				damageSame(t, b.Bytes(), 4, parts(t, b.Bytes()), 16*cap1, false, func(b []byte) (fileContent, error) {
					return content(sources.IPC{Reader: bytes.NewReader(b), MaxBytes: cap1})
				})
			})
		}
	}
}

// parts are the schema and the bodies of a stream.
func parts(t *testing.T, b []byte) (spans []classSpan) {
	s, err := arrowipc.NewStream(bytes.NewReader(b), -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := 8 + int(b[4]) + int(b[5])<<8
	spans = append(spans, classSpan{at: 8, end: at, class: saidOnce})
	for meta, body, err := s.Next(); err == nil; meta, body, err = s.Next() {
		at += len(meta)
		spans = append(spans, classSpan{at: at, end: at + len(body), class: ofValue})
		at += len(body)
	}
	return spans
}

// walk refuses lists that lead nowhere, as the views of package record do.
func walk(a arrow.Array) error {
	if v, ok := a.(*array.Float32); ok {
		for _, x := range v.Float32Values() {
			if x-x != 0 {
				return fmt.Errorf("%v, which JSON cannot say", x)
			}
		}
	}
	if s, ok := a.(*array.String); ok {
		at, all := 0, 0
		if text := s.Data().Buffers()[2]; text != nil {
			all = text.Len()
		}
		for i := 0; i <= s.Len() && s.Len() > 0; i++ {
			if to := s.ValueOffset(i); to < at || to > all {
				return fmt.Errorf("string %d leads to %d to %d of %d", i, at, to, all)
			} else {
				at = to
			}
		}
	}
	l, ok := a.(array.ListLike)
	if !ok {
		return nil
	}
	at := int64(0)
	for row := 0; row < a.Len(); row++ {
		from, to := l.ValueOffsets(row)
		if from < at || to < from || to > int64(l.ListValues().Len()) {
			return fmt.Errorf("list %d leads to %d to %d of %d", row, from, to, l.ListValues().Len())
		}
		at = to
	}
	return walk(l.ListValues())
}

// A mapped file that is damaged is refused, or has the rows that it had.
func TestMappedContent(t *testing.T) {
	made := stages(t)
	for _, name := range []string{"graphs", "fields"} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			store(t, made[name], sinks.IPC{W: &b})
			path := filepath.Join(t.TempDir(), "a.arrow")
			damageSame(t, b.Bytes(), 4, nil, 16*cap1, true, func(b []byte) (fileContent, error) { return inPlace(path, b, true) })
			old := unsummed(t, b.Bytes())
			damageSame(t, old, 4, bodies(t, old), 16*cap1, true, func(b []byte) (fileContent, error) { return inPlace(path, b, false) })
		})
	}
}

// inPlace maps a file of these bytes and reads all of it.
func inPlace(path string, b []byte, verify bool) (c fileContent, err error) {
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return c, err
	}
	f, err := mapped.Open(path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	if verify {
		if err := f.Verify(context.Background()); err != nil {
			return c, err
		}
	}
	c.schema = fmt.Sprint(f.Schema())
	for i := range f.Len() {
		rec, err := f.Record(i)
		if err != nil {
			return c, err
		}
		defer rec.Release()
		for _, col := range rec.Columns() {
			if err := walk(col); err != nil {
				return c, err
			}
		}
		c.rows = append(c.rows, flowtest.Rows(rec)...)
	}
	return c, nil
}
