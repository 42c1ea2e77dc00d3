package reading

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
)

// FileError is an error at a position of the input of a source. It prints as one line,
//
//	sources: MUTAG.zip/MUTAG/MUTAG_A.txt:17: node 0, want 1 to 3371
//
// and unwraps to its cause, such as fs.ErrNotExist or zip.ErrChecksum. A source
// that met one delivers nothing more.
type FileError struct {
	File string // path; a member of an archive has the path of the archive as prefix
	Line int    // from 1; 0 if the error has no single line
	Err  error
}

func (e *FileError) Error() string {
	switch {
	case e.File == "": // a tu.Source.FS without a Path
		return oneLine(fmt.Sprintf("sources: %v", e.Err))
	case e.Line == 0:
		return oneLine(fmt.Sprintf("sources: %s: %v", e.File, e.Err))
	default:
		return oneLine(fmt.Sprintf("sources: %s:%d: %v", e.File, e.Line, e.Err))
	}
}

// oneLine escapes control characters, since names in an archive may contain some.
func oneLine(text string) string {
	if !strings.ContainsFunc(text, unicode.IsControl) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.IsControl(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (e *FileError) Unwrap() error { return e.Err }

// InFile wraps an error about a whole file. It drops the path that package os adds, since FileError prints
// the path.
func InFile(file string, err error) error {
	if p := new(fs.PathError); errors.As(err, &p) {
		err = p.Err
	}
	return &FileError{File: file, Err: err}
}

// Quote quotes a field for an error, truncated to 32 bytes.
func Quote(b []byte) string {
	const most = 32
	if len(b) > most {
		return strconv.Quote(string(b[:most])) + "…"
	}
	return strconv.Quote(string(b))
}
