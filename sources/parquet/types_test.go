package parquet_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"

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
		"DECIMAL": logical(t, schema.NewDecimalLogicalType(9, 2), parquet.Types.Int32, -1),
		"TIME":    logical(t, schema.NewTimeLogicalType(true, schema.TimeUnitMillis), parquet.Types.Int32, -1),
	} {
		path := filepath.Join(t.TempDir(), "t.parquet")
		if err := os.WriteFile(path, write(t, n, ints([]int32{1}, []int16{1}, nil)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := sources.Tables{Edges: sources.EdgeTable{Table: in.Table{Path: path}, Source: "a", Target: "a"}}.Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), `t.parquet: column "a": it has values of type `+want+", want") {
			t.Errorf("%v, want one that names %s", err, want)
		}
	}
}
