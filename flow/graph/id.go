package graph

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// ID is the id of one node. It is comparable, and needs no record. In JSON an integer is a
// number with all of its digits, also above 2⁵³, which readers that make a float64 of it
// round; a string is a string; and no id is null.
type ID struct {
	kind IDKind
	int  int64
	name string
}

// IDOf returns an integer as an id.
func IDOf(id int64) ID { return ID{kind: Int64IDs, int: id} }

// IDOfString returns a string as an id.
func IDOfString(id string) ID { return ID{kind: StringIDs, name: id} }

// At returns the id of node v, a copy, and no id for -1 and if there are no ids.
func (ids IDs) At(v int32) ID {
	switch {
	case v < 0:
	case ids.kind == Int64IDs:
		return IDOf(ids.ints[v])
	case ids.kind == StringIDs:
		return IDOfString(string(ids.bytes(v)))
	}
	return ID{}
}

// String returns the id as text: of an integer its decimal digits, and "" of no id.
func (id ID) String() string {
	if id.kind == Int64IDs {
		return strconv.FormatInt(id.int, 10)
	}
	return id.name
}

// IsZero reports whether there is no id, for the option omitzero of package json.
func (id ID) IsZero() bool { return id.kind == NoIDs }

// MarshalJSON writes a number, a string, or null.
func (id ID) MarshalJSON() ([]byte, error) {
	switch id.kind {
	case Int64IDs:
		return strconv.AppendInt(nil, id.int, 10), nil
	case StringIDs:
		return json.Marshal(id.name)
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads a 64-bit integer without a point, a string, or null.
func (id *ID) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		var name string
		err := json.Unmarshal(text, &name)
		*id = IDOfString(name)
		return err
	}
	if string(text) == "null" {
		*id = ID{}
		return nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return fmt.Errorf("graph: the id %.40s, want a 64-bit integer or a string", text)
	}
	*id = IDOf(n)
	return nil
}
