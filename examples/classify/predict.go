package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/collection"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// prediction is a row of the JSON array predictions of -load.
type prediction struct {
	Graph       int64   `json:"graph"`
	Class       string  `json:"class"`
	Probability float32 `json:"probability"`
	Target      string  `json:"target,omitempty"`
}

// predictions is the JSON object of -load; accuracy is in percent, of the
// graphs whose class is known.
type predictions struct {
	Dataset     string       `json:"dataset"`
	Model       string       `json:"model"`
	Trained     string       `json:"trained_on"`
	Graphs      int          `json:"graphs"`
	Known       int          `json:"known"` // graphs whose class is known
	Correct     int          `json:"correct"`
	Accuracy    float64      `json:"accuracy"`
	Predictions []prediction `json:"predictions"`
}

// predict feeds a collection to a network that was trained before, through the
// stages that its file tells of.
func predict(ctx context.Context, c *config) error {
	net, recipe, err := loadModel(c)
	if err != nil {
		return fmt.Errorf("-load: %s: %w", c.load, err)
	}
	files, err := cli.CreateAll(c.json)
	if err != nil {
		return err
	}
	defer files.Cleanup()
	src, name, err := collection.Source(ctx, c.data, c.seed)
	if err != nil {
		return err
	}
	out := predictions{Dataset: name, Model: c.load, Trained: nn.MetadataOf(net)["dataset"], Predictions: []prediction{}}
	classes := recipe.Graphs().Classes
	each := func(p sinks.Prediction) error {
		row := prediction{Graph: p.Graph, Class: classes[p.Class], Probability: p.Probs[p.Class]}
		if p.Target >= 0 {
			row.Target = classes[p.Target]
			out.Known++
		}
		if p.Class == p.Target {
			out.Correct++
		}
		out.Predictions = append(out.Predictions, row)
		return nil
	}
	err = recipe.Onto(flow.From(src)).
		Via(operators.Batch{Size: 64}).
		To(sinks.Predict{Net: net, Each: each}).
		With(flow.Options{Workers: c.workers}).
		Run(ctx)
	if err != nil {
		return err
	}
	out.Graphs = len(out.Predictions)
	out.Accuracy = percent(out.Correct, out.Known)
	if err := files.JSON(c.json, out); err != nil {
		return err
	}
	return out.print(os.Stdout, classes)
}

// loadModel reads the network and its recipe. Flags that say otherwise are
// refused.
func loadModel(c *config) (nn.Predictor, operators.Recipe, error) {
	var recipe operators.Recipe
	f, err := os.Open(c.load)
	if err != nil {
		return nil, recipe, errors.Unwrap(err) // the caller names the file
	}
	defer f.Close()
	p, err := sinks.Read(f)
	if err != nil {
		return nil, recipe, err
	}
	defer p.Close()
	if len(p.Classes()) == 0 {
		return nil, recipe, errors.New("the file does not name its classes")
	}
	recipe = p.Recipe()
	roots, _ := operators.Find[operators.Select](recipe)
	hoods, _ := operators.Find[operators.Assemble](recipe)
	fields, _ := operators.Find[operators.Normalize](recipe)
	for _, s := range []struct {
		flag       string
		given, has any
	}{
		{"k", c.k, hoods.K}, {"w", c.w, roots.W}, {"stride", c.stride, roots.Stride}, {"field-edges", c.edges, fields.Edges},
		{"select", c.selecting, roots.By}, {"normalize", c.normal, fields.By},
	} {
		if slices.Contains(c.given, s.flag) && !reflect.DeepEqual(s.given, s.has) {
			return nil, recipe, fmt.Errorf("-%s is %v, the network was trained with %v", s.flag, s.given, s.has)
		}
	}
	for _, name := range []string{"model", "checkpoint", "resume", "pretrain", "model-kind"} {
		if slices.Contains(c.given, name) {
			return nil, recipe, fmt.Errorf("-%s is for training, and -load trains nothing", name)
		}
	}
	return p.Net(), recipe, nil
}

// print writes how many graphs were told to be of each class.
func (p *predictions) print(out io.Writer, classes []string) error {
	count := map[string]int{}
	for _, row := range p.Predictions {
		count[row.Class]++
	}
	fmt.Fprintf(out, "%s: %d graphs, by the model in %s, trained on %s\n\n", p.Dataset, p.Graphs, p.Model, p.Trained)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range classes {
		fmt.Fprintf(w, "class %s\t%d graphs\n", strings.TrimSpace(c), count[c])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if p.Known == 0 {
		return nil
	}
	_, err := fmt.Fprintf(out, "\n%d of %d right, %.2f %%; graphs that it was trained on count too\n", p.Correct, p.Known, p.Accuracy)
	return err
}
