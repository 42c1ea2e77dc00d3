package sinks

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
)

// recipeNote is the note of a model's file that holds the recipe.
const recipeNote = "recipe"

// Save keeps a model with the recipe that makes fields for it, as one file,
// which Load reads. The file appears whole or not at all. The recipe should begin
// with an operators.Expect: that keeps the names of classes and channels.
func Save(name string, m nn.Noted, r operators.Recipe) error {
	if err := note(m, r); err != nil {
		return err
	}
	return nn.SaveFile(name, m)
}

// Write is Save into a stream.
func Write(w io.Writer, m nn.Noted, r operators.Recipe) error {
	if err := note(m, r); err != nil {
		return err
	}
	return m.Save(w)
}

// note adds the recipe to the notes of a model, and, for whoever lists them, the
// names of classes and channels.
func note(m nn.Noted, r operators.Recipe) error {
	text, err := r.MarshalJSON()
	if err != nil {
		return fmt.Errorf("sinks: save: %w", err)
	}
	notes := m.Notes()
	notes[recipeNote] = string(text)
	layout := r.Graphs()
	if layout == nil {
		return nil
	}
	var channels []string
	for _, list := range [][]record.Channel{layout.NodeCat, layout.NodeAttr} {
		for _, c := range list {
			channels = append(channels, c.Name)
		}
	}
	if c, ok := operators.Find[operators.Channel](r); ok && c.By != nil {
		channels = append(channels, c.By.String())
	}
	notes["classes"], notes["channels"] = strings.Join(layout.Classes, ","), strings.Join(channels, ",")
	return nil
}

// Load reads what Save wrote, and makes a Predictor of it.
func Load(name string) (*Predictor, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("sinks: load: %w", err)
	}
	defer f.Close()
	p, err := Read(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// Read is Load from a stream.
func Read(r io.Reader) (*Predictor, error) {
	m, err := nn.Load(r)
	if err != nil {
		return nil, err
	}
	text, ok := nn.InfoOf(m)[recipeNote]
	if !ok {
		return nil, fmt.Errorf("sinks: load: the file does not say how its fields were made; sinks.Save writes files that do")
	}
	recipe, err := operators.ParseRecipe(text)
	if err != nil {
		return nil, err
	}
	return NewPredictor(m, recipe)
}
