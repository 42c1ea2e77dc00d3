package sources

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// IDSpaces says whether equal ids at the two ends of an edge are one node.
type IDSpaces int8

// The id spaces of the two ends of an edge.
const (
	guessSpaces IDSpaces = iota // two spaces if SpacesOf recognizes them, else one
	OneSpace                    // equal ids are one node
	TwoSpaces                   // ids of sources and targets are different nodes
)

// ParseIDSpaces reads auto, one or two, as flags have them.
func ParseIDSpaces(text string) (IDSpaces, error) {
	i := slices.Index([]string{"auto", "one", "two"}, cmp.Or(text, "auto"))
	if i < 0 {
		return 0, fmt.Errorf("%q, want auto, one or two", text)
	}
	return IDSpaces(i), nil
}

// spaceWords names kinds of actors and of objects. Ids of an actor column and of an object column are
// different nodes.
var spaceWords = [2][]string{
	{"user", "customer", "client", "buyer", "person", "author", "reader", "viewer", "listener", "member", "student", "patient", "reviewer", "visitor", "actor"},
	{"item", "product", "movie", "film", "book", "article", "paper", "song", "track", "artist", "album", "business", "restaurant", "game", "page", "post", "course", "event", "group", "merchant", "city", "isbn", "asin"},
}

var neo4jID = regexp.MustCompile(`:(START_ID|END_ID|ID)(\((.*)\))?$`)

// neo4jSpace returns the id space in a column header of Neo4j's import, or "".
func neo4jSpace(column string) string {
	if m := neo4jID.FindStringSubmatch(column); m != nil {
		return m[3]
	}
	return ""
}

// SpacesOf returns the names of the spaces of ids in two columns of a table, which are "" if both
// have ids of one space. guessSpaces knows two spaces by the names of the columns, as in
// user_id,item_id or userId,movieId, by those of Neo4j, as :START_ID(Person) and :END_ID(City), and
// by the first line of a bipartite network of KONECT, % bip. A note says what was guessed.
func SpacesOf(r TableReader, source, target string, spaces IDSpaces) (of [2]string, note string) {
	kinds := [2]int{-1, -1}
	for i, column := range []string{source, target} {
		of[i] = cmp.Or(neo4jSpace(column), column)
		kind := strings.TrimRight(strings.TrimSuffix(strings.ToLower(column), "id"), "_- ")
		kinds[i] = slices.IndexFunc(spaceWords[:], func(words []string) bool { return slices.Contains(words, kind) })
	}
	bip := false
	if t, ok := r.(*textReader); ok {
		bip = t.form.bip
	}
	named := neo4jSpace(source) != "" && neo4jSpace(target) != ""
	switch {
	case spaces == OneSpace, named && of[0] == of[1] && spaces == guessSpaces:
		return [2]string{}, ""
	case bip:
		of = [2]string{"left", "right"}
	case of[0] == of[1]:
		of = [2]string{"source", "target"}
	}
	if spaces == TwoSpaces || named {
		return of, ""
	}
	if !bip && (kinds[0] < 0 || kinds[1] < 0 || kinds[0] == kinds[1]) {
		return [2]string{}, ""
	}
	return of, fmt.Sprintf("guessed: the ids of %s and of %s of %s are different nodes, %s:1 and %s:1; -spaces one makes equal ids one node", reading.Quote([]byte(source)), reading.Quote([]byte(target)), r.Name(), of[0], of[1])
}

// IDIn returns the id of a node in a space of that name, as user_id:7, or the id itself where the
// name is "". A whole number with a point, as 7.0, has the usual spelling; 1e3 may be no number. The id
// may be appended to the memory of scratch.
func IDIn(space string, id, scratch []byte) []byte {
	if !bytes.ContainsAny(id, "eE") {
		id, _ = reading.WholeNumber(id)
	}
	if space == "" {
		return id
	}
	return append(append(append(scratch[:0], space...), ':'), id...)
}
