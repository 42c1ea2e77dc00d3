package sinks

import (
	"errors"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// Predictions is an operator that turns rows of fields into rows of what Predict says of them, so
// that a part of a plan (package flow/part) can be a file of predictions:
//
//	graph_id int64 · pos int64
//	root int32           the only root of the row, or -1
//	root_id utf8         its id, if the record has root_ids
//	class int32          the most probable class, with the names of the classes as metadata
//	probs                the probability of each class
//	value float32        in place of class and probs, if numbers were learned
type Predictions struct {
	Net nn.Predictor
}

// Open checks the model against the schema.
func (p Predictions) Open(in *arrow.Schema) (flow.Stage, error) {
	s := &predictions{}
	w, err := Predict{Net: p.Net, Each: s.add}.Open(in)
	if err != nil {
		return nil, err
	}
	if s.predictor = w.(*predictor); s.shape.Targets != nil {
		return nil, errors.New("the model has several targets: want a model of one, such as one of nn.Targets.Nets")
	}
	fields := []arrow.Field{
		{Name: record.GraphID, Type: arrow.PrimitiveTypes.Int64}, {Name: record.Pos, Type: arrow.PrimitiveTypes.Int64},
		{Name: "root", Type: arrow.PrimitiveTypes.Int32},
	}
	if s.named = in.HasField(record.RootIDs); s.named {
		fields = append(fields, arrow.Field{Name: "root_id", Type: arrow.BinaryTypes.String})
	}
	if c := s.shape.Classes; c > 0 {
		class := arrow.Field{Name: "class", Type: arrow.PrimitiveTypes.Int32}
		if at := in.FieldIndices(record.Target); len(at) == 1 {
			class.Metadata = in.Field(at[0]).Metadata
		}
		fields = append(fields, class, record.TensorField[float32]("probs", []int{c}, nil))
	} else {
		fields = append(fields, arrow.Field{Name: "value", Type: arrow.PrimitiveTypes.Float32})
	}
	s.schema = arrow.NewSchema(fields, nil)
	return s, nil
}

type predictions struct {
	*predictor
	schema *arrow.Schema
	named  bool
	rows   *array.RecordBuilder
}

func (s *predictions) Schema() *arrow.Schema { return s.schema }

func (s *predictions) Process(rec arrow.Record, out *flow.Out) error {
	s.rows = array.NewRecordBuilder(out.Allocator(), s.schema)
	defer s.rows.Release()
	err := s.WriteSome(out.Context(), rec, func(row int, err error) error { return out.Refuse(rec, row, err) })
	if err != nil {
		return err
	}
	return out.Emit(s.rows.NewRecord())
}

func (s *predictions) Close() error { return s.predictor.Close(nil) }

// add appends a row.
func (s *predictions) add(p Prediction) error {
	s.rows.Field(0).(*array.Int64Builder).Append(p.Graph)
	s.rows.Field(1).(*array.Int64Builder).Append(p.Pos)
	s.rows.Field(2).(*array.Int32Builder).Append(p.Root)
	next := 3
	if s.named {
		s.rows.Field(next).(*array.StringBuilder).Append(p.ID.String())
		next++
	}
	if s.shape.Classes == 0 {
		s.rows.Field(next).(*array.Float32Builder).Append(p.Value)
		return nil
	}
	s.rows.Field(next).(*array.Int32Builder).Append(int32(p.Class))
	probs := s.rows.Field(next + 1).(*array.FixedSizeListBuilder)
	probs.Append(true)
	probs.ValueBuilder().(*array.Float32Builder).AppendValues(p.Probs, nil)
	return nil
}
