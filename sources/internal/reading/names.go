package reading

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/decimal"
	"github.com/sanflow/sanflow/internal/rows"
)

// Channels returns n channels: with the name itself, or with name_0, name_1 and so on if n > 1.
func Channels(name string, values [][]int64, n int) []record.Channel {
	var c []record.Channel
	for i := range n {
		ch := record.Channel{Name: name}
		if n > 1 {
			ch.Name = fmt.Sprintf("%s_%d", name, i)
		}
		if values != nil {
			ch.Card = len(values[i])
		}
		c = append(c, ch)
	}
	return c
}

// GraphNames collects the ids of graphs: integers if all are canonical integers, else strings. An empty id
// means none.
type GraphNames struct {
	Ends    []int32
	Text    []byte
	Strings bool
}

func (l *GraphNames) Add(id []byte) error {
	if !utf8.Valid(id) {
		return fmt.Errorf("the id %s is no UTF-8", Quote(id))
	}
	if len(l.Text)+len(id) > math.MaxInt32 {
		return fmt.Errorf("the ids have more than %d bytes up to here", math.MaxInt32)
	}
	if _, ok := Canonical(id); !ok {
		l.Strings = true
	}
	l.Text = append(l.Text, id...)
	l.Ends = append(l.Ends, int32(len(l.Text)))
	return nil
}

func (l *GraphNames) IDs() graph.IDs {
	if ends := append([]int32{0}, l.Ends...); l.Strings {
		return graph.IDsOfText(ends, l.Text)
	}
	ints, from := make([]int64, len(l.Ends)), int32(0)
	for i, end := range l.Ends {
		ints[i], _ = Canonical(l.Text[from:end]) // Add has checked them
		from = end
	}
	return graph.IDsOf(ints)
}

// SortClasses sorts class labels: as numbers if all are numbers, else as text. Class indices of models follow
// this order.
func SortClasses(names []string) {
	value := map[string]float64{}
	for _, s := range names {
		x, err := decimal.Float(s, 64)
		if err != nil || x != x {
			slices.Sort(names)
			return
		}
		value[s] = x
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(value[a], value[b]), cmp.Compare(a, b))
	})
}

// Repeated returns the number of lines that name an edge of another line. It is 0 if each undirected edge has
// exactly two lines, one per direction, with equal attributes.
func Repeated(c rows.Counts, lines int64) int64 {
	n := lines - c.SelfLoops - c.Edges
	if n == c.Edges && c.OneWay+c.Duplicates+c.Conflicts == 0 {
		return 0
	}
	return n
}

// RepeatedNote returns the note about repeated lines, or "". kept describes what is kept; "" is the line with
// the smallest attributes.
func RepeatedNote(c rows.Counts, lines int64, kept string) string {
	n := Repeated(c, lines)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("repeated rows: %d of %d name an edge that another row names, %s", n, lines, cmp.Or(kept, "the one with the smallest attributes is kept"))
}

// EdgeNotes returns the notes about self-loops and repeated lines.
func EdgeNotes(c rows.Counts, lines int64, file, kept string) (notes []string) {
	if c.SelfLoops > 0 {
		notes = append(notes, fmt.Sprintf("left out: %d of %d rows of %s join a node to itself", c.SelfLoops, lines, file))
	}
	if note := RepeatedNote(c, lines, kept); note != "" {
		notes = append(notes, note)
	}
	return notes
}
