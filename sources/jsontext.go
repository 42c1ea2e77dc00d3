package sources

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// jsonText reads JSON objects, one behind the other or the elements of one array, by package
// jsontext, and knows the line of each.
type jsonText struct {
	l      *reading.Lines
	d      *jsontext.Decoder
	widest int64   // bytes of a value
	got    int64   // bytes that the decoder has taken
	ends   []int64 // of lines, by their bytes
	from   int64   // first byte of the line
	list   bool    // the objects are elements of an array
	begun  bool    // the first object or the array
	cut    bool    // the text has ended within a value
}

// newJSON reads what is left of l. A value has at most widest bytes.
func newJSON(l *reading.Lines, widest int64, o ...jsontext.Options) *jsonText {
	t := &jsonText{l: l, widest: widest}
	t.d = jsontext.NewDecoder(t, o...)
	return t
}

// Read hands bytes to the decoder, and notes where lines end.
func (t *jsonText) Read(p []byte) (int, error) {
	l := t.l
	if most := t.widest; t.got-t.d.InputOffset() > most {
		return 0, &FileError{File: l.File, Line: t.line(), Err: fmt.Errorf("a value of more than %d bytes", most)}
	}
	const mark = "\ufeff"
	for l.Last == nil && (l.Start == l.End || t.got == 0 && l.End-l.Start < len(mark)) {
		l.Fill()
	}
	if t.got == 0 && strings.HasPrefix(string(l.Buf[l.Start:min(l.End, l.Start+len(mark))]), mark) {
		l.Start += len(mark)
	}
	n := copy(p, l.Buf[l.Start:l.End])
	l.Start += n
	for at := 0; ; at++ {
		i := bytes.IndexByte(p[at:n], '\n')
		if i < 0 {
			break
		}
		at += i
		t.ends = append(t.ends, t.got+int64(at))
	}
	if t.got += int64(n); n == 0 {
		return 0, l.Last
	}
	return n, nil
}

// line is the line, from 1, of the token that was read last.
func (t *jsonText) line() int { return t.lineAt(t.d.InputOffset()) }

func (t *jsonText) lineAt(offset int64) int {
	n := 0
	for ; n < len(t.ends) && t.ends[n] < offset; n++ {
		t.from = t.ends[n] + 1
	}
	t.l.Line += n
	t.ends = t.ends[:copy(t.ends, t.ends[n:])]
	return t.l.Line + 1
}

// begin goes to the next object, and is io.EOF behind the last.
func (t *jsonText) begin() error {
	kind := t.d.PeekKind()
	if kind == '[' && !t.begun {
		t.list = true
		if _, err := t.d.ReadToken(); err != nil {
			return t.error(err)
		}
		kind = t.d.PeekKind()
	}
	t.begun = true
	if kind == ']' && t.list {
		if _, err := t.d.ReadToken(); err != nil {
			return t.error(err)
		}
		return t.end("the array")
	}
	if kind == 0 && !t.list {
		if _, err := t.d.ReadToken(); err != nil {
			return t.error(err)
		}
	}
	return t.want("it", '{')
}

// end is io.EOF, or the error of what is behind the last value.
func (t *jsonText) end(what string) error {
	_, err := t.d.ReadToken()
	if err == nil {
		err = t.errorf("%w: there is more behind %s", errJSON, what)
	}
	return t.error(err)
}

// want is an error where the next value is of another kind.
func (t *jsonText) want(what string, want jsontext.Kind) error {
	if kind := t.d.PeekKind(); kind != want && kind > 0 {
		return t.errorf("%s is a JSON %s, want an %s", what, nameOfKind(kind), nameOfKind(want))
	}
	return nil
}

// enter goes behind the { of an object or the [ of an array.
func (t *jsonText) enter(what string, want jsontext.Kind) error {
	if err := t.want(what, want); err != nil {
		return err
	}
	_, err := t.d.ReadToken()
	return t.error(err)
}

// more reports whether an object or an array goes on, and else goes behind its end.
func (t *jsonText) more() (bool, error) {
	if kind := t.d.PeekKind(); kind != '}' && kind != ']' {
		return true, nil
	}
	_, err := t.d.ReadToken()
	return false, t.error(err)
}

// value reads a value, which is valid until the next one, and the line on which it begins.
func (t *jsonText) value() (v jsontext.Value, line int, err error) {
	if v, err = t.d.ReadValue(); err != nil {
		return nil, 0, t.error(err)
	}
	return v, t.lineAt(t.d.InputOffset() - int64(len(v))), nil
}

// membersOf calls do with the members of an object: with the keys and the values as they are
// written. The decoder has checked the object.
func membersOf(v jsontext.Value, do func(key, value jsontext.Value) error) error {
	skip := func(p int) int {
		for v[p] <= ' ' || v[p] == ',' || v[p] == ':' {
			p++
		}
		return p
	}
	for p := skip(1); v[p] != '}'; p = skip(p) {
		key := v[p:valueEnd(v, p)]
		at := skip(p + len(key))
		p = valueEnd(v, at)
		if err := do(key, v[at:p]); err != nil {
			return err
		}
	}
	return nil
}

// valueEnd is the place behind the value at a place.
func valueEnd(v jsontext.Value, p int) int {
	for depth, quoted := 0, false; ; p++ {
		switch c := v[p]; {
		case quoted && c == '\\':
			p++
		case c == '"':
			if quoted = !quoted; !quoted && depth == 0 {
				return p + 1
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth <= 0 {
				return p + 1 + depth
			}
		case depth == 0 && (c == ',' || c <= ' '):
			return p
		}
	}
}

// ready reports whether the next object is read, or an object within it.
func (t *jsonText) ready() bool {
	return bytes.IndexByte(t.d.UnreadBuffer(), '}') >= 0 || bytes.IndexByte(t.l.Buf[t.l.Start:t.l.End], '}') >= 0
}

var errJSON = errors.New("it is no JSON")

// nameOfKind names a kind of value.
func nameOfKind(k jsontext.Kind) string {
	switch k {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case '0':
		return "number"
	case 'n':
		return "null"
	}
	return "boolean"
}

// errorf blames the token that comes.
func (t *jsonText) errorf(format string, args ...any) error {
	ahead := t.d.UnreadBuffer()
	blanks := len(ahead) - len(bytes.TrimLeft(ahead, " \t\r\n,:"))
	return &FileError{File: t.l.File, Line: t.lineAt(t.d.InputOffset() + int64(blanks)), Err: fmt.Errorf(format, args...)}
}

// error is an error of the decoder with its line.
func (t *jsonText) error(err error) error {
	syntax, file := (*jsontext.SyntacticError)(nil), (*FileError)(nil)
	switch {
	case err == nil || err == io.EOF || errors.As(err, &file):
		return err
	case errors.As(err, &syntax):
		if err = syntax.Err; errors.Is(err, io.ErrUnexpectedEOF) {
			t.cut, err = true, errors.New("it ends early")
		}
		line := t.lineAt(syntax.ByteOffset)
		return &FileError{File: t.l.File, Line: line, Err: fmt.Errorf("%w: %w at byte %d", errJSON, err, syntax.ByteOffset-t.from+1)}
	case t.l.Last != nil && t.l.Last != io.EOF:
		return t.l.Last
	}
	return &FileError{File: t.l.File, Line: t.line(), Err: err}
}

// nameOf is a key without its quotes.
func nameOf(key jsontext.Value) []byte {
	if bytes.IndexByte(key, '\\') >= 0 {
		return appendText(nil, key)
	}
	return key[1 : len(key)-1]
}

// appendText appends what a string stands for, or a value as it is.
func appendText(dst []byte, v jsontext.Value) []byte {
	if v.Kind() != '"' {
		return append(dst, v...)
	}
	dst, _ = jsontext.AppendUnquote(dst, v) // the decoder has checked it
	return dst
}
