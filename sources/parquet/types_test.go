package parquet_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sources"
	in "github.com/sanflow/sanflow/sources/parquet"
)

// tableOf reads the only column of a file as a table does.
func tableOf(t *testing.T, b []byte) (typ sources.ColumnType, values []string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := in.Table{Path: path}.OpenTable(t.Context())
	if err != nil {
		return typ, nil, err
	}
	defer r.Close()
	r.Choose([]int{0})
	for {
		batch, err := r.Next()
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return r.Columns()[0].Type, values, err
		}
		v := batch.Values[0]
		for i := range batch.Rows {
			switch {
			case v.Missing != nil && v.Missing[i]:
				values = append(values, "none")
			case v.Spans != nil:
				values = append(values, string(v.Text[v.Spans[i].From:v.Spans[i].To]))
			case v.Integers != nil:
				values = append(values, fmt.Sprint(v.Integers[i]))
			default:
				values = append(values, fmt.Sprint(v.Floats[i]))
			}
		}
	}
}

func logical(t *testing.T, l schema.LogicalType, kind parquet.Type, size int) schema.Node {
	t.Helper()
	n, err := schema.NewPrimitiveNodeLogical("a", parquet.Repetitions.Optional, l, kind, size, -1)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Tables read truth values, dates and timestamps, and strings in the encodings of lengths.
func TestTableTypes(t *testing.T) {
	race.Skip(t)
	rng := rand.New(rand.NewPCG(3, 4))
	const n = 3000
	var level []int16
	var truth []bool
	var texts []parquet.ByteArray
	var whole []int64
	var wantTruth, wantText []string
	for range n {
		if rng.IntN(7) == 0 {
			level, wantTruth, wantText = append(level, 0), append(wantTruth, "none"), append(wantText, "none")
			continue
		}
		x, s := rng.IntN(3) == 0, strings.Repeat("ab", rng.IntN(9))+fmt.Sprint(rng.IntN(99))
		level, truth, wantTruth = append(level, 1), append(truth, x), append(wantTruth, fmt.Sprint(x))
		texts, wantText = append(texts, parquet.ByteArray(s)), append(wantText, s)
		whole = append(whole, rng.Int64N(1<<50)-1<<49)
	}
	want := func(of func(x int64) string) (all []string) {
		at := 0
		for _, l := range level {
			if l == 0 {
				all = append(all, "none")
				continue
			}
			all = append(all, of(whole[at]))
			at++
		}
		return all
	}
	putWhole := func(w file.ColumnChunkWriter) error {
		_, err := w.(*file.Int64ColumnChunkWriter).WriteBatch(whole, level, nil)
		return err
	}
	putDays := func(w file.ColumnChunkWriter) error {
		var days []int32
		for _, x := range whole {
			days = append(days, int32(x>>20))
		}
		_, err := w.(*file.Int32ColumnChunkWriter).WriteBatch(days, level, nil)
		return err
	}
	putTexts := func(w file.ColumnChunkWriter) error {
		_, err := w.(*file.ByteArrayColumnChunkWriter).WriteBatch(texts, level, nil)
		return err
	}
	text := logical(t, schema.StringLogicalType{}, parquet.Types.ByteArray, -1)
	stamp := func(unit schema.TimeUnitType) schema.Node {
		return logical(t, schema.NewTimestampLogicalType(true, unit), parquet.Types.Int64, -1)
	}
	seconds := func(unit float64) []string {
		return want(func(x int64) string { return fmt.Sprint(unit * float64(x)) })
	}
	for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
		for name, c := range map[string]struct {
			node   schema.Node
			put    func(file.ColumnChunkWriter) error
			option []parquet.WriterProperty
			typ    sources.ColumnType
			want   []string
		}{
			"truth": {node(t, parquet.Types.Boolean, 0), func(w file.ColumnChunkWriter) error {
				_, err := w.(*file.BooleanColumnChunkWriter).WriteBatch(truth, level, nil)
				return err
			}, nil, sources.String, wantTruth},
			"date": {logical(t, schema.DateLogicalType{}, parquet.Types.Int32, -1), putDays, nil, sources.Float,
				want(func(x int64) string { return fmt.Sprint(float64(int32(x>>20)) * 86400) })},
			"millis":        {stamp(schema.TimeUnitMillis), putWhole, nil, sources.Float, seconds(1e-3)},
			"micros":        {stamp(schema.TimeUnitMicros), putWhole, nil, sources.Float, seconds(1e-6)},
			"nanos":         {stamp(schema.TimeUnitNanos), putWhole, nil, sources.Float, seconds(1e-9)},
			"packed times":  {stamp(schema.TimeUnitMicros), putWhole, []parquet.WriterProperty{parquet.WithEncoding(parquet.Encodings.DeltaBinaryPacked)}, sources.Float, seconds(1e-6)},
			"delta length":  {text, putTexts, []parquet.WriterProperty{parquet.WithEncoding(parquet.Encodings.DeltaLengthByteArray)}, sources.String, wantText},
			"delta strings": {text, putTexts, []parquet.WriterProperty{parquet.WithEncoding(parquet.Encodings.DeltaByteArray)}, sources.String, wantText},
		} {
			options := append(c.option, parquet.WithDataPageVersion(version))
			if name != "delta strings" { // of which Arrow writes the second page as if it went on
				options = append(options, parquet.WithDataPageSize(2000))
			}
			if c.option != nil {
				options = append(options, parquet.WithDictionaryDefault(false))
			}
			b := write(t, c.node, c.put, options...)
			typ, got, err := tableOf(t, b)
			if err != nil || typ != c.typ || !slices.Equal(got, c.want) {
				t.Errorf("%s, version %v: %v, %d values, %v, want %v and %d", name, version, typ, len(got), err, c.typ, len(c.want))
			}
			for range 25 { // damaged: an error or other values, no panic
				bad := slices.Clone(b)
				bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
				_, _, _ = tableOf(t, bad)
			}
		}
	}
}

// A column that cannot be read is refused by the name of its type.
func TestTableRefuses(t *testing.T) {
	for want, n := range map[string]schema.Node{
		"ENUM": logical(t, schema.EnumLogicalType{}, parquet.Types.ByteArray, -1),
		"TIME": logical(t, schema.NewTimeLogicalType(true, schema.TimeUnitMillis), parquet.Types.Int32, -1),
	} {
		path := filepath.Join(t.TempDir(), "t.parquet")
		put := ints([]int32{1}, []int16{1}, nil)
		if n.(*schema.PrimitiveNode).PhysicalType() == parquet.Types.ByteArray {
			put = func(w file.ColumnChunkWriter) error {
				_, err := w.(*file.ByteArrayColumnChunkWriter).WriteBatch([]parquet.ByteArray{{'x'}}, []int16{1}, nil)
				return err
			}
		}
		if err := os.WriteFile(path, write(t, n, put), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := sources.Tables{Edges: sources.EdgeTable{Table: in.Table{Path: path}, Source: "a", Target: "a"}}.Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), `t.parquet: column "a": it has values of type `+want+", want") {
			t.Errorf("%v, want one that names %s", err, want)
		}
	}
}

// UUIDs are strings and decimals the nearest numbers, in all their physical types.
func TestTableFixed(t *testing.T) {
	race.Skip(t)
	bytesOf := func(x *big.Int, size int) []byte {
		return new(big.Int).And(x, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(8*size)), big.NewInt(1))).FillBytes(make([]byte, size))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		kind  parquet.Type
		size  int
		scale int32
		logic schema.LogicalType
	}{
		{parquet.Types.Int32, -1, 2, schema.NewDecimalLogicalType(9, 2)},
		{parquet.Types.Int64, -1, 0, schema.NewDecimalLogicalType(18, 0)},
		{parquet.Types.Int64, -1, 7, schema.NewDecimalLogicalType(18, 7)},
		{parquet.Types.FixedLenByteArray, 5, 3, schema.NewDecimalLogicalType(10, 3)},
		{parquet.Types.FixedLenByteArray, 16, 10, schema.NewDecimalLogicalType(38, 10)},
		{parquet.Types.FixedLenByteArray, 16, -1, schema.UUIDLogicalType{}},
	} {
		var level []int16
		var want []string
		var small []int32
		var large []int64
		var fixed []parquet.FixedLenByteArray
		for range 2000 {
			if rng.IntN(5) == 0 {
				level, want = append(level, 0), append(want, "none")
				continue
			}
			x := big.NewInt(rng.Int64N(1<<30) - 1<<29)
			switch level = append(level, 1); {
			case c.scale < 0:
				b := make([]byte, 16)
				for i := range b {
					b[i] = byte(rng.Uint32())
				}
				s := hex.EncodeToString(b)
				fixed, want = append(fixed, b), append(want, s[:8]+"-"+s[8:12]+"-"+s[12:16]+"-"+s[16:20]+"-"+s[20:])
				continue
			case c.size > 0:
				fixed = append(fixed, bytesOf(x, c.size))
			case c.kind == parquet.Types.Int32:
				small = append(small, int32(x.Int64()))
			default:
				large = append(large, x.Int64())
			}
			f, _ := new(big.Rat).SetFrac(x, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.scale)), nil)).Float64()
			want = append(want, fmt.Sprint(f))
		}
		for _, dictionary := range []bool{false, true} {
			b := write(t, logical(t, c.logic, c.kind, c.size), func(w file.ColumnChunkWriter) (err error) {
				switch w := w.(type) {
				case *file.Int32ColumnChunkWriter:
					_, err = w.WriteBatch(small, level, nil)
				case *file.Int64ColumnChunkWriter:
					_, err = w.WriteBatch(large, level, nil)
				case *file.FixedLenByteArrayColumnChunkWriter:
					_, err = w.WriteBatch(fixed, level, nil)
				}
				return err
			}, parquet.WithDictionaryDefault(dictionary))
			_, got, err := tableOf(t, b)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%v, %d bytes, dictionary %t: %v, %.3q, want %.3q", c.logic, c.size, dictionary, err, got, want)
			}
			for range 25 {
				bad := slices.Clone(b)
				bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
				_, _, _ = tableOf(t, bad)
			}
		}
	}
}

// Row groups without rows are passed over, wherever they stand, and so are files without rows, whose
// columns may have another type. Edges reads the same rows.
func TestEmptyRowGroups(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, kind parquet.Type, groups ...[]int64) string {
		var fields schema.FieldList
		for _, name := range []string{"a", "b"} {
			n, err := schema.NewPrimitiveNode(name, parquet.Repetitions.Required, kind, -1, -1)
			if err != nil {
				t.Fatal(err)
			}
			fields = append(fields, n)
		}
		root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w := file.NewParquetWriter(f, root)
		for _, values := range groups {
			group := w.AppendRowGroup()
			for range 2 {
				c, err := group.NextColumn()
				if err != nil {
					t.Fatal(err)
				}
				if of, ok := c.(*file.Int64ColumnChunkWriter); ok && len(values) > 0 {
					if _, err := of.WriteBatch(values, nil, nil); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				for i := range values {
					values[i]++
				}
			}
			if err := group.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, path := range map[string]string{
		"middle": put("m.parquet", parquet.Types.Int64, []int64{1, 5}, nil, []int64{9}),
		"first":  put("f.parquet", parquet.Types.Int64, nil, []int64{1, 5}, nil, nil, []int64{9}, nil),
		"part":   filepath.Dir(put("p/2.parquet", parquet.Types.Int64, []int64{1, 5, 9})),
	} {
		if name == "part" {
			put("p/1.parquet", parquet.Types.ByteArray, nil)
			put("p/3.parquet", parquet.Types.Boolean)
		}
		set, err := sources.Tables{Edges: sources.EdgeTable{Table: in.Table{Path: path}, Source: "a", Target: "b"}}.Read(t.Context())
		if err != nil || set.Stats.EdgeRows != 3 || fmt.Sprint(set.Items[0].NodeID.Ints()) != "[1 2 5 6 9 10]" {
			t.Errorf("%s: %+v, %v", name, set, err)
		}
		if name == "part" {
			continue // Edges wants equal columns
		}
		net, err := sources.EdgeList{Table: in.Table{Path: path}}.Read(t.Context())
		if err != nil || net.Stats.EdgeRows != 3 || fmt.Sprint(net.Items[0].NodeID.Ints()) != "[1 2 5 6 9 10]" {
			t.Errorf("%s: %+v, %v", name, net, err)
		}
	}
	_, err := in.Table{Path: put("h/y=1/x.parquet", parquet.Types.Int64, []int64{1})[:len(dir)+2]}.OpenTable(t.Context())
	if err == nil || !strings.Contains(err.Error(), "folders such as y=1") {
		t.Error(err)
	}
	// The name of a compression that is not read.
	b := write(t, logical(t, schema.StringLogicalType{}, parquet.Types.ByteArray, -1), func(w file.ColumnChunkWriter) error {
		_, err := w.(*file.ByteArrayColumnChunkWriter).WriteBatch([]parquet.ByteArray{{'x'}}, []int16{1}, nil)
		return err
	}, parquet.WithCompression(compress.Codecs.Brotli))
	if _, _, err := tableOf(t, b); err == nil || !strings.Contains(err.Error(), "the compression BROTLI is not read") {
		t.Error(err)
	}
}
