package sources

import (
	"context"
	"strings"
)

// Lines is a [Table] of JSON objects, as [JSONLines] is, where the first line that is not
// empty begins with {" or [{, and else of values, as [Text] is. The fields are as in these.
// Rows of values of a Reader are returned as they come. Of objects, OpenTable first reads 256 KiB,
// or to the end.
type Lines Text

// String names the file, for the plan of a pipeline.
func (s Lines) String() string { return input{kind: "Lines", path: s.Path, reader: s.Reader}.String() }

// OpenTable reads the first line, or of objects the first rows.
func (s Lines) OpenTable(ctx context.Context) (TableReader, error) {
	l, err := input{"Lines", s.Path, s.FS, s.Reader, s.MaxBytes, 0, 64}.lines(ending(ctx))
	if err != nil {
		return nil, err
	}
	if l.objects() {
		return jsonOf(l)
	}
	return textOf(l)
}

// objects reads until it is known whether the text is of JSON objects: two bytes that are
// not blank.
func (l *lines) objects() bool {
	const mark = "\ufeff"
	var begin []byte
	for at := 0; l.last == nil && len(begin) < 2 && l.end < maxRow; {
		l.fill()
		for ; at < l.end && len(begin) < 2; at++ {
			c := l.buf[at]
			if blank := strings.IndexByte(" \t\r\n\v\f", c) >= 0; !blank && (at >= len(mark) || c != mark[at]) {
				begin = append(begin, c)
			}
		}
	}
	return string(begin) == `{"` || string(begin) == "[{"
}
