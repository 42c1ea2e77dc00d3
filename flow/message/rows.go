package message

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Split returns the end of each row in the body of a message, or an error if the body is not made
// of rows.
type Split func(body []byte) (ends []int, err error)

// JSON splits a body into lines, which are JSON objects.
func JSON(body []byte) (ends []int, err error) {
	for at := 0; at < len(body); {
		line := body[at:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		at += len(line)
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if line[0] != '{' || !json.Valid(line) {
			return nil, fmt.Errorf("row %d of the message is no JSON object: %.80q", len(ends), line)
		}
		ends = append(ends, at)
	}
	return ends, nil
}

// CSV splits a body into rows of so many comma-separated values, without a header.
func CSV(columns int) Split {
	return func(body []byte) (ends []int, err error) {
		r := csv.NewReader(bytes.NewReader(body))
		r.FieldsPerRecord, r.ReuseRecord = columns, true
		for {
			if _, err := r.Read(); err == io.EOF {
				return ends, nil
			} else if err != nil {
				return nil, fmt.Errorf("row %d of the message: %w", len(ends), err)
			}
			ends = append(ends, int(r.InputOffset()))
		}
	}
}

// Rows is the rows in the messages of a topic as one text, for any reader of tables:
//
//	rows, err := message.Source{Topic: topic}.Rows(ctx, message.JSON)
//	if err != nil {
//		return err
//	}
//	defer rows.Close()
//	s, err := events.Source{Table: sources.Text{Reader: rows}}.Open(ctx)
//	…
//	rows.Complete(n) // the first n rows are processed
//
// Of JSON, sources.Text and JSONLines read 256 KiB, or to the end of Idle, before the first row, since they
// find the columns by these; rows of CSV, and later rows of JSON, come at once.
//
// Such readers read ahead, so the program says what is complete, in either of two ways: Complete
// acknowledges by the number of rows; Begin, Place and Keep, as of a flow.Seeker, acknowledge what
// is before a place that the program has stored, beside its result.
type Rows struct {
	*intake
	ctx   context.Context
	split Split
	text  []byte
}

// Rows connects a reader of rows. They begin where the topic was last acknowledged. The context
// ends the reading. Schema is not used.
func (s Source) Rows(ctx context.Context, split Split) (*Rows, error) {
	if split == nil {
		return nil, errors.New("there is no Split, such as JSON")
	}
	in, err := s.intake(ctx)
	if err != nil {
		return nil, err
	}
	return &Rows{intake: in, ctx: ctx, split: split}, nil
}

// Read reads the text, and waits for a message if there is no more. The error at the end of Idle
// is io.EOF.
func (r *Rows) Read(p []byte) (int, error) {
	if len(r.text) == 0 {
		var ends []int
		m, skip, err := r.take(r.ctx, func(m Message) (rows int64, err error) {
			ends, err = r.split(m.Body)
			return int64(len(ends)), err
		})
		if err != nil {
			return 0, err
		}
		from := 0
		if skip > 0 {
			from = ends[skip-1]
		}
		r.text = m.Body[from:ends[len(ends)-1]]
		if r.text[len(r.text)-1] != '\n' {
			r.text = append(r.text[:len(r.text):len(r.text)], '\n')
		}
	}
	n := copy(p, r.text)
	r.text = r.text[n:]
	return n, nil
}

// Complete acknowledges the messages whose rows are among the first rows rows that were read from
// r. rows does not fall from call to call. It does nothing once Begin or Place was called.
func (r *Rows) Complete(rows int64) { r.complete(rows) }
