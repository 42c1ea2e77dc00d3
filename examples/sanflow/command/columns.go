package command

import (
	"encoding/json"
	"fmt"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// columns is the flags that say what is in tables. A model keeps them: Columns in the layout of its
// recipe, the others in its metadata.
type columns struct {
	record.Columns `json:"-"`
	rowColumns
	Class, Value, Ignore, Part, Types string
	Missing                           string `json:",omitempty"`
	SMILES                            string `json:",omitempty"`
	Spaces                            string `json:",omitempty"`
	Directed                          bool
	HasID                             bool    // -id was given
	Offset                            float64 `json:",omitempty"` // of the numbers of Value, as the model learns them
}

// columnsVersion is the version of the metadata "columns" of a model.
const columnsVersion = 2

// columnsNote is the metadata "columns" of a model.
type columnsNote struct {
	Version int
	columns
}

// keep writes the columns to a model.
func (d *data) keep(notes map[string]string, r operators.Recipe) error {
	c := d.columns
	if d.molecules() {
		c.Columns = record.Columns{ID: c.ID}
	}
	text, err := json.Marshal(columnsNote{columnsVersion, c})
	if err != nil {
		return err
	}
	notes["columns"] = string(text)
	for i, op := range r {
		if e, ok := op.(operators.Expect); ok {
			e.Layout.Columns = c.Columns
			r[i] = e
		}
	}
	return nil
}

// columnsOf returns the columns that a model keeps.
func columnsOf(p *sinks.Predictor) (c columns, err error) {
	if text := nn.MetadataOf(p.Net())["columns"]; text != "" {
		var note columnsNote
		if err := json.Unmarshal([]byte(text), &note); err != nil {
			return c, fmt.Errorf("columns: %w", err)
		}
		if note.Version != columnsVersion {
			return c, fmt.Errorf("the columns are of version %d, want %d: train the model again", note.Version, columnsVersion)
		}
		c = note.columns
	}
	c.Columns = p.Layout().Columns
	return c, nil
}

// declared are the texts of -missing.
func (c columns) declared() []string { return fields(c.Missing) }

// read returns the columns without those of targets and splits: what a graph that is asked about is read by.
func (c columns) read() columns {
	c.Class, c.Value, c.Part, c.Ignore, c.Offset = "", "", "", "", 0
	return c
}
