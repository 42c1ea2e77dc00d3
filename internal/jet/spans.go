package jet

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Span is the positions from From to To.
type Span struct{ From, To int64 }

// SpansOf returns the positions of rows, which must not fall.
func SpansOf(pos []int64) ([]Span, error) {
	var s []Span
	for i, p := range pos {
		last := len(s) - 1
		switch {
		case p < 0:
			return nil, fmt.Errorf("row %d: the position is %d, want 0 or more", i, p)
		case last < 0 || p > s[last].To+1:
			s = append(s, Span{p, p})
		case p < s[last].To:
			return nil, fmt.Errorf("row %d: position %d comes after %d, but within a message positions must not fall", i, p, s[last].To)
		default:
			s[last].To = p
		}
	}
	return s, nil
}

// positions counts the positions of spans.
func positions(spans []Span) (n int64) {
	for _, s := range spans {
		n += s.To - s.From + 1
	}
	return n
}

// formatSpans writes spans as 0-4,6-31.
func formatSpans(s []Span) string {
	var b strings.Builder
	for i, x := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(x.From, 10))
		if x.To > x.From {
			b.WriteByte('-')
			b.WriteString(strconv.FormatInt(x.To, 10))
		}
	}
	return b.String()
}

var errSpans = errors.New("its positions cannot be read")

// parseSpans reads what formatSpans has written, and nothing else.
func parseSpans(text string) ([]Span, error) {
	var s []Span
	for part := range strings.SplitSeq(text, ",") {
		from, to, two := strings.Cut(part, "-")
		a, err := strconv.ParseInt(from, 10, 64)
		b := a
		if err == nil && two {
			b, err = strconv.ParseInt(to, 10, 64)
		}
		if err != nil || a < 0 || two && b <= a || len(s) > 0 && a <= s[len(s)-1].To+1 || b == 1<<63-1 {
			return nil, errSpans
		}
		s = append(s, Span{a, b})
	}
	if formatSpans(s) != text {
		return nil, errSpans
	}
	return s, nil
}
