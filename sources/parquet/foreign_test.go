package parquet_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/sanflow/sanflow/flow/flowtest"
	in "github.com/sanflow/sanflow/sources/parquet"
)

// node returns the schema of a column "a" at a depth of lists, whose lists and
// elements may be null.
func node(t *testing.T, kind parquet.Type, depth int) schema.Node {
	t.Helper()
	var n schema.Node
	n, err := schema.NewPrimitiveNode("a", parquet.Repetitions.Optional, kind, -1, -1)
	for range depth {
		if err == nil {
			n, err = schema.ListOfWithName("a", n, parquet.Repetitions.Optional, -1)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// write makes a file of one column with the column writers of Arrow.
func write(t *testing.T, n schema.Node, put func(file.ColumnChunkWriter) error, options ...parquet.WriterProperty) []byte {
	t.Helper()
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{n}, -1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := file.NewParquetWriter(&b, root, file.WithWriterProps(parquet.NewWriterProperties(options...)))
	group := w.AppendRowGroup()
	c, err := group.NextColumn()
	if err == nil {
		err = put(c)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func ints(v []int32, def, rep []int16) func(file.ColumnChunkWriter) error {
	return func(w file.ColumnChunkWriter) error {
		_, err := w.(*file.Int32ColumnChunkWriter).WriteBatch(v, def, rep)
		return err
	}
}

// Levels, as the paper of Dremel has them, and what they cannot be.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		depth    int
		values   []int32
		def, rep []int16
		want     string // rows, or part of the error
	}{
		{0, []int32{5, 6}, []int16{1, 1}, nil, "a=5 a=6"},
		{0, []int32{5}, []int16{1, 0}, nil, "nulls"},
		{1, []int32{5, 6, 7}, []int16{3, 3, 1, 3}, []int16{0, 1, 0, 0}, "a=[5,6] a=[] a=[7]"},
		{1, []int32{5}, []int16{3, 2}, []int16{0, 1}, "nulls"},
		{1, []int32{5}, []int16{3, 0}, []int16{0, 0}, "nulls"},
		{2, []int32{7, 8, 9}, []int16{5, 5, 3, 1, 5}, []int16{0, 2, 1, 0, 0}, "a=[[7,8],[]] a=[] a=[[9]]"},
		{2, []int32{7}, []int16{5, 4}, []int16{0, 2}, "nulls"},
		{2, []int32{7}, []int16{5, 2}, []int16{0, 1}, "nulls"},
		{2, []int32{7}, []int16{5, 0}, []int16{0, 0}, "nulls"},
	} {
		for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
			b := write(t, node(t, parquet.Types.Int32, c.depth), ints(c.values, c.def, c.rep), parquet.WithDataPageVersion(version))
			rows, _, err := drain(source(b), flowtest.Mem(t))
			got := strings.Join(rows, " ")
			if err != nil {
				got = err.Error()
			}
			if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
				t.Errorf("depth %d, levels %v and %v: %s, want %s", c.depth, c.def, c.rep, got, c.want)
			}
		}
	}
}

// All encodings and compressions that Arrow writes, in both versions of pages.
func TestEncodings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 5000
	var values []int32
	var want []string
	level := make([]int16, n)
	for i := range n {
		x := rng.Int32N(50)
		if i > n/2 { // too many for a dictionary
			x = int32(rng.Uint32())
		}
		values, level[i] = append(values, x), 1
		want = append(want, fmt.Sprintf("a=%d", x))
	}
	for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
		for _, codec := range []compress.Compression{
			compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Zstd,
		} {
			for name, encoding := range map[string]parquet.WriterProperty{
				"plain":      parquet.WithDictionaryDefault(false),
				"dictionary": parquet.WithDictionaryPageSizeLimit(4000),
				"delta":      parquet.WithEncoding(parquet.Encodings.DeltaBinaryPacked),
			} {
				options := []parquet.WriterProperty{parquet.WithDataPageVersion(version), parquet.WithCompression(codec), encoding, parquet.WithDataPageSize(3000)}
				if name == "delta" {
					options = append(options, parquet.WithDictionaryDefault(false))
				}
				b := write(t, node(t, parquet.Types.Int32, 0), ints(values, level, nil), options...)
				rows, _, err := drain(source(b), flowtest.Mem(t))
				if err != nil || !slices.Equal(rows, want) {
					t.Errorf("version %v, %v, %s: %d other rows, %v", version, codec, name, len(rows), err)
				}
			}
		}
	}
	b := write(t, node(t, parquet.Types.Int32, 0), ints(values, level, nil), parquet.WithCompression(compress.Codecs.Brotli))
	if _, _, err := drain(source(b), flowtest.Mem(t)); err == nil || !strings.Contains(err.Error(), "the compression BROTLI is not read") {
		t.Errorf("%v, want one about the compression", err)
	}
}

// What is no file, or not all of it, or no numbers, is one clear error.
func TestErrors(t *testing.T) {
	b := write(t, node(t, parquet.Types.Int32, 1), ints([]int32{5, 6}, []int16{3, 3}, []int16{0, 1}))
	text := write(t, node(t, parquet.Types.ByteArray, 0), func(w file.ColumnChunkWriter) error {
		_, err := w.(*file.ByteArrayColumnChunkWriter).WriteBatch([]parquet.ByteArray{[]byte("x")}, []int16{1}, nil)
		return err
	})
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "0 bytes are no Parquet file"},
		{[]byte("no Parquet file, but long enough"), "it is no Parquet file"},
		{b[:len(b)-1], "it was truncated"},
		{b[:len(b)/2], "it was truncated"},
		{text, `column "a" is of a type without numbers`},
	} {
		_, _, err := drain(source(c.file), flowtest.Mem(t))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want one with %q", err, c.want)
		}
	}
	for n := range b {
		if _, _, err := drain(source(b[:n]), flowtest.Mem(t)); err == nil {
			t.Errorf("%d of %d bytes: no error", n, len(b))
		}
	}
	for _, c := range []struct {
		src  in.Source
		want string
	}{
		{in.Source{}, "no Path"},
		{in.Source{Path: "a", Rows: -1}, "Rows is -1"},
		{in.Source{Path: "a", MaxBytes: -1}, "MaxBytes is -1"},
		{in.Source{Path: "nowhere.parquet"}, "sources: nowhere.parquet: no such file"},
		{in.Source{Path: t.TempDir()}, "there is no file *.parquet"},
		{in.Source{ReaderAt: bytes.NewReader(b), Size: int64(len(b)), MaxBytes: 50}, "MaxBytes 50"},
		{in.Source{ReaderAt: bytes.NewReader(b), Size: int64(len(b)), Columns: []string{"b"}}, `no column "b"; there are a`},
	} {
		if _, _, err := drain(c.src, flowtest.Mem(t)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want one with %q", err, c.want)
		}
	}
}
