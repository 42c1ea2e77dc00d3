package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sanflow/sanflow/examples/internal/cli"
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

	classes []string
}

// predict feeds a collection to a network that was trained before, through the
// stages that its file tells of.
func (c *config) predict(ctx context.Context) (cli.Result, error) {
	p, err := c.one.saved()
	if err != nil {
		return nil, fmt.Errorf("-load: %s: %w", c.one.load, err)
	}
	defer p.Close()
	src, name, err := sourceOf(ctx, c.data[0], c.seed)
	if err != nil {
		return nil, err
	}
	out := &predictions{Dataset: name, Model: c.one.load, Trained: nn.MetadataOf(p.Net())["dataset"], Predictions: []prediction{}, classes: p.Classes()}
	each := func(p sinks.Prediction) error {
		row := prediction{Graph: p.Graph, Class: out.classes[p.Class], Probability: p.Probs[p.Class]}
		if p.Target >= 0 {
			row.Target = out.classes[p.Target]
			out.Known++
		}
		if p.Class == p.Target {
			out.Correct++
		}
		out.Predictions = append(out.Predictions, row)
		return nil
	}
	err = p.Recipe().Onto(flow.From(src)).
		Via(operators.Batch{Size: 64}).
		To(sinks.Predict{Net: p.Net(), Each: each}).
		With(flow.Options{Workers: c.workers}).
		Run(ctx)
	out.Graphs = len(out.Predictions)
	out.Accuracy = 100 * float64(out.Correct) / float64(max(1, out.Known))
	return out, err
}

// saved reads the network and its recipe. Flags that say otherwise are refused.
func (o *single) saved() (*sinks.Predictor, error) {
	p, err := sinks.Load(o.load)
	if err != nil {
		return nil, err
	}
	if err := o.agrees(p); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// agrees reports a flag that changes nothing about a saved network.
func (o *single) agrees(p *sinks.Predictor) error {
	if len(p.Classes()) == 0 {
		return errors.New("the file does not name its classes")
	}
	for _, name := range o.given {
		if name != "load" && slices.Contains(append(ofOne, "checkpoint", "resume", "table", "out", "inner"), name) {
			return fmt.Errorf("-%s is for training, and -load trains nothing", name)
		}
	}
	return nil
}

// Print writes how many graphs were told to be of each class.
func (p *predictions) Print(out io.Writer) error {
	count := map[string]int{}
	for _, row := range p.Predictions {
		count[row.Class]++
	}
	fmt.Fprintf(out, "%s: %d graphs, by the model in %s, trained on %s\n\n", p.Dataset, p.Graphs, p.Model, p.Trained)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range p.classes {
		fmt.Fprintf(w, "class %s\t%d graphs\n", strings.TrimSpace(c), count[c])
	}
	if err := w.Flush(); err != nil || p.Known == 0 {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d of %d right, %.2f %%; graphs that it was trained on count too\n", p.Correct, p.Known, p.Accuracy)
	return err
}
