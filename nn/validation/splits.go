package validation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// mostSplits bounds the bytes of a file of splits.
const mostSplits = 1 << 28

// ReadSplits reads the splits of rows rows from JSON in the format of Errica et al. ("A fair
// comparison of graph neural networks for graph classification", ICLR 2020):
//
//	[{"test": [3, 8, …], "model_selection": [{"train": [0, …], "validation": [5, …]}]}, …]
//
// Rows are numbered from 0. Each row must be in one part of each split and be tested in one of
// the splits, and each split must have one train/validation pair. An error names the split,
// from 0, and the row. Rows are returned ascending.
func ReadSplits(r io.Reader, rows int) ([]Split, error) {
	var file []struct {
		Test  *[]int32 `json:"test"`
		Parts []struct {
			Train *[]int32 `json:"train"`
			Valid *[]int32 `json:"validation"`
		} `json:"model_selection"`
	}
	dec := json.NewDecoder(io.LimitReader(r, mostSplits))
	if err := dec.Decode(&file); err != nil {
		if bad := new(json.UnmarshalTypeError); errors.As(err, &bad) {
			err = fmt.Errorf("byte %d: a JSON %s, want a list of splits, as ReadSplits documents them, with numbers of rows", bad.Offset, bad.Value)
		}
		return nil, fmt.Errorf("splits: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("splits: there is more behind the list, at byte %d", dec.InputOffset())
	}
	splits := make([]Split, len(file))
	for i, f := range file {
		switch {
		case f.Test == nil:
			return nil, fmt.Errorf("splits: split %d has no list %q", i, "test")
		case len(f.Parts) != 1:
			return nil, fmt.Errorf("splits: split %d has %d entries of %q, want 1", i, len(f.Parts), "model_selection")
		case f.Parts[0].Train == nil || f.Parts[0].Valid == nil:
			return nil, fmt.Errorf("splits: split %d has no list %q or %q", i, "train", "validation")
		}
		s := Split{Train: *f.Parts[0].Train, Valid: *f.Parts[0].Valid, Test: *f.Test}
		for _, part := range [][]int32{s.Train, s.Valid, s.Test} {
			slices.Sort(part)
		}
		splits[i] = s
	}
	if err := checkSplits(splits, rows); err != nil {
		return nil, fmt.Errorf("splits: %w", err)
	}
	tested := make([]int, rows) // 1 + number of the split that tests the row
	for i, s := range splits {
		if n := len(s.Train) + len(s.Valid) + len(s.Test); n != rows {
			return nil, fmt.Errorf("splits: split %d has %d rows, want all %d: row %d is missing", i, n, rows, s.missing())
		}
		for _, row := range s.Test {
			if tested[row] > 0 {
				return nil, fmt.Errorf("splits: row %d is tested in the splits %d and %d", row, tested[row]-1, i)
			}
			tested[row] = i + 1
		}
	}
	if row := slices.Index(tested, 0); row >= 0 {
		return nil, fmt.Errorf("splits: row %d is tested in no split", row)
	}
	return splits, nil
}

// missing returns the first row that is in no part.
func (s Split) missing() int {
	all := slices.Concat(s.Train, s.Valid, s.Test)
	slices.Sort(all)
	for i, row := range all {
		if int(row) != i {
			return i
		}
	}
	return len(all)
}

// checkSplits returns an error for splits that are not valid for that many rows.
func checkSplits(splits []Split, rows int) error {
	if len(splits) == 0 {
		return fmt.Errorf("there is no split")
	}
	names := [...]string{"train", "validation", "test"}
	in := make([]int, rows) // 1 + 3·split + part of the row
	for i, s := range splits {
		for p, part := range [...][]int32{s.Train, s.Valid, s.Test} {
			if len(part) == 0 {
				return fmt.Errorf("split %d has no rows of %q", i, names[p])
			}
			for j, row := range part {
				switch {
				case row < 0 || int(row) >= rows:
					return fmt.Errorf("split %d, %s: there is no row %d, want 0 to %d", i, names[p], row, rows-1)
				case in[row] > 3*i:
					return fmt.Errorf("split %d: row %d is in %s and in %s", i, row, names[in[row]-1-3*i], names[p])
				case j > 0 && part[j-1] > row:
					return fmt.Errorf("split %d, %s: row %d comes after %d, want them ascending", i, names[p], row, part[j-1])
				}
				in[row] = 1 + 3*i + p
			}
		}
	}
	return nil
}
