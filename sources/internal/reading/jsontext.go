package reading

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// JsonText reads JSON objects, one behind the other or the elements of one array, by package
// jsontext, and knows the line of each.
type JsonText struct {
	L      *Lines
	Dec    *jsontext.Decoder
	widest int64   // bytes of a value
	got    int64   // bytes that the decoder has taken
	ends   []int64 // of lines, by their bytes
	from   int64   // first byte of the line
	list   bool    // the objects are elements of an array
	Begun  bool    // the first object or the array
	Cut    bool    // the text has ended within a value
}

// NewJSON reads what is left of l. A value has at most widest bytes.
func NewJSON(l *Lines, widest int64, o ...jsontext.Options) *JsonText {
	t := &JsonText{L: l, widest: widest}
	t.Dec = jsontext.NewDecoder(t, o...)
	return t
}

// Read hands bytes to the decoder, and notes where lines end.
func (t *JsonText) Read(p []byte) (int, error) {
	l := t.L
	if most := t.widest; t.got-t.Dec.InputOffset() > most {
		return 0, &FileError{File: l.File, Line: t.Line(), Err: fmt.Errorf("a value of more than %d bytes", most)}
	}
	for l.Last == nil && l.Start == l.End {
		l.Fill()
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

// Line is the line, from 1, of the token that was read last.
func (t *JsonText) Line() int { return t.lineAt(t.Dec.InputOffset()) }

func (t *JsonText) lineAt(offset int64) int {
	n := 0
	for ; n < len(t.ends) && t.ends[n] < offset; n++ {
		t.from = t.ends[n] + 1
	}
	t.L.Line += n
	t.ends = t.ends[:copy(t.ends, t.ends[n:])]
	return t.L.Line + 1
}

// Begin goes to the next object, and is io.EOF behind the last.
func (t *JsonText) Begin() error {
	kind := t.Dec.PeekKind()
	if kind == '[' && !t.Begun {
		t.list = true
		if _, err := t.Dec.ReadToken(); err != nil {
			return t.error(err)
		}
		kind = t.Dec.PeekKind()
	}
	t.Begun = true
	if kind == ']' && t.list {
		if _, err := t.Dec.ReadToken(); err != nil {
			return t.error(err)
		}
		return t.End("the array")
	}
	if kind == 0 && !t.list {
		if _, err := t.Dec.ReadToken(); err != nil {
			return t.error(err)
		}
	}
	return t.Want("it", '{')
}

// End is io.EOF, or the error of what is behind the last value.
func (t *JsonText) End(what string) error {
	_, err := t.Dec.ReadToken()
	if err == nil {
		err = t.Errorf("%w: there is more behind %s", ErrJSON, what)
	}
	return t.error(err)
}

// Want is an error where the next value is of another kind.
func (t *JsonText) Want(what string, want jsontext.Kind) error {
	kind := t.Dec.PeekKind()
	if kind == want || kind == 0 {
		return nil
	}
	err := t.Errorf("%s is a JSON %s, want an %s", what, NameOfKind(kind), NameOfKind(want))
	if kind != '{' && kind != '[' { // the kind is that of the first byte alone: not is no null
		if _, bad := t.Dec.ReadToken(); bad != nil {
			return t.error(bad)
		}
	}
	return err
}

// Enter goes behind the { of an object or the [ of an array.
func (t *JsonText) Enter(what string, want jsontext.Kind) error {
	if err := t.Want(what, want); err != nil {
		return err
	}
	_, err := t.Dec.ReadToken()
	return t.error(err)
}

// More reports whether an object or an array goes on, and else goes behind its end.
func (t *JsonText) More() (bool, error) {
	if kind := t.Dec.PeekKind(); kind != '}' && kind != ']' {
		return true, nil
	}
	_, err := t.Dec.ReadToken()
	return false, t.error(err)
}

// Value reads a value, which is valid until the next one, and the line on which it begins.
func (t *JsonText) Value() (v jsontext.Value, line int, err error) {
	if v, err = t.Dec.ReadValue(); err != nil {
		return nil, 0, t.error(err)
	}
	return v, t.lineAt(t.Dec.InputOffset() - int64(len(v))), nil
}

// MembersOf calls do with the members of an object: with the keys and the values as they are
// written. The decoder has checked the object.
func MembersOf(v jsontext.Value, do func(key, value jsontext.Value) error) error {
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

// Ready reports whether the next object is read, or an object within it.
func (t *JsonText) Ready() bool {
	return bytes.IndexByte(t.Dec.UnreadBuffer(), '}') >= 0 || bytes.IndexByte(t.L.Buf[t.L.Start:t.L.End], '}') >= 0
}

var ErrJSON = errors.New("it is no JSON")

// NameOfKind names a kind of value.
func NameOfKind(k jsontext.Kind) string {
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

// Errorf blames the token that comes.
func (t *JsonText) Errorf(format string, args ...any) error {
	ahead := t.Dec.UnreadBuffer()
	blanks := len(ahead) - len(bytes.TrimLeft(ahead, " \t\r\n,:"))
	return &FileError{File: t.L.File, Line: t.lineAt(t.Dec.InputOffset() + int64(blanks)), Err: fmt.Errorf(format, args...)}
}

// error is an error of the decoder with its line.
func (t *JsonText) error(err error) error {
	syntax, file := (*jsontext.SyntacticError)(nil), (*FileError)(nil)
	switch {
	case err == nil || err == io.EOF || errors.As(err, &file):
		return err
	case errors.As(err, &syntax):
		if err = syntax.Err; errors.Is(err, io.ErrUnexpectedEOF) {
			t.Cut, err = true, errors.New("it ends early")
		}
		line := t.lineAt(syntax.ByteOffset)
		return &FileError{File: t.L.File, Line: line, Err: fmt.Errorf("%w: %w at byte %d", ErrJSON, err, syntax.ByteOffset-t.from+1)}
	case t.L.Last != nil && t.L.Last != io.EOF:
		return t.L.Last
	}
	return &FileError{File: t.L.File, Line: t.Line(), Err: err}
}

// NameOf is a key without its quotes.
func NameOf(key jsontext.Value) []byte {
	if bytes.IndexByte(key, '\\') >= 0 {
		return AppendText(nil, key)
	}
	return key[1 : len(key)-1]
}

// AppendText appends what a string stands for, or a value as it is.
func AppendText(dst []byte, v jsontext.Value) []byte {
	if v.Kind() != '"' {
		return append(dst, v...)
	}
	dst, _ = jsontext.AppendUnquote(dst, v) // the decoder has checked it
	return dst
}
