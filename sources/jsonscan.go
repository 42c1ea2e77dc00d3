package sources

import (
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonScan reads JSON (RFC 8259) from bytes, value by value. What it takes, package
// encoding/json takes, but for text that is no UTF-8, which is an error here.
type jsonScan struct {
	b []byte
	p int
}

var errJSON = errors.New("it is no JSON")

// jsonKind is the kind of a value.
type jsonKind byte

const (
	jsonNull   jsonKind = 'n'
	jsonBool   jsonKind = 't'
	jsonNumber jsonKind = '0'
	jsonString jsonKind = '"'
	jsonObject jsonKind = '{'
	jsonArray  jsonKind = '['
)

func (s *jsonScan) fail(want string) error {
	if s.p >= len(s.b) {
		return fmt.Errorf("%w: it ends, want %s", errJSON, want)
	}
	return fmt.Errorf("%w: %s at byte %d, want %s", errJSON, quote(s.b[s.p:]), s.p+1, want)
}

func (s *jsonScan) space() {
	for s.p < len(s.b) && (s.b[s.p] == ' ' || s.b[s.p] == '\n' || s.b[s.p] == '\t' || s.b[s.p] == '\r') {
		s.p++
	}
}

// next skips a byte, and reports whether it was there.
func (s *jsonScan) next(c byte) bool {
	s.space()
	if s.p < len(s.b) && s.b[s.p] == c {
		s.p++
		return true
	}
	return false
}

// object calls do for each key, behind its colon; do reads the value. The key is
// valid until then.
func (s *jsonScan) object(do func(key []byte) error) error {
	if !s.next('{') {
		return s.fail("an object")
	}
	if s.next('}') {
		return nil
	}
	var scratch []byte
	for {
		s.space()
		key, escaped, err := s.text()
		if err != nil {
			return err
		}
		if escaped {
			scratch = append(scratch[:0], key...)
			key = scratch[:unescape(scratch)]
		}
		if !s.next(':') {
			return s.fail("a colon")
		}
		if err := do(key); err != nil {
			return err
		}
		if s.next('}') {
			return nil
		}
		if !s.next(',') {
			return s.fail("a comma or }")
		}
	}
}

// array calls do for each element, which do reads.
func (s *jsonScan) array(do func() error) error {
	if !s.next('[') {
		return s.fail("an array")
	}
	if s.next(']') {
		return nil
	}
	for {
		if err := do(); err != nil {
			return err
		}
		if s.next(']') {
			return nil
		}
		if !s.next(',') {
			return s.fail("a comma or ]")
		}
	}
}

// value reads a value: a string without its quotes, and whether it has escapes; others as
// they are, objects and arrays in whole.
func (s *jsonScan) value(depth int) (kind jsonKind, text []byte, escaped bool, err error) {
	s.space()
	if s.p == len(s.b) || depth > 100 {
		return 0, nil, false, s.fail("a value")
	}
	from := s.p
	switch c := s.b[s.p]; c {
	case '"':
		text, escaped, err = s.text()
		return jsonString, text, escaped, err
	case '{':
		err = s.object(func([]byte) error { _, _, _, err := s.value(depth + 1); return err })
		kind = jsonObject
	case '[':
		err = s.array(func() error { _, _, _, err := s.value(depth + 1); return err })
		kind = jsonArray
	case 'n':
		kind, err = jsonNull, s.word("null")
	case 't':
		kind, err = jsonBool, s.word("true")
	case 'f':
		kind, err = jsonBool, s.word("false")
	default:
		kind, err = jsonNumber, s.number()
	}
	return kind, s.b[from:s.p], false, err
}

func (s *jsonScan) word(w string) error {
	if len(s.b)-s.p < len(w) || string(s.b[s.p:s.p+len(w)]) != w {
		return s.fail("a value")
	}
	s.p += len(w)
	return nil
}

func (s *jsonScan) digits() bool {
	from := s.p
	for s.p < len(s.b) && s.b[s.p]-'0' <= 9 {
		s.p++
	}
	return s.p > from
}

func (s *jsonScan) number() error {
	if s.b[s.p] == '-' {
		s.p++
	}
	if s.p < len(s.b) && s.b[s.p] == '0' {
		s.p++
	} else if !s.digits() {
		return s.fail("a value")
	}
	if s.p < len(s.b) && s.b[s.p] == '.' {
		if s.p++; !s.digits() {
			return s.fail("a digit")
		}
	}
	if s.p < len(s.b) && s.b[s.p]|0x20 == 'e' {
		if s.p++; s.p < len(s.b) && (s.b[s.p] == '+' || s.b[s.p] == '-') {
			s.p++
		}
		if !s.digits() {
			return s.fail("a digit")
		}
	}
	return nil
}

// text reads a string: what is between the quotes, and whether it has escapes.
func (s *jsonScan) text() (text []byte, escaped bool, err error) {
	if s.p == len(s.b) || s.b[s.p] != '"' {
		return nil, false, s.fail("a string")
	}
	from, plain := s.p+1, true
	for i := from; i < len(s.b); i++ {
		switch c := s.b[i]; {
		case c == '"':
			s.p = i + 1
			if text = s.b[from:i]; !plain && !utf8.Valid(text) {
				return nil, false, fmt.Errorf("%s is no UTF-8", quote(text))
			}
			return text, escaped, nil
		case c == '\\':
			escaped = true
			n := escape(s.b[i:])
			if n == 0 {
				s.p = i
				return nil, false, s.fail("an escape")
			}
			i += n - 1
		case c < ' ':
			s.p = i
			return nil, false, s.fail("no control character in a string")
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	s.p = len(s.b)
	return nil, false, s.fail("the quote that ends a string")
}

// escape is the length of the escape at the beginning of b, 0 where it is none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case (c|0x20)-'a' < 6:
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape writes what a string stands for in its place, and returns its length, which is
// not larger.
func unescape(b []byte) int {
	to := 0
	for i := 0; i < len(b); {
		if b[i] != '\\' {
			b[to] = b[i]
			to, i = to+1, i+1
			continue
		}
		switch c := b[i+1]; c {
		case 'b', 'f', 'n', 'r', 't':
			b[to] = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[c]
		case 'u':
			r, _ := hex4(b[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if escape(b[i:]) == 6 {
					low, _ = hex4(b[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			to += utf8.EncodeRune(b[to:], r)
			continue
		default:
			b[to] = c
		}
		to, i = to+1, i+2
	}
	return to
}
