package sources

import "fmt"

// EdgeCounts counts the lines of an edge file by their outcome.
//
// Of parallel edges, which are lines with the same ends, in either direction of an undirected graph,
// every source keeps the line with the smallest attributes: the discrete ones in the order of their
// channels, then the continuous ones. So graphs do not depend on the order of lines.
type EdgeCounts struct {
	Edges      int64 // edges of the graphs: unordered pairs, or arcs of directed graphs
	SelfLoops  int64 // lines that join a node to itself: dropped
	Duplicates int64 // lines that repeat an earlier one, in the same direction: dropped
	OneWay     int64 // undirected edges listed in one direction only: the other was added
	Conflicts  int64 // lines whose attributes differ from the smallest of the lines before them of the edge
}

// repeated returns how many of the lines, the number of which is given, name an edge that another
// line names. It is 0 where each undirected edge has two lines, one in each direction, with the
// same attributes.
func (c EdgeCounts) repeated(lines int64) int64 {
	n := lines - c.SelfLoops - c.Edges
	if n == c.Edges && c.OneWay+c.Duplicates+c.Conflicts == 0 {
		return 0
	}
	return n
}

// repeatedNote is the line of a report about repeated lines, and "" if there are none.
func (c EdgeCounts) repeatedNote(lines int64) string {
	n := c.repeated(lines)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("repeated rows: %d of %d name an edge that another row names, the one with the smallest attributes is kept", n, lines)
}

// notes returns the lines of a report about lines of a file that are no edges of their own.
func (c EdgeCounts) notes(lines int64, file string) (notes []string) {
	if c.SelfLoops > 0 {
		notes = append(notes, fmt.Sprintf("left out: %d of %d rows of %s join a node to itself", c.SelfLoops, lines, file))
	}
	if note := c.repeatedNote(lines); note != "" {
		notes = append(notes, note)
	}
	return notes
}
