package input

import (
	"fmt"
	"io"
	"strings"
)

// Refused tells people of what is no molecule and is left out: the first ones, and how many
// there were. A file that is read again tells nothing new.
type Refused struct {
	To    io.Writer
	count int
	next  int64 // row that was not read so far
}

// toldRefused is how many are told one by one.
const toldRefused = 20

// Add reports a molecule, for Options.Refused of package sources.
func (r *Refused) Add(row int64, err error) {
	if row < r.next {
		return
	}
	r.next = row + 1
	if r.count++; r.count <= toldRefused {
		fmt.Fprintf(r.To, "left out: %s\n", strings.TrimPrefix(err.Error(), "sources: "))
	}
}

// Total tells how many there were, if any.
func (r *Refused) Total() {
	if r != nil && r.count > 0 {
		fmt.Fprintf(r.To, "molecules left out: %d\n", r.count)
	}
}
