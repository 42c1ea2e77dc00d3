package record_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
)

func TestExtend(t *testing.T) {
	base := record.Layout{Classes: []string{"a"}}.Schema()
	x, y := record.ListField[int32]("x", []int{3}), record.TensorField[float32]("y", []int{2, 3, 4}, []record.Channel{{Name: "c"}})
	got, err := record.Extend(base, x, y)
	if err != nil {
		t.Fatal(err)
	}
	if n := base.NumFields(); n != 5 || got.NumFields() != 7 {
		t.Errorf("%d fields became %d", n, got.NumFields())
	}
	// Two extensions of one schema do not write into each other.
	other, err := record.Extend(base, y)
	if err != nil || got.Field(5).Name != "x" || other.Field(5).Name != "y" {
		t.Errorf("%v\n%v", got, other)
	}
	var shape []int
	var channels []record.Channel
	if err := record.Meta(got, "y", record.MetaShape, &shape); err != nil || !slices.Equal(shape, []int{2, 3, 4}) {
		t.Errorf("%v, shape %v", err, shape)
	}
	if err := record.Meta(got, "y", record.MetaChannels, &channels); err != nil || len(channels) != 1 || channels[0].Name != "c" {
		t.Errorf("%v, channels %v", err, channels)
	}
	if !arrow.TypeEqual(got.Field(6).Type, arrow.FixedSizeListOf(24, arrow.PrimitiveTypes.Float32)) {
		t.Errorf("the tensor is %v", got.Field(6).Type)
	}
	for _, fields := range [][]arrow.Field{{{Name: record.Pos, Type: arrow.PrimitiveTypes.Int64}}, {x, y, x}} {
		if _, err := record.Extend(base, fields...); err == nil {
			t.Errorf("%v are added", fields)
		}
	}
	if less := record.Without(got, "x", "nothing", record.Pos); less.NumFields() != 5 || less.HasField("x") || less.HasField(record.Pos) {
		t.Errorf("%v", less)
	}
}

func TestProject(t *testing.T) {
	mem := flowtest.Mem(t)
	recs := flowtest.Sample(mem)
	for _, rec := range recs {
		defer rec.Release()
	}
	rec := recs[0]
	fresh := func(n int) arrow.Array {
		b := record.NewColumn[int32](mem)
		b.Append(make([]int32, n)...)
		return b.Finish()
	}
	schema, err := record.Extend(record.Without(rec.Schema(), record.Neighbors), arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32})
	if err != nil {
		t.Fatal(err)
	}
	made, err := record.Project(schema, rec, map[string]arrow.Array{"x": fresh(5)})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Release()
	if made.Column(0) != rec.Column(0) || made.NumRows() != 5 || !made.Schema().Equal(schema) {
		t.Error("columns are copied, or not those of the schema")
	}
	for _, c := range []struct {
		s    *arrow.Schema
		cols map[string]arrow.Array
		want string
	}{
		{schema, nil, `record: 0 columns "x", want one`},
		{schema, map[string]arrow.Array{"x": fresh(4)}, `record: column "x" is 4 × int32, want 5 × int32`},
		{schema, map[string]arrow.Array{"x": fresh(5), record.Target: fresh(6)}, `record: column "target" is 6 × int32, want 5 × int32`},
		{schema, map[string]arrow.Array{"x": fresh(5), record.GraphID: fresh(5)}, `record: column "graph_id" is 5 × int32, want 5 × int64`},
	} {
		if _, err := record.Project(c.s, rec, c.cols); err == nil || err.Error() != c.want {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
	}
}

// TestBuildersRelease drops what was begun, at any time and twice.
func TestBuildersRelease(t *testing.T) {
	mem := flowtest.Mem(t)
	flat, lists := record.NewColumn[int32](mem), record.NewLists[int32](mem)
	nested, fixed := record.NewNested[int32](mem), record.NewFixed[int32](mem, 2)
	for range 3 {
		flat.Append(1, 2)
		lists.Append([]int32{1})
		nested.Append([]int32{1})
		if row := fixed.Grow(2); !slices.Equal(row, make([]int32, 4)) {
			t.Errorf("Grow gives %v", row)
		}
		copy(lists.Grow(3), []int32{4, 5, 6})
		for range 2 {
			flat.Release()
			lists.Release()
			nested.Release()
			fixed.Release()
		}
		if row := lists.Grow(3); !slices.Equal(row, make([]int32, 3)) {
			t.Errorf("Grow gives %v", row)
		}
		lists.Release()
		for _, a := range []arrow.Array{flat.Finish(), lists.Finish(), nested.Finish(), fixed.Finish()} {
			if a.Len() != 0 {
				t.Errorf("after Release there are %d rows", a.Len())
			}
			if l, ok := a.(array.ListLike); ok && l.ListValues().Len() != 0 {
				t.Errorf("after Release there are %d values", l.ListValues().Len())
			}
			a.Release()
		}
	}
}

// Replace is Without and Extend at once, and a name that goes may come back.
func TestReplace(t *testing.T) {
	s := record.Layout{NodeCat: []record.Channel{{Name: "a", Card: 2}}}.Schema()
	f := record.ListField[int32](record.NodeCat, []int{3, 40})
	got, err := record.Replace(s, []string{record.NodeCat}, f)
	if err != nil {
		t.Fatal(err)
	}
	want, err := record.Extend(record.Without(s, record.NodeCat), f)
	if err != nil || !got.Equal(want) {
		t.Errorf("%v, want %v (%v)", got, want, err)
	}
	if _, err := record.Replace(s, nil, f); err == nil || !strings.Contains(err.Error(), `there is a column "node_cat" already`) {
		t.Errorf("%v, want that there is the column", err)
	}
}

// Metadata is the same as that of package json, even if it is read without it.
func TestShapeIsJSON(t *testing.T) {
	for _, shape := range [][]int{nil, {}, {0}, {7}, {1024, 10, 10, 1}, {-1, 3}} {
		f := record.ListField[int32]("x", shape)
		text, _ := f.Metadata.GetValue(record.MetaShape)
		if want, err := json.Marshal(shape); err != nil || text != string(want) {
			t.Errorf("%v is %s, want %s", shape, text, want)
		}
	}
	for _, text := range []string{"null", "[]", "[0]", "[7,8]", " [7, 8] ", "[07]", "[+7]", "[7,]", "[-7]", "[7.0]", "[1e2]", "7", "", "[]]", "[99999999999999999999]"} {
		s := arrow.NewSchema([]arrow.Field{{
			Name: "x", Type: record.ListType[int32](), Metadata: arrow.NewMetadata([]string{record.MetaShape}, []string{text}),
		}}, nil)
		var got, want []int
		err, wrong := record.Meta(s, "x", record.MetaShape, &got), json.Unmarshal([]byte(text), &want)
		if !slices.Equal(got, want) || (got == nil) != (want == nil) || (err == nil) != (wrong == nil) {
			t.Errorf("%q is %v, %v, want %v, %v", text, got, err, want, wrong)
		}
	}
}
