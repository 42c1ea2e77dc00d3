package rows

import (
	"bytes"
	"fmt"
	"strconv"
)

// MarshalJSON writes the edge as [u,v].
func (e Edge) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "[%d,%d]", e.U, e.V), nil }

// UnmarshalJSON reads [u,v], two integers. Anything else is an error. A [2]int32 would accept [1] as [1,0]
// and ignore the third number of [1,2,3].
func (e *Edge) UnmarshalJSON(text []byte) error {
	list, array := bytes.CutPrefix(bytes.TrimSpace(text), []byte("["))
	u, v, both := bytes.Cut(bytes.TrimSuffix(list, []byte("]")), []byte(","))
	first, err := strconv.ParseInt(string(bytes.TrimSpace(u)), 10, 32)
	if err == nil {
		var second int64
		second, err = strconv.ParseInt(string(bytes.TrimSpace(v)), 10, 32)
		*e = Edge{int32(first), int32(second)}
	}
	if !array || !both || err != nil {
		return fmt.Errorf("graph: the edge %.40s, want two nodes as [0,1]", text)
	}
	return nil
}
