package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/sinks"
)

// scores is a file of answers.
type scores struct {
	file    *cli.Stream
	csv     *csv.Writer // nil: JSON lines
	classes []string
	names   []string // of the columns
	row     []string
	words   int // of the first columns, the others are numbers
	links   bool
}

func createScores(path, task string, classes []string) (*scores, error) {
	ext := cmp.Or(filepath.Ext(path), ".csv")
	if ext != ".csv" && ext != ".jsonl" {
		return nil, cli.Usage(fmt.Errorf("-out is %q, want a name that ends in .csv, .jsonl or .parquet", path))
	}
	file, err := cli.CreateStream(cmp.Or(path, "/dev/stdout"))
	if err != nil {
		return nil, err
	}
	s := &scores{file: file, classes: classes, names: []string{"id", "value"}, words: 1}
	switch {
	case task == "links":
		s.names, s.words, s.links = []string{"source", "target", "p"}, 2, true
	case len(classes) > 0:
		s.names[1], s.words = "class", 2
		for _, c := range classes {
			s.names = append(s.names, "p_"+c)
		}
	}
	if ext == ".csv" {
		s.csv = csv.NewWriter(file)
		return s, s.csv.Write(s.names)
	}
	return s, nil
}

// write writes what is said of a row of that name, of two for a link.
func (s *scores) write(name []string, p sinks.Prediction) error {
	s.row = append(s.row[:0], name...)
	number := func(x float32) { s.row = append(s.row, strconv.FormatFloat(float64(x), 'g', -1, 32)) }
	switch {
	case s.links:
		number(p.Probs[1])
	case len(s.classes) == 0:
		number(p.Value)
	default:
		s.row = append(s.row, s.classes[p.Class])
		for _, x := range p.Probs {
			number(x)
		}
	}
	if s.csv != nil {
		return s.csv.Write(s.row)
	}
	var b bytes.Buffer // a map would lose the order
	for i, name := range s.names {
		key, _ := json.Marshal(name)
		value := []byte(s.row[i])
		if i < s.words {
			value, _ = json.Marshal(s.row[i])
		}
		fmt.Fprintf(&b, "%c%s:%s", "{,"[min(i, 1)], key, value)
	}
	b.WriteString("}\n")
	_, err := s.file.Write(b.Bytes())
	return err
}

func (s *scores) finish() error {
	if s.csv != nil {
		s.csv.Flush()
		if err := s.csv.Error(); err != nil {
			return err
		}
	}
	return s.file.Finish()
}

func (s *scores) discard() { s.file.Cleanup() }
