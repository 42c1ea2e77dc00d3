package tabular

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// Options are common to the sources of files.
type Options struct {
	// Columns are the columns to read; nil for all.
	Columns []string
	// Like has types and metadata for columns of the same names.
	Like *arrow.Schema
}

// Plan maps the columns of a file to those of a record.
type Plan struct {
	Schema *arrow.Schema
	// Use reports for each column of the file whether it is read.
	Use []bool

	from   []int // for each column of Schema its column of the file, or -1 for a running number
	graphs bool
	shapes []int // for each column of Schema the product of its shape, or -1
	tops   []top
}

// NewPlan checks the columns of a file against the record contract. Other programs write wider numbers, and
// lists in place of fixed-size lists. The plan converts both. Missing columns graph_id and pos are filled in.
func NewPlan(cols []Column, meta arrow.Metadata, o Options) (*Plan, error) {
	p := &Plan{Use: make([]bool, len(cols))}
	for _, name := range o.Columns {
		if !slices.ContainsFunc(cols, func(c Column) bool { return c.Name == name }) {
			return nil, fmt.Errorf("there is no column %q; there are %s", name, names(cols))
		}
	}
	at := map[string]int{}
	for i, c := range cols {
		p.Use[i] = o.Columns == nil || slices.Contains(o.Columns, c.Name)
		if !p.Use[i] {
			continue
		}
		if _, twice := at[c.Name]; twice {
			return nil, fmt.Errorf("there are two columns %q", c.Name)
		}
		at[c.Name] = i
	}
	_, offsets := at[record.Offsets]
	_, neighbors := at[record.Neighbors]
	p.graphs = offsets && neighbors
	var fields []arrow.Field
	if p.graphs {
		for _, name := range []string{record.GraphID, record.Pos} {
			if _, ok := at[name]; !ok {
				fields = append(fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64})
				p.from = append(p.from, -1)
			}
		}
	}
	for i, c := range cols {
		if !p.Use[i] {
			continue
		}
		f, err := fieldLike(c, o.Like)
		if err != nil {
			return nil, err
		}
		fields, p.from = append(fields, f), append(p.from, i)
	}
	if o.Like != nil {
		meta = o.Like.Metadata()
	}
	p.Schema = arrow.NewSchema(fields, &meta)
	if p.graphs {
		if err := p.wantGraphs(); err != nil {
			return nil, err
		}
	}
	return p, p.prepare()
}

func names(cols []Column) string {
	var s []string
	for _, c := range cols {
		s = append(s, c.Name)
	}
	return strings.Join(s, ", ")
}

// indices are the columns of node numbers, classes and other indices besides those of graphs. They are int32
// for any integer type of a file.
var indices = []string{
	record.Roots, record.RootTarget, record.Hood, record.Members, record.NodesCat, record.EdgesCat, record.NodesSparse, record.Target,
}

// fieldLike returns the field of a column in our records. The field of like takes precedence if it has the
// name and the depth.
func fieldLike(c Column, like *arrow.Schema) (arrow.Field, error) {
	var want arrow.Field
	if like != nil {
		if at := like.FieldIndices(c.Name); len(at) > 0 {
			want = like.Field(at[0])
		}
	}
	switch deep := depth(want.Type); {
	case want.Type == nil:
		return field(c)
	case c.Elem == 0 || (c.Elem == arrow.STRING) != (elem(want.Type).ID() == arrow.STRING):
		return want, fmt.Errorf("column %q is %s, want %s, as Like has it", c.Name, c.Type, want.Type)
	case deep != c.Depth || c.Width >= 0 && !arrow.TypeEqual(want.Type, arrow.FixedSizeListOf(int32(c.Width), elem(want.Type))):
		return want, fmt.Errorf("column %q is %s, want %s, as Like has it", c.Name, c.Type, want.Type)
	}
	return want, nil
}

// field returns the field of a column in our records.
func field(c Column) (arrow.Field, error) {
	if c.Elem == arrow.STRING {
		if c.Depth != 1 || c.Width >= 0 {
			return arrow.Field{}, fmt.Errorf("column %q is %s, which records of graphs do not have: name the others in Columns", c.Name, c.Type)
		}
		if want, ok := record.ColumnType(c.Name); ok {
			return arrow.Field{}, fmt.Errorf("column %q is %s, want %s", c.Name, c.Type, want)
		}
		return arrow.Field{Name: c.Name, Type: record.IDsType(graph.StringIDs), Metadata: c.Meta}, nil
	}
	var elem arrow.DataType
	switch c.Elem {
	case arrow.UINT8:
		elem = arrow.PrimitiveTypes.Uint8
	case arrow.INT8, arrow.INT16, arrow.UINT16, arrow.INT32:
		elem = arrow.PrimitiveTypes.Int32
	case arrow.INT64, arrow.UINT32, arrow.UINT64:
		elem = arrow.PrimitiveTypes.Int64
		switch {
		case slices.Contains(indices, c.Name):
			elem = arrow.PrimitiveTypes.Int32
		case c.Elem == arrow.UINT64:
			elem = arrow.PrimitiveTypes.Uint64
		}
	case arrow.FLOAT32, arrow.FLOAT64:
		elem = arrow.PrimitiveTypes.Float32
	default:
		return arrow.Field{}, fmt.Errorf("column %q is %s, which records of graphs do not have: name the others in Columns", c.Name, c.Type)
	}
	if c.Name == record.NodeIDs || c.Name == record.RootIDs || c.Name == record.MemberIDs {
		if !arrow.IsInteger(c.Elem) || c.Depth != 1 || c.Width >= 0 {
			return arrow.Field{}, fmt.Errorf("column %q is %s, want lists of integers or of strings", c.Name, c.Type)
		}
		elem = arrow.PrimitiveTypes.Int64
	}
	switch {
	case c.Depth == 0:
	case c.Depth == 1 && c.Width >= 0:
		elem = arrow.FixedSizeListOf(int32(c.Width), elem)
	case c.Depth == 1:
		elem = arrow.ListOf(elem)
	default:
		elem = arrow.ListOf(arrow.ListOf(elem))
	}
	if want, ok := record.ColumnType(c.Name); ok {
		if depth(want) != c.Depth || c.Width >= 0 {
			return arrow.Field{}, fmt.Errorf("column %q is %s, want %s", c.Name, c.Type, want)
		}
		elem = want
	}
	return arrow.Field{Name: c.Name, Type: elem, Metadata: c.Meta}, nil
}

// depth returns the number of nested lists of a type.
func depth(t arrow.DataType) (n int) {
	for l, ok := t.(arrow.ListLikeType); ok; l, ok = l.Elem().(arrow.ListLikeType) {
		n++
	}
	return n
}

// elem returns the type of the values in lists.
func elem(t arrow.DataType) arrow.DataType {
	for l, ok := t.(arrow.ListLikeType); ok; l, ok = l.Elem().(arrow.ListLikeType) {
		t = l.Elem()
	}
	return t
}

// wantGraphs returns an error for an attribute or target without metadata.
func (p *Plan) wantGraphs() error {
	layout, err := record.LayoutOf(p.Schema)
	if err != nil {
		return err
	}
	known := layout.Schema()
	for _, name := range append(record.GraphColumns(), record.Target, record.Targets) {
		if p.Schema.HasField(name) && !known.HasField(name) {
			return fmt.Errorf("column %q has no metadata that describes its values: describe it in Like, or name the other columns in Columns", name)
		}
	}
	return nil
}

// prepare reads shapes and ranges of values from the schema.
func (p *Plan) prepare() error {
	for i, f := range p.Schema.Fields() {
		p.shapes = append(p.shapes, -1)
		var shape []int
		if err := record.Meta(p.Schema, f.Name, record.MetaShape, &shape); err != nil {
			return err
		}
		if shape != nil {
			n := 1
			for _, d := range shape {
				if d < 0 || d > 0 && n > (1<<31-1)/d {
					return fmt.Errorf("column %q has the shape %v", f.Name, shape)
				}
				n *= d
			}
			if t, ok := f.Type.(*arrow.FixedSizeListType); ok && int(t.Len()) != n {
				return fmt.Errorf("column %q has %d values a row, but the shape %v, of %d", f.Name, t.Len(), shape, n)
			}
			p.shapes[i] = n
		}
		t, ok, err := topOf(p.Schema, f)
		if err != nil {
			return err
		}
		if ok {
			p.tops = append(p.tops, t)
		}
	}
	return nil
}
