package layer

import "fmt"

// InputError is an error in the input of one row of a batch.
type InputError struct {
	Row int
	Err error
}

func (e *InputError) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }

func inputErrorf(row int, format string, args ...any) error {
	return &InputError{row, fmt.Errorf(format, args...)}
}
