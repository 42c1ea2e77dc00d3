package arrow18

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	arrow15 "github.com/apache/arrow/go/v15/arrow"
	ipc15 "github.com/apache/arrow/go/v15/arrow/ipc"
)

// ExportSchema returns a schema as arrow-go v18 has it, metadata included.
func ExportSchema(s *arrow15.Schema) (_ *arrow.Schema, err error) {
	defer caught(&err)
	var b bytes.Buffer
	if err := ipc15.NewWriter(&b, ipc15.WithSchema(s)).Close(); err != nil {
		return nil, fmt.Errorf("arrow18: schema: %w", err)
	}
	r, err := ipc.NewReader(&b)
	if err != nil {
		return nil, fmt.Errorf("arrow18: schema: %w", err)
	}
	defer r.Release()
	return r.Schema(), nil
}

// ImportSchema returns a schema as Arrow v15 has it, metadata included. A type
// that v15 does not know is an error.
func ImportSchema(s *arrow.Schema) (_ *arrow15.Schema, err error) {
	defer caught(&err)
	var b bytes.Buffer
	if err := ipc.NewWriter(&b, ipc.WithSchema(s)).Close(); err != nil {
		return nil, fmt.Errorf("arrow18: schema: %w", err)
	}
	r, err := ipc15.NewReader(&b)
	if err != nil {
		return nil, fmt.Errorf("arrow18: schema: %w", err)
	}
	defer r.Release()
	return r.Schema(), nil
}

// caught converts a panic of a library to an error.
func caught(err *error) {
	switch p := recover().(type) {
	case nil:
	case error:
		*err = fmt.Errorf("arrow18: %w", p)
	default:
		*err = errors.New(fmt.Sprint("arrow18: ", p))
	}
}
