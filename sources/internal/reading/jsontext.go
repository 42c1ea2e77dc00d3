package reading

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// JsonText reads a sequence of JSON objects, either concatenated or in one array, and tracks line numbers.
type JsonText struct {
	L      *Lines
	Dec    *jsontext.Decoder
	widest int64   // bound of a value in bytes
	got    int64   // bytes passed to the decoder
	ends   []int64 // offsets of line ends that lie ahead of the decoder
	from   int64   // offset of the current line
	list   bool    // the objects are elements of an array
	Begun  bool    // the first token was read
	Cut    bool    // the text ended within a value
}

// NewJSON reads the rest of l. widest bounds the bytes of a value.
func NewJSON(l *Lines, widest int64, o ...jsontext.Options) *JsonText {
	t := &JsonText{L: l, widest: widest}
	t.Dec = jsontext.NewDecoder(t, o...)
	return t
}

// Read implements io.Reader for the decoder, and records line ends.
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

// Line returns the line of the last token, from 1.
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

// Begin moves to the next object. It returns io.EOF at the end.
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

// End returns io.EOF at the end of the text, else an error about what follows.
func (t *JsonText) End(what string) error {
	_, err := t.Dec.ReadToken()
	if err == nil {
		err = t.Errorf("%w: there is more behind %s", ErrJSON, what)
	}
	return t.error(err)
}

// Want returns an error if the next value has another kind.
func (t *JsonText) Want(what string, want jsontext.Kind) error {
	kind := t.Dec.PeekKind()
	if kind == want || kind == 0 {
		return nil
	}
	err := t.Errorf("%s is a JSON %s, want an %s", what, NameOfKind(kind), NameOfKind(want))
	if kind != '{' && kind != '[' { // PeekKind looks at one byte: "not" peeks as null, but is invalid
		if _, bad := t.Dec.ReadToken(); bad != nil {
			return t.error(bad)
		}
	}
	return err
}

// Enter reads the opening { or [.
func (t *JsonText) Enter(what string, want jsontext.Kind) error {
	if err := t.Want(what, want); err != nil {
		return err
	}
	_, err := t.Dec.ReadToken()
	return t.error(err)
}

// More reports whether another element follows. If none does, it reads the closing } or ].
func (t *JsonText) More() (bool, error) {
	if kind := t.Dec.PeekKind(); kind != '}' && kind != ']' {
		return true, nil
	}
	_, err := t.Dec.ReadToken()
	return false, t.error(err)
}

// Value reads a value and returns the line of its beginning. The value is valid until the next read.
func (t *JsonText) Value() (v jsontext.Value, line int, err error) {
	if v, err = t.Dec.ReadValue(); err != nil {
		return nil, 0, t.error(err)
	}
	return v, t.lineAt(t.Dec.InputOffset() - int64(len(v))), nil
}

// MembersOf calls do with the raw key and value of each member. v must be a valid object, as the decoder
// guarantees.
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

// valueEnd returns the offset behind the value at offset p.
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

// Ready reports whether an object, or a nested one, is complete in the buffers.
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

// Errorf returns an error at the line of the next token.
func (t *JsonText) Errorf(format string, args ...any) error {
	ahead := t.Dec.UnreadBuffer()
	blanks := len(ahead) - len(bytes.TrimLeft(ahead, " \t\r\n,:"))
	return &FileError{File: t.L.File, Line: t.lineAt(t.Dec.InputOffset() + int64(blanks)), Err: fmt.Errorf(format, args...)}
}

// error adds the line to an error of the decoder.
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

// NameOf returns a key without quotes.
func NameOf(key jsontext.Value) []byte {
	if bytes.IndexByte(key, '\\') >= 0 {
		return AppendText(nil, key)
	}
	return key[1 : len(key)-1]
}

// AppendText appends the text of a string, or the source of another value.
func AppendText(dst []byte, v jsontext.Value) []byte {
	if v.Kind() != '"' {
		return append(dst, v...)
	}
	dst, _ = jsontext.AppendUnquote(dst, v) // the decoder has validated v
	return dst
}
