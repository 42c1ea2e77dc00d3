package sources

import (
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// FileError is an error at a position of the input of a source: in File, the path, for a member of an
// archive below that of the archive, at Line, counted from 1, or 0 if no single line is to blame. It
// prints as one line,
//
//	sources: MUTAG.zip/MUTAG/MUTAG_A.txt:17: node 0, want 1 to 3371
//
// and unwraps to its cause Err, such as fs.ErrNotExist or zip.ErrChecksum. A source that met one
// delivers nothing more.
type FileError = reading.FileError

// EdgeCounts counts the lines of an edge file by their outcome: Edges of the graphs, unordered pairs or arcs;
// SelfLoops, which are dropped; Duplicates of an earlier line, in the same direction, which are dropped; OneWay,
// undirected edges listed in one direction only; Conflicts, lines whose attributes differ from the smallest of the
// lines before them of the edge.
//
// Of parallel edges, which are lines with the same ends, in either direction of an undirected graph,
// every source keeps the line with the smallest attributes: the discrete ones in the order of their
// channels, then the continuous ones. So graphs do not depend on the order of lines.
type EdgeCounts = rows.Counts
