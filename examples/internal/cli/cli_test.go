package cli

import (
	"errors"
	"testing"
)

func TestOneLine(t *testing.T) {
	err := errors.Join(AtLeast("folds", 0, 2), AtLeast("nets", 0, 1), errors.New("a\ttable\n\n"))
	if got, want := oneLine(err), "-folds is 0, want 2 or more; -nets is 0, want 1 or more; a table"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
