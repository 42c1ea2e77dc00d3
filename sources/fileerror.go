package sources

import "github.com/sanflow/sanflow/sources/internal/reading"

// FileError is an error at a position of the input of a source: in File, the path, for a member of an
// archive below that of the archive, at Line, counted from 1, or 0 if no single line is to blame. It
// prints as one line,
//
//	sources: MUTAG.zip/MUTAG/MUTAG_A.txt:17: node 0, want 1 to 3371
//
// and unwraps to its cause Err, such as fs.ErrNotExist or zip.ErrChecksum. A source that met one
// delivers nothing more.
type FileError = reading.FileError
