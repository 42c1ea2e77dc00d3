package nn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

// settings are the fields of a model that do not depend on its layers, as pointers into the struct of the
// user.
type settings struct {
	kind, name string // name in files, name in Go
	learner    *Learner

	counts bool // the model reads counts, not fields

	// Numbers and words that define the layers.
	sizes []size
	words []word

	dropout   *float64 // nil without dropout and output layer
	optimizer *Optimizer
	standard  Optimizer // the default optimizer; nil = RMSprop{}
	seed      *uint64   // nil if no weight is random
	workers   *int
}

// size is a positive integer that defines the layers.
type size struct {
	name string
	v    *int
	zero int // the default
}

// word is a choice that defines the layers.
type word struct {
	name string
	v    *string
	all  []string // choices; the first is the default
}

// fixedWord is a setting with one choice, for the files that name it. A file with another choice is an error.
func fixedWord(name, choice string) word { return word{name, &choice, []string{choice}} }

// resolve sets the defaults of zero settings and checks all.
func (set settings) resolve(s Shape) error {
	// Names of fields are arguments, because staticcheck wants errors in lower case.
	for _, f := range set.sizes {
		if *f.v = cmp.Or(*f.v, f.zero); *f.v < 0 {
			return fmt.Errorf("%s is %d, want a positive number", f.name, *f.v)
		}
	}
	for _, f := range set.words {
		if *f.v = cmp.Or(*f.v, f.all[0]); !slices.Contains(f.all, *f.v) {
			return fmt.Errorf("%s is %q, want one of %q", f.name, *f.v, f.all)
		}
	}
	if set.dropout != nil {
		if *set.dropout = cmp.Or(*set.dropout, 0.5); !(*set.dropout < 1) {
			return fmt.Errorf("%s is %v, want below 1", "Dropout", *set.dropout)
		}
	}
	if *set.workers = cmp.Or(*set.workers, 1); *set.workers < 0 {
		return fmt.Errorf("%s is %d, want a positive number", "Workers", *set.workers)
	}
	if *set.optimizer == nil {
		*set.optimizer = RMSprop{}
		if set.standard != nil {
			*set.optimizer = set.standard
		}
	}
	var err error
	*set.optimizer, err = (*set.optimizer).resolve()
	return err
}

// String returns the settings in one line.
func (set settings) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s{", set.name)
	if !set.counts {
		s := set.learner.Shape()
		fmt.Fprintf(&b, "W: %d, K: %d, ", s.W, s.K)
	}
	for _, f := range set.sizes {
		fmt.Fprintf(&b, "%s: %d, ", f.name, *f.v)
	}
	for _, f := range set.words {
		fmt.Fprintf(&b, "%s: %s, ", f.name, *f.v)
	}
	if set.dropout != nil {
		fmt.Fprintf(&b, "Dropout: %v, ", *set.dropout)
	}
	loss := lossName("")
	if set.learner.ready() {
		loss = set.learner.loss
	}
	fmt.Fprintf(&b, "Loss: %s, Optimizer: %+v", loss, *set.optimizer)
	if set.seed != nil {
		fmt.Fprintf(&b, ", Seed: %d", *set.seed)
	}
	return b.String() + "}"
}

// seedOr0 returns the seed, or 0 without one.
func (set settings) seedOr0() uint64 {
	if set.seed == nil {
		return 0
	}
	return *set.seed
}

// savedSettings are the settings of a model in its file.
type savedSettings struct {
	Sizes   map[string]int    `json:"sizes,omitempty"`
	Words   map[string]string `json:"words,omitempty"`
	Dropout float64           `json:"dropout,omitempty"`
	Loss    lossName          `json:"loss"`
	savedOptimizer
	Seed uint64 `json:"seed"`
}

// savedOptimizer is an optimizer in a file.
type savedOptimizer struct {
	Optimizer string          `json:"optimizer"`
	Rates     json.RawMessage `json:"optimizer_settings"`
}

func saveOptimizer(o Optimizer) (savedOptimizer, error) {
	rates, err := json.Marshal(o.rates())
	return savedOptimizer{o.name(), rates}, err
}

// metadata returns the shape and the settings as a file has them.
func (set settings) metadata(s Shape) (map[string]string, error) {
	shape, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	optimizer, err := saveOptimizer(*set.optimizer)
	if err != nil {
		return nil, err
	}
	saved := savedSettings{
		Sizes: map[string]int{}, Words: map[string]string{},
		Loss: lossOf(s), savedOptimizer: optimizer, Seed: set.seedOr0(),
	}
	for _, f := range set.sizes {
		saved.Sizes[f.name] = *f.v
	}
	for _, f := range set.words {
		saved.Words[f.name] = *f.v
	}
	if set.dropout != nil {
		saved.Dropout = *set.dropout
	}
	text, err := json.Marshal(saved)
	if err != nil {
		return nil, err
	}
	return map[string]string{modelfile.Shape: string(shape), modelfile.Settings: string(text)}, nil
}

// adopt sets the settings to those of a file for data of shape s. Settings that do not fit are an error.
func (set settings) adopt(saved savedSettings, s Shape) error {
	for _, f := range set.sizes {
		file := saved.Sizes[f.name]
		if file < 1 {
			return fmt.Errorf("settings: %s is missing or not positive", f.name)
		}
		*f.v = file
	}
	for _, f := range set.words {
		file := saved.Words[f.name]
		if !slices.Contains(f.all, file) {
			return fmt.Errorf("settings: %s is %q, want one of %q", f.name, file, f.all)
		}
		*f.v = file
	}
	if len(saved.Sizes) != len(set.sizes) || len(saved.Words) != len(set.words) {
		return fmt.Errorf("settings: %d sizes and %d words, want %d and %d",
			len(saved.Sizes), len(saved.Words), len(set.sizes), len(set.words))
	}
	if set.dropout != nil {
		*set.dropout = saved.Dropout
	}
	if want := lossOf(s); saved.Loss != want {
		return fmt.Errorf("settings: %s is %q, want %q", "Loss", saved.Loss, want)
	}
	if set.seed != nil {
		*set.seed = saved.Seed
	}
	return saved.savedOptimizer.adopt(set.optimizer)
}

// activation is the activation function of hidden units.
type activation string

const (
	relu    activation = "relu"    // max(x, 0), as in the PATCHY-SAN paper
	tanh    activation = "tanh"    // (eˣ-e⁻ˣ) / (eˣ+e⁻ˣ)
	sigmoid activation = "sigmoid" // 1 / (1+e⁻ˣ)
)

func (a *activation) word() word {
	return word{"Activation", (*string)(a), []string{string(relu), string(tanh), string(sigmoid)}}
}

func (a activation) kind() layer.Activation {
	switch a {
	case tanh:
		return layer.Tanh
	case sigmoid:
		return layer.Sigmoid
	}
	return layer.ReLU
}
