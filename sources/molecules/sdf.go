package molecules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
	"github.com/sanflow/sanflow/sources/internal/smiles"
)

// SDF reads molecules from an SD file in version V2000, or a single molfile, plain or packed
// by gzip or zstd:
//
//	molecules.SDF{Path: "tox21.sdf.gz", Class: "SR-ARE"}
//
// Atoms are nodes and bonds edges with the attributes of [Layout], as
// smiles.ReadMolfile reads them. Bonds are in Kekulé form in most such files and stay so:
// SMILES with aromatic atoms have other attributes. graph_id and pos are the number of the
// molecule, from 0.
//
// The target is a data item: the lines behind > <NAME> up to an empty one, joined by
// blanks, whatever they look like. A line $$$$ is one of them if an empty line and another item, or
// $$$$, follow. As of a table, one target is read, and a molecule without that item, or with an
// empty one, is left out.
type SDF struct {
	// Path is the file.
	Path string
	// Reader, if set, is read in place of Path, which is then only its name in
	// messages. It can be read once, and Class then needs Classes.
	Reader io.Reader
	// Class, Value, Classes, Parts, Part, Refused, Skip and Rows are those of SMILES, with
	// the name of a data item in place of a column, and the number of a molecule in place of
	// that of a row. Refused is told of what is no molecule; the next begins behind $$$$.
	Class, Value string
	Classes      []string
	Parts        []sources.Subset
	Part         sources.Subset
	Refused      func(row int64, err error)
	Skip         func(row int64, class string)
	Rows         int
	// ID is the data item that Names returns. The default is the first line of each
	// molecule, its title.
	ID string
	// MaxBytes bounds the unpacked size. The default is 1 GiB, or 64 times the size of
	// the file if that is more.
	MaxBytes int64
}

// String names the file, for the plan of a pipeline.
func (s SDF) String() string {
	return reading.Input{Kind: "SDF", Path: s.Path, Reader: s.Reader}.String()
}

// Open finds the classes and returns a reader of the molecules.
func (s SDF) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	if s.Reader != nil && s.Class != "" && s.Classes == nil {
		return nil, errors.New("sources: SDF: Class of a Reader needs Classes")
	}
	return molecules{"SDF", s.Class, s.Value, s.Classes, s.Parts, s.Part, s.Refused, s.Skip, s.Rows, func(target string) (moleculeScan, error) {
		return s.scan(ctx, target)
	}}.open(mem)
}

func (s SDF) scan(ctx context.Context, item string) (*sdfScan, error) {
	l, err := reading.Input{Kind: "SDF", Path: s.Path, Reader: s.Reader, MaxBytes: s.MaxBytes, PerByte: 64}.Lines(reading.Ending(ctx))
	return &sdfScan{l: l, item: item, n: -1}, err
}

// Names returns the ids of the molecules by their numbers, which are those of the graphs:
// integers if all are decimal integers, as 7 and not 007, else strings. Ids may be repeated. A
// molecule without the data item ID is an error; without ID there are no names where a title is
// empty. What is no molecule may lack either, and then has 0 or "".
func (s SDF) Names(ctx context.Context) (names graph.IDs, err error) {
	scan, err := s.scan(ctx, s.ID)
	if err != nil {
		return names, err
	}
	var ids reading.GraphNames
	untitled := false
	err = eachMolecule(scan, func() error {
		id, ok := scan.target()
		if s.ID == "" {
			id = scan.title
			untitled = untitled || len(id) == 0 && scan.bad == nil
		} else if !ok && scan.bad == nil {
			return scan.blame(errors.New("there is no such data item, want an id"))
		}
		if err := ids.Add(id); err != nil {
			return scan.blame(err)
		}
		return nil
	})
	if err != nil || untitled {
		return names, err
	}
	return ids.Ids(), nil
}

// ReadParts reads from a data item what each molecule is for, as [ReadParts] does from a
// column.
func (s SDF) ReadParts(ctx context.Context, item string) (parts []sources.Subset, err error) {
	scan, err := s.scan(ctx, item)
	if err != nil {
		return nil, err
	}
	err = eachMolecule(scan, func() error {
		p, err := subsetOf(scan.target())
		if err != nil {
			return scan.blame(err)
		}
		parts = append(parts, p)
		return nil
	})
	return parts, err
}

// sdfEnd is the line behind a molecule.
const sdfEnd = "$$$$"

// sdfScan reads the molecules of a file.
type sdfScan struct {
	l    *reading.Lines
	item string // that is the target; "" = none
	n    int64

	m      *smiles.Molecule
	bad    error  // why there is no molecule
	title  []byte // its first line, nil before that
	value  []byte // of the item
	at     int    // its line, or that of M  END
	ended  bool   // the line with $$$$ was read
	empty  bool   // all lines of the molecule so far are
	failed error  // of the file
}

// line returns the next one of a molecule.
func (s *sdfScan) line() (string, error) {
	if s.ended {
		return "", errors.New("the molecule ends before M  END")
	}
	row, err := s.l.Raw()
	if err != nil {
		s.failed = err
		return "", err
	}
	s.l.Line++
	row = bytes.TrimRight(row, "\r")
	text := bytes.TrimSpace(row)
	if s.title == nil {
		s.title = append([]byte{}, text...)
	}
	s.empty = s.empty && len(text) == 0
	s.ended = string(bytes.TrimRight(row, " \t")) == sdfEnd
	return string(row), nil
}

func (s *sdfScan) next() (err error) {
	s.title, s.value, s.ended, s.empty = nil, nil, false, true
	s.m, s.bad = smiles.ReadMolfile(s.line)
	switch {
	case s.failed == io.EOF && !s.empty:
		return s.l.Errorf("the file ends before M  END")
	case s.failed != nil:
		return s.failed
	}
	s.n++
	s.at = s.l.Line
	if s.bad != nil {
		s.bad = s.l.Errorf("molecule %d: %w", s.n+1, s.bad)
	}
	for !s.ended {
		text, err := s.line()
		if name, ok := itemOf(text); err == nil && ok && !s.ended {
			err = s.read(name == s.item && s.item != "" && s.value == nil)
		}
		if err == io.EOF {
			s.failed = nil // the last molecule need not end with $$$$
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// itemOf is the name of the data item that a line begins, as > 25 <NAME>.
func itemOf(line string) (name string, ok bool) {
	_, rest, ok := strings.Cut(line, "<")
	if !ok || !strings.HasPrefix(line, ">") {
		return "", false
	}
	name, _, ok = strings.Cut(rest, ">")
	return name, ok
}

// read reads the lines of an item up to an empty one, or to $$$$ that ends the molecule, and keeps
// them. A line of a value may look like the beginning of an item.
func (s *sdfScan) read(keep bool) error {
	if keep {
		s.value = []byte{}
	}
	for {
		text, err := s.line()
		if s.ended && s.goesOn() {
			s.ended = false
		}
		if text = strings.TrimSpace(text); err != nil || text == "" || s.ended {
			return err
		}
		if !keep {
			continue
		}
		if len(s.value) == 0 {
			s.at = s.l.Line
		} else {
			s.value = append(s.value, ' ')
		}
		s.value = append(s.value, text...)
	}
}

// goesOn reports whether a line $$$$ is one of a value: the value ends with an empty line, and
// another item or $$$$ follows, within 64 lines. In a molecule that follows, the fourth line has its
// counts.
func (s *sdfScan) goesOn() bool {
	empty, at := false, 0
	for range 64 {
		line, size := s.l.Ahead(at)
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

func (s *sdfScan) number() int64 { return s.n }

func (s *sdfScan) target() ([]byte, bool) { return s.value, len(s.value) > 0 }

func (s *sdfScan) broken() error { return s.bad }

func (s *sdfScan) graph(b *sources.Builder) (*graph.Graph, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	g, err := moleculeGraph(b, s.m)
	if err != nil {
		return nil, s.blame(err)
	}
	return g, nil
}

func (s *sdfScan) blame(err error) error {
	if s.item != "" {
		err = fmt.Errorf("%s: %w", reading.Quote([]byte(s.item)), err)
	}
	return &reading.FileError{File: s.l.File, Line: s.at, Err: fmt.Errorf("molecule %d: %w", s.n+1, err)}
}

func (s *sdfScan) file() string { return s.l.File }
func (s *sdfScan) Close() error { return s.l.Close() }
