package cli

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Printable returns a name for a terminal: unchanged if all of its characters can be printed, else quoted,
// with escapes for control characters, direction marks and bytes that are not UTF-8. A name that begins
// with a quote is quoted too, so that different names look different.
func Printable(name string) string {
	if printable(name) && !strings.HasPrefix(name, `"`) {
		return name
	}
	return strconv.Quote(name)
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) })
}

// Printables is Printable of each name.
func Printables(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = Printable(name)
	}
	return all
}

// Terminal returns a writer to a file. If the file is a terminal, characters that cannot be printed are
// escaped.
func Terminal(f *os.File) io.Writer {
	if terminal(f) {
		return escaping{f}
	}
	return f
}

type escaping struct{ w io.Writer }

func (e escaping) Write(b []byte) (int, error) {
	lines := strings.Split(string(b), "\n")
	for i, line := range lines {
		lines[i] = Escape(line)
	}
	_, err := io.WriteString(e.w, strings.Join(lines, "\n"))
	return len(b), err
}

// Escape escapes the characters of a line that cannot be printed.
func Escape(line string) string {
	if printable(line) {
		return line
	}
	quoted := strconv.Quote(line)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// oneLine is the text of an error in one line. Several lines are joined by semicolons.
func oneLine(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if words := strings.Fields(line); len(words) > 0 {
			lines = append(lines, strings.Join(words, " "))
		}
	}
	return Escape(strings.Join(lines, "; "))
}
