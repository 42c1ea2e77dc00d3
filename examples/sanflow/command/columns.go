package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// columns is the flags that describe the columns of tables. A model stores Columns in the layout of its
// recipe, and the others in its metadata.
type columns struct {
	record.Columns `json:"-"`
	rowColumns
	Class, Value, Ignore, Part, Types string
	Missing                           string `json:",omitempty"`
	SMILES                            string `json:",omitempty"`
	Spaces                            string `json:",omitempty"`
	Before                            string `json:",omitempty"` // -before of the training, which is no default
	Directed                          bool
	HasID                             bool    // -id was given
	Offset                            float64 `json:",omitempty"` // subtracted from the numbers of Value before learning
}

// columnsVersion is the version of the metadata "columns" of a model.
const columnsVersion = 2

// columnsNote is the metadata "columns" of a model.
type columnsNote struct {
	Version int
	columns
}

// keep stores the columns in a model.
func (d *data) keep(notes map[string]string, r operators.Recipe) error {
	c := d.columns
	c.Before = d.before
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

// columnsOf returns the columns of a model.
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

// learned returns the columns of -class or -value: one, or several with commas, as a row of CSV.
func (c columns) learned() ([]string, error) {
	text := c.Class + c.Value
	if !strings.Contains(text, ",") && !strings.HasPrefix(text, `"`) {
		return []string{text}, nil
	}
	r := csv.NewReader(strings.NewReader(text))
	r.LazyQuotes = true
	names, err := r.Read()
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if name == "" {
			return nil, fmt.Errorf("%s: the name of column %d is empty", text, i+1)
		}
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("the column %q is named twice", name)
		}
	}
	return names, nil
}

// rowOf is what learned reads: names as a row of CSV.
func rowOf(names []string) string {
	var text strings.Builder
	w := csv.NewWriter(&text)
	_ = w.Write(names) // into memory
	w.Flush()
	return strings.TrimSuffix(text.String(), "\n")
}

// single returns the column of the class or the number, where there is one target.
func (c columns) single() (class, value string) {
	names, err := c.learned()
	switch {
	case err != nil || len(names) > 1:
	case c.Value != "":
		value = names[0]
	default:
		class = names[0]
	}
	return class, value
}

// aims returns the targets, and whether they are numbers. Targets of a loaded model have its classes where there are several,
// and its offsets.
func (d *data) aims() (targets []record.TargetChannel, numbers bool) {
	names, err := d.learned()
	switch {
	case err != nil || names[0] == "":
		return nil, false
	case len(d.goals) == len(names):
		return slices.Clone(d.goals), d.Value != ""
	}
	targets = sources.Targets(names...)
	targets[0].Offset = d.Offset
	return targets, d.Value != ""
}

// ofRows are the columns of posted rows.
func (c columns) ofRows() choose.RowColumns {
	class, value := c.single()
	r := choose.RowColumns{Time: c.Time, Class: class, Ignore: append(fields(c.Ignore), value, c.Part), Missing: c.declared()}
	if c.HasID {
		r.ID = c.ID
	}
	return r
}

// read returns the columns of a graph without targets and splits.
func (c columns) read() columns {
	c.Class, c.Value, c.Part, c.Ignore, c.Offset = "", "", "", "", 0
	return c
}

// ofNodes are the columns of events of edges and nodes.
func (c columns) ofNodes() choose.GraphColumns {
	class, value := c.single()
	return choose.GraphColumns{Columns: c.Columns, Class: class, Ignore: append(fields(c.Ignore), value, c.Part), Missing: c.declared()}
}
