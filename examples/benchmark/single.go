package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
)

// single is the flags of one model, which take the place of -systems.
type single struct {
	k, w, stride      int
	selectBy, normBy  string
	selecting, normal labeling.Labeling
	edges             bool
	epochs, batch     int
	kind, pretrain    string
	given             []string // names of the flags on the command line

	report *oneReport
}

// best is nn.Best, the model that counts words. The other kinds read fields.
const best = "best"

var (
	// ofFields are the flags about fields for a network.
	ofFields = []string{"k", "w", "stride", "select", "normalize", "field-edges"}
	// ofOne are the flags about one model.
	ofOne = append([]string{"model-kind", "epochs", "batch", "pretrain", "model"}, ofFields...)
	// ofMany are the flags about systems of the table.
	ofMany = []string{"systems", "splits", "parts", "class", "smiles", "refit"}
)

// Random streams under the seed of the command line, beside the folds.
const (
	streamOuter = iota + 2
	streamInnerWeights
	streamLabelings
)

func (o *single) flags(c *command) {
	cli.K(c.FlagSet, &o.k, "one model: ")
	cli.Int(c.FlagSet, &o.w, "w", 0, 0, 1<<20, "one model: receptive fields per graph; 0 = average number of nodes")
	cli.Int(c.FlagSet, &o.stride, "stride", 1, 1, cli.Many, "one model: distance between two roots in the order of nodes")
	c.StringVar(&o.selectBy, "select", "betweenness", "one model: labeling that selects roots: "+labeling.Usage())
	c.StringVar(&o.normBy, "normalize", "wl", "one model: labeling that orders the nodes of a field, as for -select; auto, also in -select, is the labeling with the smallest θ̂, chosen without classes")
	c.BoolVar(&o.edges, "field-edges", false, "one model: read the edges of fields too, by a merge layer: the paper's k = 10ᴱ")
	cli.Int(c.FlagSet, &o.epochs, "epochs", 0, 0, cli.Many, "one model: epochs; 0 = chosen by the protocol")
	cli.Int(c.FlagSet, &o.batch, "batch", 32, 0, cli.Many, "one model: graphs per step; 0 = chosen by the protocol, of 16, 32 and 64")
	c.StringVar(&o.kind, "model-kind", "", "one model in place of -systems, whose figures are at the top of -json: cnn, the paper's network; pslr, logistic regression on the patches; gru, a recurrent network over the fields; best, the most accurate model: logistic regression on words (counted colours and fields), without k, w and labelings; empty, with -task graphs or another flag of one model, = cnn with -data or a flag about fields, else best")
	c.StringVar(&o.pretrain, "pretrain", "none", "one model: unsupervised model that initializes the first layer of a cnn: rbm or autoencoder, on the fields of the training graphs, or none")
	c.Output("model", "file for the model of the last fold of one model; sanflow evaluate and sanflow predict read it")
}

// wanted reports whether the command line is about one model.
func (o *single) wanted() (bool, error) {
	of := func(names []string) string {
		if i := slices.IndexFunc(o.given, func(name string) bool { return slices.Contains(names, name) }); i >= 0 {
			return o.given[i]
		}
		return ""
	}
	one, many := of(ofOne), of(ofMany)
	if one != "" && many != "" {
		return false, fmt.Errorf("-%s is of one model, and -%s of systems that are compared", one, many)
	}
	return one != "" || many == "" && slices.Contains(o.given, "task"), nil
}

func (o *single) check(c *config) (err error) {
	if o.selecting, err = labeling.Parse(o.selectBy); err != nil {
		return fmt.Errorf("-select: %w", err)
	}
	if o.normal, err = labeling.Parse(o.normBy); err != nil {
		return fmt.Errorf("-normalize: %w", err)
	}
	if o.kind == "" {
		if o.kind = best; slices.ContainsFunc(o.given, func(name string) bool { return slices.Contains(append(ofFields, "data", "pretrain"), name) }) {
			o.kind = "cnn"
		}
	}
	switch {
	case len(c.data) > 1:
		return errors.New("-data names several collections, and one model learns from one")
	case !slices.Contains([]string{"cnn", "pslr", "gru", best}, o.kind):
		return fmt.Errorf("-model-kind is %q, want cnn, pslr, gru or best", o.kind)
	case !slices.Contains([]string{"none", "rbm", "autoencoder"}, o.pretrain):
		return fmt.Errorf("-pretrain is %q, want rbm, autoencoder or none", o.pretrain)
	case o.pretrain != "none" && o.kind != "cnn":
		return fmt.Errorf("-pretrain is %s, but a %s has no first layer that it could initialize", o.pretrain, o.kind)
	}
	for _, name := range o.given {
		if o.kind == best && slices.Contains(ofFields, name) {
			return fmt.Errorf("-%s is of fields for a network, and -model-kind %s counts words", name, o.kind)
		}
	}
	return nil
}

// batches are the batch sizes that the protocols choose among.
func (o *single) batches() []int {
	if o.batch == 0 {
		return batchSizes
	}
	return []int{o.batch}
}

// first is the first epoch that a protocol may choose, from 0: a number that -epochs fixes is the only choice.
func (o *single) first() int { return max(0, o.epochs-1) }

// system is the row of the grid that the flags describe.
func (o *single) system() *system {
	s := &system{name: o.kind, trains: o.kind, variants: len(o.batches()), heldOut: o.kind == best, fixed: o.epochs > 0 && o.batch > 0, seeded: true}
	s.identity = fmt.Sprintf("one of k %d, w %d, stride %d, %v, %v, edges %t, epochs %d, batches %v, pretrained by %s", o.k, o.w, o.stride, o.selecting, o.normal, o.edges, o.epochs, o.batches(), o.pretrain)
	s.plan = func(ctx context.Context, c *config, d *collection) (*plan, error) {
		if err := o.chooseLabelings(ctx, c, d); err != nil {
			return nil, err
		}
		m := making{w: o.w, k: o.k, stride: o.stride, selecting: o.selecting, normal: o.normal, edges: o.edges}
		if o.kind == best {
			m.count = count.Standard()
		}
		f, err := makeFields(ctx, c, d, m)
		if err != nil {
			return nil, err
		}
		t := &trials{single: o, c: c, data: d, fields: f}
		return &plan{
			learn: t.learn, atOnce: f.atOnce(o.kind, len(d.Layout.Classes)), release: f.release, finish: t.finish,
			chosen: func(v, step int) string {
				return fmt.Sprintf("batch %d, epoch %d", o.batches()[v], o.first()+step+1)
			},
		}, nil
	}
	return s
}

// chooseLabelings replaces auto by the labeling that gives the graphs of the
// collection the most similar fields. The test graphs take part, without their classes.
func (o *single) chooseLabelings(ctx context.Context, c *config, d *collection) error {
	if o.selecting != labeling.Auto && o.normal != labeling.Auto {
		return nil
	}
	const pairs = 1000
	bar := cli.NewProgress("choosing a labeling", pairs)
	defer bar.Done()
	compared := comparison{k: o.k, workers: c.workers, crop: labeling.WL, bar: bar}
	by, _, err := compared.choose(ctx, graphsOf(c, d), allLabelings(), pairs, validation.Seed(c.seed, streamLabelings))
	if o.selecting == labeling.Auto {
		o.selecting = by
	}
	if o.normal == labeling.Auto {
		o.normal = by
	}
	return err
}
