package molecules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
	"github.com/sanflow/sanflow/sources/internal/smiles"
)

// SDF is a [sources.Table] of an SD file in version V2000, or of a single molfile, plain or packed
// by gzip or zstd:
//
//	molecules.Source{Table: molecules.SDF{Path: "tox21.sdf.gz"}, Targets: sources.Targets("SR-ARE")}
//
// The columns are molfile, the lines of a molecule, "first line", its title, and those of Items. A Source reads the
// items that its fields name. Bonds are in Kekulé form in most such files and stay so:
// SMILES with aromatic atoms have other attributes.
//
// A data item is the lines behind > <NAME> up to an empty one, joined by
// blanks, whatever they look like. A line $$$$ is one of them if an empty line and another item, or
// $$$$, follow. What is no molecule is a row with an error; the next begins behind $$$$.
type SDF struct {
	// Path is the file.
	Path string
	// Reader, if set, is read in place of Path, which is then only its name in
	// messages. It can be read once, and Targets of a Source that are classes then need them.
	Reader io.Reader
	// Items are the data items that are columns.
	Items []string
	// MaxBytes bounds the unpacked size. The default is 1 GiB, or 64 times the size of
	// the file if that is more.
	MaxBytes int64
}

const molfile, title = "molfile", "first line"

// String names the file, for the plan of a pipeline.
func (s SDF) String() string { return s.input().String() }

func (s SDF) input() reading.Input {
	return reading.Input{Kind: "SDF", Path: s.Path, Reader: s.Reader, MaxBytes: s.MaxBytes, PerByte: 64}
}

// OpenTable opens the file.
func (s SDF) OpenTable(ctx context.Context) (sources.TableReader, error) {
	l, err := s.input().Lines(reading.Ending(ctx))
	if err != nil {
		return nil, err
	}
	r := &sdfReader{lineTable: lineTable{l: l}, items: make([][]byte, len(s.Items)), at: make([]int, len(s.Items)), names: map[string]bool{}}
	for _, name := range append([]string{molfile, title}, s.Items...) {
		r.columns = append(r.columns, sources.TableColumn{Name: name, Type: sources.String})
	}
	return r, nil
}

// sdfEnd is the line that ends a molecule.
const sdfEnd = "$$$$"

// mostNames bounds the data item names in an error.
const mostNames = 64

// sdfReader reads an SD file, one molecule a batch.
type sdfReader struct {
	lineTable
	n     int64           // molecules read so far
	names map[string]bool // the first mostNames names of data items

	m      *smiles.Molecule
	title  []byte   // first line of the molecule, or nil
	items  [][]byte // values of the selected items, nil where absent
	at     []int    // line number of each item
	last   int      // line number of M  END
	ended  bool     // the line $$$$ was read
	empty  bool     // all lines so far are empty
	failed error    // error of the input
}

// line returns the next line of the molecule.
func (r *sdfReader) line() (string, error) {
	if r.ended {
		return "", errors.New("the molecule ends before M  END")
	}
	row, err := r.l.Raw()
	if err != nil {
		r.failed = err
		return "", err
	}
	r.l.Line++
	row = bytes.TrimRight(row, "\r")
	text := bytes.TrimSpace(row)
	if r.title == nil {
		r.title = append([]byte{}, text...)
	}
	r.empty = r.empty && len(text) == 0
	r.ended = string(bytes.TrimRight(row, " \t")) == sdfEnd
	return string(row), nil
}

// Next reads the next molecule.
func (r *sdfReader) Next() (*sources.TableBatch, error) {
	r.clear()
	clear(r.items)
	r.title, r.ended, r.empty = nil, false, true
	var lines []byte
	var bad error
	r.m, bad = smiles.ReadMolfile(func() (string, error) {
		line, err := r.line()
		lines = append(append(lines, line...), '\n')
		return line, err
	})
	switch {
	case r.failed == io.EOF && !r.empty:
		return nil, r.l.Errorf("the file ends before M  END")
	case r.failed != nil:
		return nil, r.failed
	}
	r.n++
	r.last = r.l.Line
	if bad != nil {
		r.batch.Errors = map[int]error{0: r.l.Errorf("molecule %d: %w", r.n, bad)}
	}
	for !r.ended {
		text, err := r.line()
		if name, ok := itemOf(text); err == nil && ok && !r.ended {
			if len(r.names) < mostNames {
				r.names[name] = true
			}
			at := slices.IndexFunc(r.columns[2:], func(c sources.TableColumn) bool { return c.Name == name })
			if at >= 0 && r.items[at] != nil {
				at = -1
			}
			err = r.read(at)
		}
		if err == io.EOF {
			r.failed = nil // $$$$ is optional after the last molecule
			break
		}
		if err != nil {
			return nil, err
		}
	}
	r.add(r.last, append([][]byte{lines, r.title}, r.items...)...)
	return r.whole(), nil
}

// itemOf returns the name in the first line of a data item, such as > 25 <NAME>.
func itemOf(line string) (name string, ok bool) {
	_, rest, ok := strings.Cut(line, "<")
	if !ok || !strings.HasPrefix(line, ">") {
		return "", false
	}
	name, _, ok = strings.Cut(rest, ">")
	return name, ok
}

// read reads the lines of an item up to an empty line or the end of the molecule. A negative item is skipped.
// Lines of a value may look like the header of an item.
func (r *sdfReader) read(item int) error {
	if item >= 0 {
		r.items[item], r.at[item] = []byte{}, r.last
	}
	for {
		text, err := r.line()
		if r.ended && r.goesOn() {
			r.ended = false
		}
		if text = strings.TrimSpace(text); err != nil || text == "" || r.ended {
			return err
		}
		if item < 0 {
			continue
		}
		if len(r.items[item]) == 0 {
			r.at[item] = r.l.Line
		} else {
			r.items[item] = append(r.items[item], ' ')
		}
		r.items[item] = append(r.items[item], text...)
	}
}

// goesOn reports whether the line $$$$ belongs to a value. It does if within 64 lines an empty line follows
// and then another item or $$$$. Otherwise a molecule follows, whose fourth line has its counts.
func (r *sdfReader) goesOn() bool {
	empty, at := false, 0
	for range 64 {
		line, size := r.l.Ahead(at)
		if at += size; size == 0 {
			break
		}
		text := string(bytes.TrimSpace(line))
		if _, item := itemOf(text); empty {
			return item || text == sdfEnd
		}
		empty = text == ""
	}
	return false
}

// fail adds the position of the molecule to an error about one of its values.
func (r *sdfReader) fail(column string, err error) error {
	line := r.last
	if at := slices.IndexFunc(r.columns[2:], func(c sources.TableColumn) bool { return c.Name == column }); at >= 0 {
		err = fmt.Errorf("%s: %w", reading.Quote([]byte(column)), err)
		if r.items[at] != nil {
			line = r.at[at]
		}
	}
	return &reading.FileError{File: r.l.File, Line: line, Err: fmt.Errorf("molecule %d: %w", r.n, err)}
}
