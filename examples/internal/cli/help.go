package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Help is the error of -h: the flags of a command. It is a flag.ErrHelp.
type Help struct{ *flag.FlagSet }

// Error implements error.
func (h *Help) Error() string { return flag.ErrHelp.Error() }

// Unwrap returns flag.ErrHelp.
func (h *Help) Unwrap() error { return flag.ErrHelp }

// FlagsOf returns the flags of a command, which -h ends before its work.
func FlagsOf(run func(args []string) error) *flag.FlagSet {
	help := &Help{new(flag.FlagSet)}
	errors.As(run([]string{"-h"}), &help)
	return help.FlagSet
}

// Group is a title of -h with names of flags, separated by blanks.
type Group struct{ Title, Flags string }

// width is the number of characters of a line of -h.
const width = 100

// Print writes what the command is for, its examples, and its flags in groups. The last group has also
// the flags that no group names. Empty groups are left out.
func (h *Help) Print(out io.Writer, examples string, groups ...Group) {
	h.SetOutput(out)
	h.Usage()
	if examples != "" {
		fmt.Fprintf(out, "\nexamples:\n  %s\n", strings.ReplaceAll(examples, "\n", "\n  "))
	}
	if len(groups) == 0 {
		groups = []Group{{Title: "flags"}}
	}
	texts := make([]string, len(groups))
	h.VisitAll(func(f *flag.Flag) {
		at := slices.IndexFunc(groups, func(g Group) bool { return slices.Contains(strings.Fields(g.Flags), f.Name) })
		if at < 0 {
			at = len(groups) - 1
		}
		texts[at] += describe(f)
	})
	for i, text := range texts {
		if text != "" {
			fmt.Fprintf(out, "\n%s:\n%s", groups[i].Title, text)
		}
	}
}

// describe is a flag as flag.PrintDefaults writes it, with wrapped lines.
func describe(f *flag.Flag) string {
	var b bytes.Buffer
	value := f.Value
	if r, ok := value.(*ranged); ok { // the inner value has the type
		value = r.Value
	}
	one := flag.NewFlagSet("", flag.ContinueOnError)
	one.SetOutput(&b)
	one.Var(value, f.Name, f.Usage)
	one.Lookup(f.Name).DefValue = f.DefValue
	one.PrintDefaults()
	head, text, _ := strings.Cut(b.String(), "\t")
	return strings.TrimRight(head, " \n") + "\n" + Wrap(text, "        ")
}

// Wrap breaks a text into lines of at most 100 characters that begin with indent. Empty lines and shorter lines
// that begin with a blank stay; a longer one of these is continued further to the right.
func Wrap(text, indent string) string {
	var b strings.Builder
	column := 0
	end := func() {
		if column > 0 {
			b.WriteByte('\n')
			column = 0
		}
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		own := len(line) - len(strings.TrimLeft(line, " "))
		if line == "" || own > 0 {
			end()
			if len([]rune(line)) > width {
				more := Wrap(line[own:], strings.Repeat(" ", own+4))
				line = strings.TrimSuffix(line[:own]+more[own+4:], "\n")
			}
			b.WriteString(line + "\n")
			continue
		}
		for word := range strings.FieldsSeq(line) {
			long := len([]rune(word))
			if column > 0 && column+1+long > width {
				end()
			}
			if column == 0 {
				b.WriteString(indent)
				column = len(indent)
			} else {
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += long
		}
	}
	end()
	return b.String()
}

// Meant returns a text that asks for the name nearest to a word, or "" where none is near: at most a third of
// the characters are other, missing, added or exchanged with the next.
func Meant(word, prefix string, names []string) string {
	near, least := "", max(1, len(word)/3)+1
	for _, name := range names {
		if d := distance(word, name); d < least {
			near, least = name, d
		}
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, near)
}

// distance is the number of bytes that are other, missing, added, or exchanged with the next.
func distance(a, b string) int {
	last, before := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		now := append(make([]int, 0, len(b)+1), i+1)
		for j := range len(b) {
			d := last[j]
			if a[i] != b[j] {
				d++
			}
			d = min(d, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, before[j-1]+1)
			}
			now = append(now, d)
		}
		last, before = now, last
	}
	return last[len(b)]
}
