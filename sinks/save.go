package sinks

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
)

// recipeNote is the metadata key of a recipe.
const recipeNote = "recipe"

var errNoLayout = errors.New("the recipe does not describe its graphs: begin it with an operators.Expect{Layout: …}")

// Save writes a model and the recipe of its fields to one file, for Load. The file appears
// whole or not at all. The recipe must begin with an operators.Expect, which holds the names of
// classes and channels. A recipe that does not open for such graphs, or makes another shape
// than the model reads, is an error.
func Save(name string, m nn.Saver, r operators.Recipe) error {
	if err := note(m, r); err != nil {
		return err
	}
	return nn.SaveFile(name, m)
}

// Write writes the file of Save to w.
func Write(w io.Writer, m nn.Saver, r operators.Recipe) error {
	if err := note(m, r); err != nil {
		return err
	}
	return m.Save(w)
}

// note adds the recipe, and the names of classes and channels for listings, to the metadata of a model.
func note(m nn.Saver, r operators.Recipe) error {
	if m != nil && !m.Trained() {
		return nil // Save of the model returns the error
	}
	p, err := newPredictor(m, r, nil) // as Load will make it: an unfit recipe is an error here
	if err != nil {
		return fmt.Errorf("sinks: save: %w", err)
	}
	if err := p.Close(); err != nil {
		return fmt.Errorf("sinks: save: %w", err)
	}
	text, err := r.MarshalJSON()
	if err != nil {
		return fmt.Errorf("sinks: save: %w", err)
	}
	notes, layout := m.Metadata(), r.Graphs()
	notes[recipeNote] = string(text)
	var channels []string
	for _, list := range [][]record.Channel{layout.NodeCat, layout.NodeAttr} {
		for _, c := range list {
			channels = append(channels, c.Name)
		}
	}
	if c, ok := operators.Find[operators.Channel](r); ok && c.By != nil {
		channels = append(channels, c.By.String())
	}
	var targets []string
	for _, t := range p.targets {
		targets = append(targets, t.Name)
	}
	if targets != nil {
		notes["targets"] = strings.Join(targets, ",")
	}
	notes["classes"], notes["channels"] = strings.Join(p.classes, ","), strings.Join(channels, ",")
	return nil
}

// fitRecipe returns the names of the classes of the rows of a recipe, of graphs or of nodes. It calls Init
// of a model that has learned outside of a stream.
func fitRecipe(m nn.Predictor, r operators.Recipe, layout record.Layout) (classes []string, err error) {
	fields, err := flow.OpenDirect(layout.Schema(), flow.Options{}, r...)
	if err != nil {
		return nil, err
	}
	err = record.Meta(fields.Schema(), record.Target, record.MetaClasses, &classes)
	if s := m.Shape(); err == nil && m.Trained() && s.W == 0 && len(s.Counts) == 0 {
		if s, err = Shape(fields.Schema()); err == nil {
			err = m.Init(s)
		}
	}
	return classes, errors.Join(err, fields.Close())
}

// Load makes a Predictor of a file that Save wrote.
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

// Read is Load from a reader.
func Read(r io.Reader) (*Predictor, error) {
	m, err := nn.LoadPredictor(r)
	if err != nil {
		return nil, err
	}
	text, ok := nn.MetadataOf(m)[recipeNote]
	if !ok {
		return nil, fmt.Errorf("sinks: load: the file does not say how its fields were made; sinks.Save writes files that do")
	}
	recipe, err := operators.ParseRecipe(text)
	if err != nil {
		return nil, err
	}
	return NewPredictor(m, recipe)
}
