package nn

import "github.com/sanflow/sanflow/nn/internal/layer"

// Activation is the function that hidden units apply to the sum of their inputs.
type Activation string

const (
	ReLU    Activation = "relu"    // max(x, 0), the paper's
	Tanh    Activation = "tanh"    // (eˣ-e⁻ˣ) / (eˣ+e⁻ˣ)
	Sigmoid Activation = "sigmoid" // 1 / (1+e⁻ˣ)
)

// word returns the setting.
func (a *Activation) word() word {
	return word{"Activation", (*string)(a), []string{string(ReLU), string(Tanh), string(Sigmoid)}}
}

func (a Activation) kind() layer.Activation {
	switch a {
	case Tanh:
		return layer.Tanh
	case Sigmoid:
		return layer.Sigmoid
	}
	return layer.ReLU
}

// Merge is how a network combines its outputs for nodes and for edges.
type Merge string

const (
	Concat Merge = "concat" // side by side: twice the channels
	Sum    Merge = "sum"    // added up, channel by channel
)

// word returns the setting.
func (m *Merge) word() word {
	return word{"Merge", (*string)(m), []string{string(Concat), string(Sum)}}
}
