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
	if len(file) == 0 {
		return nil, errors.New("splits: there is no split")
	}
	splits, tested := make([]Split, len(file)), make([]int, rows) // 1 + number of the split that tests the row
	for i, f := range file {
		switch {
		case f.Test == nil:
			return nil, fmt.Errorf("splits: split %d has no list %q", i, "test")
		case len(f.Parts) != 1:
			return nil, fmt.Errorf("splits: split %d has %d entries of %q, want 1", i, len(f.Parts), "model_selection")
		case f.Parts[0].Train == nil || f.Parts[0].Valid == nil:
			return nil, fmt.Errorf("splits: split %d has no list %q or %q", i, "train", "validation")
		}
		splits[i] = Split{Train: *f.Parts[0].Train, Valid: *f.Parts[0].Valid, Test: *f.Test}
		if err := splits[i].sort(rows); err != nil {
			return nil, fmt.Errorf("splits: split %d%w", i, err)
		}
		for _, row := range splits[i].Test {
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

// sort sorts the parts. It returns an error unless each row from 0 to rows-1 is in one part. The text of the error
// continues the number of the split.
func (s Split) sort(rows int) error {
	in, n := make([]string, rows), 0 // the part of each row
	for _, part := range []struct {
		name string
		rows []int32
	}{{"train", s.Train}, {"validation", s.Valid}, {"test", s.Test}} {
		if len(part.rows) == 0 {
			return fmt.Errorf(" has no rows of %q", part.name)
		}
		slices.Sort(part.rows)
		for _, row := range part.rows {
			switch {
			case row < 0 || int(row) >= rows:
				return fmt.Errorf(", %s: there is no row %d, want 0 to %d", part.name, row, rows-1)
			case in[row] != "":
				return fmt.Errorf(": row %d is in %s and in %s", row, in[row], part.name)
			}
			in[row] = part.name
		}
		n += len(part.rows)
	}
	if row := slices.Index(in, ""); row >= 0 {
		return fmt.Errorf(" has %d rows, want all %d: row %d is missing", n, rows, row)
	}
	return nil
}
