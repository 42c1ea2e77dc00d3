package dot

import (
	"bytes"
	"strings"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// tokenKind is a punctuation byte or one of the constants below.
type tokenKind byte

const (
	tokenEnd    tokenKind = iota
	tokenID               // a name, a number or HTML text
	tokenQuoted           // a quoted string, which + concatenates
	tokenStrict
	tokenGraph
	tokenDigraph
	tokenSubgraph
	tokenNode
	tokenEdge
	tokenLine // the operator --
	tokenArc  // the operator ->
)

var keywords = map[string]tokenKind{
	"strict": tokenStrict, "graph": tokenGraph, "digraph": tokenDigraph, "subgraph": tokenSubgraph, "node": tokenNode, "edge": tokenEdge,
}

// scanner splits a text into tokens.
type scanner struct {
	l    *reading.Lines // line number for errors
	text []byte
	at   int
}

// next returns the next token with its source text.
func (s *scanner) next() (tokenKind, []byte, error) {
	if err := s.skip(); err != nil {
		return tokenEnd, nil, err
	}
	if s.at == len(s.text) {
		return tokenEnd, nil, nil
	}
	begin, rest := s.at, s.text[s.at:]
	token := func(kind tokenKind, n int) (tokenKind, []byte, error) {
		s.at += n
		s.l.Line += bytes.Count(rest[:n], []byte("\n"))
		return kind, s.text[begin:s.at], nil
	}
	switch c := rest[0]; {
	case bytes.HasPrefix(rest, []byte("--")):
		return token(tokenLine, 2)
	case bytes.HasPrefix(rest, []byte("->")):
		return token(tokenArc, 2)
	case bytes.IndexByte([]byte("{}[];,=:+"), c) >= 0:
		return token(tokenKind(c), 1)
	case c == '"':
		n := 1
		for n < len(rest) && rest[n] != '"' {
			if rest[n] == '\\' {
				n++
			}
			n++
		}
		if n >= len(rest) {
			return tokenEnd, nil, s.l.Errorf("a text without its closing quote")
		}
		return token(tokenQuoted, n+1)
	case c == '<':
		n, depth := 1, 1
		for n < len(rest) && depth > 0 {
			switch rest[n] {
			case '<':
				depth++
			case '>':
				depth--
			}
			n++
		}
		if depth > 0 {
			return tokenEnd, nil, s.l.Errorf("an HTML text without its closing >")
		}
		return token(tokenID, n)
	case isLetter(c):
		n := 1
		for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
			n++
		}
		kind := tokenID
		if n <= len("subgraph") {
			if k, ok := keywords[strings.ToLower(string(rest[:n]))]; ok {
				kind = k
			}
		}
		return token(kind, n)
	}
	if n := numeral(rest); n > 0 {
		return token(tokenID, n)
	}
	return tokenEnd, nil, s.l.Errorf("%s is no token of DOT", reading.Quote(rest[:1]))
}

// skip skips white space and comments: /* */, and // and # up to the end of the line.
func (s *scanner) skip() error {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		n := 1
		switch {
		case rest[0] == '\n':
			s.l.Line++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\f' || rest[0] == '\v':
		case bytes.HasPrefix(rest, []byte("//")), rest[0] == '#':
			if n = bytes.IndexByte(rest, '\n'); n < 0 {
				n = len(rest)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return s.l.Errorf("a comment without its end")
			}
			n = end + 4
			s.l.Line += bytes.Count(rest[:n], []byte("\n"))
		default:
			return nil
		}
		s.at += n
	}
	return nil
}

func isLetter(c byte) bool {
	return c == '_' || c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// numeral returns the length of the prefix [-]?(.[0-9]+|[0-9]+(.[0-9]*)?), or 0.
func numeral(b []byte) int {
	n := 0
	if b[0] == '-' {
		n++
	}
	whole := digits(b[n:])
	n += whole
	fraction := 0
	if n < len(b) && b[n] == '.' {
		fraction = digits(b[n+1:])
		if whole+fraction > 0 {
			n += 1 + fraction
		}
	}
	if whole+fraction == 0 {
		return 0
	}
	return n
}

func digits(b []byte) (n int) {
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	return n
}

// unquote removes the quotes and resolves escapes. DOT has two escapes: \" is a quote, and a backslash before
// a line end joins the lines.
func unquote(b []byte) []byte {
	b = b[1 : len(b)-1]
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if rest := b[i:]; rest[0] == '\\' && len(rest) > 1 {
			switch {
			case rest[1] == '"':
				i++
			case rest[1] == '\n':
				i++
				continue
			case bytes.HasPrefix(rest[1:], []byte("\r\n")):
				i += 2
				continue
			case rest[1] == '\\': // DOT keeps \\ as two backslashes
				out = append(out, '\\')
				i++
			}
		}
		out = append(out, b[i])
	}
	return out
}
