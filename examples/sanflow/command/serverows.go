package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// rowQuestion is the body of POST /predict and /explain of -task rows: rows that are in no table, or ids of rows of -rows.
type rowQuestion struct {
	Rows []choose.Row `json:"rows"`
	IDs  []any        `json:"ids"`
}

// parseRows reads a body.
func parseRows(text []byte) (*rowQuestion, error) {
	if n := bytes.Count(text, []byte{','}); n >= maxValues {
		return nil, fail(http.StatusRequestEntityTooLarge, "the body has %d commas, want fewer than %d: fewer rows", n, maxValues)
	}
	read := json.NewDecoder(bytes.NewReader(text))
	read.UseNumber()
	read.DisallowUnknownFields()
	q := new(rowQuestion)
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
func (s *server) askRows(ctx context.Context, m *loaded, q *rowQuestion, why bool) (all []answer, err error) {
	if n := len(q.Rows) + len(q.IDs); n > s.ids {
		return nil, fail(http.StatusRequestEntityTooLarge, "the request is about %d rows, want at most %d (-max-ids)", n, s.ids)
	}
	ask := func(id any, row *choose.Question) error {
		said, err := m.rows.Predict(ctx, row)
		if err != nil {
			return err
		}
		a := m.tell(id, said)
		if why {
			a.Reasons, err = m.rows.Explain(ctx, row, "")
		}
		all = append(all, a)
		return err
	}
	for _, id := range q.IDs {
		name, err := nameOf(id)
		if err != nil {
			return nil, err
		}
		row, ok := m.rows.Find(name)
		if !ok {
			return nil, fmt.Errorf("there is no row %q", clip(name))
		}
		if err := ask(id, row); err != nil {
			return nil, err
		}
	}
	for i, row := range q.Rows {
		id, ignored := m.identify(row)
		read, err := m.rows.Read(row)
		if err == nil {
			s.stats.unknown.Add(int64(read.Unknown()))
			err = ask(id, read)
		}
		if err != nil {
			return nil, fmt.Errorf("rows[%d]: %w", i, err)
		}
		all[len(all)-1].Ignored = ignored
	}
	return all, nil
}

// identify returns the id of a row that is in no table. It leaves out the columns that the training has not read as attributes, and
// returns those that have a value.
func (m *loaded) identify(row choose.Row) (id any, ignored []string) {
	id = row["id"]
	if m.columns.HasID {
		id = row[m.columns.ID]
		delete(row, m.columns.ID)
	} else if !m.rows.Reads("id") {
		delete(row, "id")
	}
	class, value := m.columns.single()
	for _, name := range append(fields(m.columns.Ignore), class, value, m.columns.Part) {
		if row[name] != nil {
			ignored = append(ignored, name)
		}
		delete(row, name)
	}
	for name, value := range row {
		text := []byte(fmt.Sprint(value))
		b := sources.TableBatch{Rows: 1, Values: []sources.TableValues{{Text: text, Spans: []sources.Span{{To: int32(len(text))}}}}}
		if _, ok := b.WithMissing(m.columns.declared()).Values[0].At(0, nil); !ok {
			row[name] = nil
		}
	}
	slices.Sort(ignored)
	return id, ignored
}
