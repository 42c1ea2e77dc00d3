package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/operators/count"
)

// system is a row of the grid: a method, and the names of its choices.
type system struct {
	name, about string
	// plan prepares a cross-validation on the graphs of d.
	plan     func(ctx context.Context, c *config, d *collection) (*plan, error)
	variants int
	fixed    bool // see crossValidation
	byLoss   bool // see crossValidation; -score takes its place
	heldOut  bool // the model holds graphs out, and chooses its epoch by them where it may: see config.heldOut
	// identity describes the model and the choices in full. A stored cell of another identity is computed
	// again.
	identity string
	trains   string // kind of the model that learns by epochs, "" of others
	seeded   bool   // the method uses random numbers and has probabilities
}

// on is the identity on a collection: with the identity of its trainings.
func (s *system) on(d *collection) string {
	if s.trains == "" {
		return s.identity
	}
	return s.identity + "; " + trainingOf(s.trains, d).identity()
}

// plan is a system on a collection. Only learn must be set.
type plan struct {
	learn   func(context.Context, trial) ([]score, error)
	prepare func(context.Context, int) error // see crossValidation
	chosen  func(variant, step int) string   // the name of a choice
	release func()
	atOnce  int                                     // trials that fit into memory at a time; 0: any number
	finish  func(context.Context, *validated) error // called with the result of all trials
	bounded func(missing int) string                // the note on searches that ended at their bound, where so many variants are left out
	missing func(variant int) string                // the note on a variant that is left out
}

// systems are in the order of the table.
var systems = []*system{
	baseline("majority", "the largest class of the training graphs", majority),
	baseline("size", "the √n training graphs nearest in the number of nodes, rounded down, vote", sizeOnly),
	kernel("labels", "counts of node labels, of degrees where there are none", bothWays("", count.Labels{})),
	kernel("sp", "shortest paths: (label, length, label)", bothWays("", count.Paths{})),
	kernel("rw", "random walks that meet the same labels, decay 1e-6 to 1e-1", decays()),
	kernel("gk", "connected graphlets of 3, 4 or 5 nodes, and of 7 by samples", graphletKernels()),
	kernel("dgk", "deep graph kernels: the same counts, compared by vectors of what stands together, in all graphs, whose classes they do not see", deep()),
	kernel("wl", "Weisfeiler-Lehman colours to height 0 to 5", colors()),
	kernel("words", "receptive fields in normal form as words, of up to 2 to 10 nodes", words()),
	network("pslr", "logistic regression on fields, k = 10", networkOf{k: 10, kind: "pslr"}),
	network("k5", "the paper's network, k = 5", networkOf{k: 5, kind: "cnn"}),
	network("k10", "the paper's network, k = 10", networkOf{k: 10, kind: "cnn"}),
	network("k10e", "the paper's network with edges, k = 10ᴱ", networkOf{k: 10, kind: "cnn", edges: true}),
	online("online", "logistic regression on hashed colours, learned from the stream", 1<<16),
	bag(best, "logistic regression on all words, sizes to fields, learned from the stream", best, count.Standard()),
	chooser("train", "what sanflow train chooses by validation graphs, of linear, words, trees, forest, their means with words, cnn and cnn-edges"),
	grown("trees", "boosted trees on the words of best", boosted, false),
	grown("best+trees", "mean of the logits of best and trees", boosted, true),
	grown("forest", "bagged trees on the words of best", bagged, false),
	grown("best+forest", "mean of the logits of best and forest", bagged, true),
}

// boosted and bagged are the settings of trees.
var (
	boosted = trees.Model{Rate: 0.05, Rows: 0.8, Columns: 0.3}
	bagged  = trees.Model{Bag: true, Trees: 200, Columns: 0.03}
)

// ablations are the system best without one of its ingredients each.
var ablations = leaveOneOut()

// ingredient is the name of a counter of best in best-X: the kind of the counter, or how its colours differ.
func ingredient(c count.Counter) string {
	kind, settings, _ := strings.Cut(c.String(), "(")
	for _, different := range []string{"triangles", "rounded"} {
		if strings.Contains(settings, different) {
			return different
		}
	}
	return kind
}

func leaveOneOut() (all []*system) {
	for i, c := range count.Standard() {
		words, name := count.Standard(), ingredient(c)
		all = append(all, bag(best+"-"+name, "best without "+name, best, append(words[:i:i], words[i+1:]...)))
	}
	return append(all, bag(bestAlone, "best with one head, whose epochs are chosen on graphs held out", bestAlone, count.Standard()))
}

// leftOut are the X of best-X.
func leftOut() (all []string) {
	for _, s := range ablations {
		all = append(all, strings.TrimPrefix(s.name, best+"-"))
	}
	return all
}

func find(name string) *system {
	for _, s := range append(systems, ablations...) {
		if s.name == name {
			return s
		}
	}
	return nil
}

func names() (all []string) {
	for _, s := range systems {
		all = append(all, s.name)
	}
	return all
}

func usage() string {
	var b strings.Builder
	for _, s := range systems {
		fmt.Fprintf(&b, "%-11s %s\n", s.name, s.about)
	}
	fmt.Fprintf(&b, "best-X      best without X, one of %s;\n            not in all", strings.Join(leftOut(), " "))
	return b.String()
}

// five is all graphlets of 5 nodes, and samples of graphs with more than 20 000, or 2 million without
// labels: graphs of COLLAB have billions.
var five = graphlets{size: 5, samples: 20_000, seed: 1}

func graphletKernels() (all []variant) {
	for _, of := range []graphlets{{size: 3}, {size: 4}, five} {
		all = append(all, bothWays(fmt.Sprintf("size %d", of.size), of)...)
	}
	return append(all, bothWays("size 7", graphlets{size: 7, samples: 1000, seed: 1})...)
}

// deep are the three deep graph kernels of Yanardag and Vishwanathan. Vectors of 32 numbers are too short
// for graphlets: on inner splits of MUTAG (seed 101) they are behind plain counts, vectors of 128 are not.
func deep() []variant {
	return []variant{
		vectors("graphlets of size 5", five, 128),
		vectors("paths", count.Paths{}, 32),
		vectors("colours to height 2", count.WL{Height: 2}, 32),
	}
}

// decays are random walks with the decays of the paper. A decay at which the sum diverges is left out.
func decays() (all []variant) {
	for _, decay := range []float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1} {
		all = append(all, walks(decay))
	}
	return all
}

func colors() (all []variant) {
	for h := range 6 {
		all = append(all, bothWays(fmt.Sprintf("height %d", h), count.WL{Height: h})...)
	}
	return all
}

func words() (all []variant) {
	sizes := []int{2, 3, 4, 5, 6, 8, 10}
	for n := 2; n <= len(sizes); n++ {
		all = append(all, bothWays(fmt.Sprintf("k to %d", sizes[n-1]), count.Fields{K: sizes[:n]})...)
	}
	return all
}
