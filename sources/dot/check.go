package dot

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

const (
	// maxBytes bounds a text by default, since the parser cannot be stopped.
	maxBytes = 16 << 20
	// maxDepth bounds the nesting of subgraphs. Each node is added to every enclosing subgraph.
	maxDepth = 1000
	// maxEdges bounds the operators -- and -> of a text, which is one in 8 bytes of the longest text. The parser
	// recurses once per operator of a statement: 256 MiB of stack, where Go ends the process at 1 GB.
	maxEdges = 1 << 21
	// tokenBytes and edgeBytes are the memory of the parser per token and, in addition, per operator, as measured.
	tokenBytes, edgeBytes = 100, 200
)

// spellings has the spellings of keywords that gonum reads as keywords. Graphviz ignores case; gonum reads other spellings as nodes.
var spellings = map[string][]string{
	"strict": {"strict", "Strict", "STRICT"}, "graph": {"graph", "Graph", "GRAPH"},
	"digraph":  {"digraph", "Digraph", "diGraph", "DiGraph", "DIGRAPH"},
	"subgraph": {"subgraph", "Subgraph", "subGraph", "SubGraph", "SUBGRAPH"},
	"node":     {"node", "Node", "NODE"}, "edge": {"edge", "Edge", "EDGE"},
}

// check refuses what gonum reads otherwise than Graphviz does, and bounds what its parser does not: depth,
// operators and memory. It takes O(len(text)) time.
func check(l *reading.Lines, text []byte) error {
	depth, edges, directed := 0, 0, false
	for n := 0; len(text) > 0; text = text[n:] {
		if n = tokenSize(text); n == 0 {
			return l.Errorf("%s has no end", reading.Quote(text))
		}
		token, cost := text[:n], int64(tokenBytes+n)
		switch c := token[0]; {
		case c <= ' ' || c == '/' || c == '#':
			cost = 0
		case c == '"' && bytes.Contains(token, []byte("\\\\\n")):
			return l.Errorf("%s: two backslashes at a line end are not read", reading.Quote(token))
		case c == '+':
			return l.Errorf("texts joined by + are not read; write one text")
		case c == '{':
			if depth++; depth > maxDepth+1 {
				return l.Errorf("subgraphs nested more than %d deep", maxDepth)
			}
		case c == '}':
			depth--
		case n == 2 && c == '-':
			cost += edgeBytes
			if edges++; edges > maxEdges {
				return l.Errorf("more than %d edges are written", maxEdges)
			}
			if (token[1] == '>') != directed {
				return l.Errorf("-> belongs in a digraph, and -- in a graph")
			}
		case isLetter(c) && n <= len("subgraph"):
			keyword := strings.ToLower(string(token))
			known, ok := spellings[keyword]
			if ok && !slices.Contains(known, string(token)) {
				return l.Errorf("%s is read in the spellings %s", token, strings.Join(known, ", "))
			}
			if ok && depth == 0 {
				directed = keyword == "digraph"
			}
		}
		if err := l.Take(cost); err != nil {
			return err
		}
		l.Line += bytes.Count(token, []byte("\n"))
	}
	return nil
}

// tokenSize returns the size of the token, comment or blanks at the beginning of b, or 0 if it has no end.
func tokenSize(b []byte) int {
	in := func(byte) bool { return false }
	switch c := b[0]; {
	case c <= ' ':
		in = func(c byte) bool { return c <= ' ' }
	case isLetter(c):
		in = func(c byte) bool { return isLetter(c) || isDigit(c) }
	case isDigit(c) || c == '.':
		in = func(c byte) bool { return isDigit(c) || c == '.' }
	case c == '#', bytes.HasPrefix(b, []byte("//")):
		in = func(c byte) bool { return c != '\n' }
	case bytes.HasPrefix(b, []byte("/*")):
		if end := bytes.Index(b[2:], []byte("*/")); end >= 0 {
			return end + 4
		}
		return 0
	case bytes.HasPrefix(b, []byte("--")), bytes.HasPrefix(b, []byte("->")):
		return 2
	case c == '"' || c == '<':
		depth := 1
		for n := 1; n < len(b); n++ {
			switch {
			case c == '"' && b[n] == '\\':
				n++
			case c == '<' && b[n] == '<':
				depth++
			case c == '"' && b[n] == '"', c == '<' && b[n] == '>':
				if depth--; depth == 0 {
					return n + 1
				}
			}
		}
		return 0
	}
	for n := 1; n < len(b); n++ {
		if !in(b[n]) {
			return n
		}
	}
	return len(b)
}

func isLetter(c byte) bool {
	return c == '_' || c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
