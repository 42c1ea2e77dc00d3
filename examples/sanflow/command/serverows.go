package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// parseRows reads a body of -task rows: rows that are in no table, or ids of rows of -rows.
func parseRows(text []byte) (*question, error) {
	read := json.NewDecoder(bytes.NewReader(text))
	read.UseNumber()
	read.DisallowUnknownFields()
	q := new(question)
	wrong := new(json.UnmarshalTypeError)
	switch err := read.Decode(q); {
	case errors.As(err, &wrong):
		return nil, fmt.Errorf(`%q at byte %d is of type %s, want {"rows": [{"COLUMN": …}]} or {"ids": […]}`, wrong.Field, wrong.Offset, wrong.Value)
	case err != nil:
		return nil, err
	}
	if len(q.Rows)+len(q.IDs) == 0 || read.More() {
		return nil, errors.New(`want {"rows": [{"COLUMN": …}]} or {"ids": […]}`)
	}
	_, err := jsontext.NewDecoder(bytes.NewReader(text)).ReadValue() // refuses a name that an object has twice
	return q, err
}

// askRows asks a model about rows.
func (s *server) askRows(ctx context.Context, m *loaded, q *question, why bool) (all []answer, at int64, err error) {
	if err := s.few(len(q.Rows)+len(q.IDs), why); err != nil {
		return nil, 0, err
	}
	var ids []any
	var names []string
	for _, id := range q.IDs {
		name, err := nameOf(id)
		if err != nil {
			return nil, 0, err
		}
		ids, names = append(ids, id), append(names, name)
	}
	for _, row := range q.Rows {
		id := row["id"]
		if m.columns.HasID {
			id = row[m.columns.ID]
		}
		ids = append(ids, id)
	}
	asked, at, err := m.rows.Ask(names, q.Rows)
	if err != nil {
		return nil, 0, err
	}
	for i, row := range asked {
		s.stats.unknown.Add(int64(row.Unknown()))
		said, err := m.rows.Predict(ctx, row)
		if err != nil {
			return nil, 0, err
		}
		a := tell(ids[i], said, m.p, m.Offset)
		a.Ignored = row.Ignored()
		if why {
			if a.Reasons, err = m.rows.Explain(ctx, row, ""); err != nil {
				return nil, 0, err
			}
		}
		all = append(all, a)
	}
	return all, at, nil
}
