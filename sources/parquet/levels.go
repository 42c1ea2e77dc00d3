package parquet

import (
	"errors"

	"github.com/sanflow/sanflow/internal/tabular"
)

// assembler converts repetition and definition levels to list offsets (Melnik et al. 2010, Dremel). A
// repetition level is the depth at which a list continues. A definition level tells a value from an empty
// list or a null.
type assembler struct {
	column
	values int        // values so far
	nulls  []bool     // null flag of each row; only at depth 0
	begin  [2][]int32 // offsets of lists, by depth
}

var (
	errNull   = errors.New("there are nulls, want none")
	errLevels = errors.New("the levels of its values do not make lists")
)

// add processes the levels of n slots. It returns how many of the slots have a value.
func (a *assembler) add(n int, rep, def []uint8) (int, error) {
	before := a.values
	if a.depth == 0 && a.column.nulls {
		for i := range n {
			null := a.most > 0 && def[i] != a.most
			a.nulls = append(a.nulls, null)
			if !null {
				a.values++
			}
		}
		return a.values - before, nil
	}
	if a.most > 0 && a.depth == 0 {
		for _, d := range def {
			if d != a.most {
				return 0, errNull
			}
		}
	}
	switch a.depth {
	case 0:
		a.values += n
	case 1:
		for i, r := range rep {
			if r == 0 {
				a.begin[0] = append(a.begin[0], int32(a.values))
			} else if r > 1 || len(a.begin[0]) == 0 {
				return 0, errLevels
			}
			switch d := def[i]; {
			case d == a.most:
				a.values++
			case d != a.inside[0]-1:
				return 0, errNull
			case r != 0:
				return 0, errLevels
			}
		}
	default:
		for i, r := range rep {
			if r > 2 || r > 0 && len(a.begin[0]) == 0 {
				return 0, errLevels
			}
			if r == 0 {
				a.begin[0] = append(a.begin[0], int32(len(a.begin[1])))
			}
			d := def[i]
			if d == a.inside[0]-1 { // an empty outer list
				if r != 0 {
					return 0, errLevels
				}
				continue
			}
			if r < 2 && d >= a.inside[0] {
				a.begin[1] = append(a.begin[1], int32(a.values))
			} else if r == 2 && int(a.begin[0][len(a.begin[0])-1]) == len(a.begin[1]) {
				return 0, errLevels
			}
			switch {
			case d == a.most:
				a.values++
			case d != a.inside[1]-1:
				return 0, errNull
			case r == 2:
				return 0, errLevels
			}
		}
	}
	return a.values - before, nil
}

func (a *assembler) rows() int {
	switch {
	case a.depth > 0:
		return len(a.begin[0])
	case a.column.nulls:
		return len(a.nulls)
	}
	return a.values
}

// finish returns the list offsets, with the end of the last list.
func (a *assembler) finish() (ends [2][]int32) {
	switch a.depth {
	case 1:
		ends[0] = append(a.begin[0][:len(a.begin[0]):len(a.begin[0])], int32(a.values))
	case 2:
		ends[0] = append(a.begin[0][:len(a.begin[0]):len(a.begin[0])], int32(len(a.begin[1])))
		ends[1] = append(a.begin[1][:len(a.begin[1]):len(a.begin[1])], int32(a.values))
	}
	return ends
}

var _ tabular.Decoder = (*reader)(nil)
