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
}

func createScores(path string, classes []string) (*scores, error) {
	ext := cmp.Or(filepath.Ext(path), ".csv")
	if ext != ".csv" && ext != ".jsonl" {
		return nil, cli.Usage(fmt.Errorf("-out is %q, want a name that ends in .csv, .jsonl or .parquet", path))
	}
	file, err := cli.CreateStream(cmp.Or(path, "/dev/stdout"))
	if err != nil {
		return nil, err
	}
	s := &scores{file: file, classes: classes, names: []string{"id", "value"}}
	if len(classes) > 0 {
		s.names[1] = "class"
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

// write writes what is said of a row.
func (s *scores) write(id string, p sinks.Prediction) error {
	s.row = append(s.row[:0], id)
	if len(s.classes) == 0 {
		s.row = append(s.row, strconv.FormatFloat(float64(p.Value), 'g', -1, 32))
	} else {
		s.row = append(s.row, s.classes[p.Class])
	}
	for _, x := range p.Probs {
		s.row = append(s.row, strconv.FormatFloat(float64(x), 'g', -1, 32))
	}
	if s.csv != nil {
		return s.csv.Write(s.row)
	}
	var b bytes.Buffer // a map would lose the order
	for i, name := range s.names {
		key, _ := json.Marshal(name)
		value := []byte(s.row[i])
		if i == 0 || i == 1 && len(s.classes) > 0 {
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
