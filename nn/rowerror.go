package nn

import "fmt"

// inputError is an error in the input of one row of a batch.
type inputError struct {
	row int
	err error
}

func (e *inputError) Error() string { return fmt.Sprintf("row %d: %v", e.row, e.err) }

func inputErrorf(row int, format string, args ...any) error {
	return &inputError{row, fmt.Errorf(format, args...)}
}
