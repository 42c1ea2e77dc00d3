package operators

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// ExpectColumns passes rows whose numbers, record.RowColumns, have these names, and refuses others
// with an error that names the first difference. The recipe of a model for rows of a table stores
// the names, since the operators that make the numbers stand before it.
type ExpectColumns struct {
	Names []string // must be set
}

var _ flow.Operator = ExpectColumns{}

// String keeps the plan of a pipeline short.
func (e ExpectColumns) String() string { return fmt.Sprintf("ExpectColumns(%d)", len(e.Names)) }

// Open compares the names. For rows without numbers it adds the column to the schema, and the rows
// are refused.
func (e ExpectColumns) Open(in *arrow.Schema) (flow.Stage, error) {
	if len(e.Names) == 0 {
		return nil, errors.New("the field Names is empty, want the names of the numbers of a row")
	}
	names, err := record.ColumnNames(in)
	if err != nil {
		return nil, err
	}
	if names == nil {
		schema, err := record.Extend(in, record.ColumnsField(e.Names))
		return lacking{passing{schema}}, err
	}
	for i, want := range e.Names {
		if i == len(names) || names[i] != want {
			got := "nothing"
			if i < len(names) {
				got = fmt.Sprintf("%q", names[i])
			}
			return nil, fmt.Errorf("number %d of a row is %s, want %q: the rows have other columns, or other settings, than the model", i+1, got, want)
		}
	}
	if len(names) > len(e.Names) {
		return nil, fmt.Errorf("the rows have the number %q, which the model does not read", names[len(e.Names)])
	}
	return passing{in}, nil
}

// lacking is a stage that refuses all rows.
type lacking struct{ passing }

func (l lacking) Fork() flow.Stage { return l }

func (l lacking) Process(rec arrow.Record, _ *flow.Out) error {
	if rec.NumRows() == 0 {
		return nil
	}
	return errors.New("the rows have no numbers, record.RowColumns: the model is for rows of a table, see choose.History")
}
