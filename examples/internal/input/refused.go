package input

import (
	"fmt"
	"io"
	"strings"
)

// Refused reports molecules that cannot be read and are left out: the first ones, and their number. A file
// that is read again reports nothing new.
type Refused struct {
	To    io.Writer
	count int
	next  int64 // first row that was not read so far
}

// toldRefused is the number of molecules that are reported one by one.
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

// Total reports the number of molecules, if any.
func (r *Refused) Total() {
	if r != nil && r.count > 0 {
		fmt.Fprintf(r.To, "molecules left out: %d\n", r.count)
	}
}
