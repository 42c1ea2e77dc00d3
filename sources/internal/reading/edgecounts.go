package reading

import (
	"fmt"

	"github.com/sanflow/sanflow/internal/rows"
)

// repeated returns how many of the lines, the number of which is given, name an edge that another
// line names. It is 0 where each undirected edge has two lines, one in each direction, with the
// same attributes.
func repeated(c rows.Counts, lines int64) int64 {
	n := lines - c.SelfLoops - c.Edges
	if n == c.Edges && c.OneWay+c.Duplicates+c.Conflicts == 0 {
		return 0
	}
	return n
}

// RepeatedNote is the line of a report about repeated lines, and "" if there are none.
func RepeatedNote(c rows.Counts, lines int64) string {
	n := repeated(c, lines)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("repeated rows: %d of %d name an edge that another row names, the one with the smallest attributes is kept", n, lines)
}

// EdgeNotes returns the lines of a report about lines of a file that are no edges of their own.
func EdgeNotes(c rows.Counts, lines int64, file string) (notes []string) {
	if c.SelfLoops > 0 {
		notes = append(notes, fmt.Sprintf("left out: %d of %d rows of %s join a node to itself", c.SelfLoops, lines, file))
	}
	if note := RepeatedNote(c, lines); note != "" {
		notes = append(notes, note)
	}
	return notes
}
