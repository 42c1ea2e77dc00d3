package metamorphic

import (
	"errors"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// refuse refuses the rows of every so many graphs.
type refuse struct{ Every int }

var errRefused = errors.New("refused by the test")

func (r refuse) Open(in *arrow.Schema) (flow.Stage, error) { return &refuser{r, in}, nil }

type refuser struct {
	refuse
	schema *arrow.Schema
}

func (r *refuser) Schema() *arrow.Schema { return r.schema }

func (r *refuser) Fork() flow.Stage { return r }

func (r *refuser) refuses(graph int64) bool { return graph%int64(r.Every) == 1 }

func (r *refuser) Process(rec arrow.Record, out *flow.Out) error {
	ids, err := record.Values[int64](rec, record.GraphID)
	if err != nil {
		return err
	}
	for row := 0; row < len(ids); {
		if r.refuses(ids[row]) {
			if err := out.Refuse(rec, row, errRefused); err != nil {
				return err
			}
			row++
			continue
		}
		end := row + 1
		for end < len(ids) && !r.refuses(ids[end]) {
			end++
		}
		if err := out.Emit(rec.NewSlice(int64(row), int64(end))); err != nil {
			return err
		}
		row = end
	}
	return nil
}
