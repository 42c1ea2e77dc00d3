package nn

import "github.com/sanflow/sanflow/nn/internal/layer"

// activation is the function that hidden units apply to the sum of their inputs.
type activation string

const (
	relu    activation = "relu"    // max(x, 0), the paper's
	tanh    activation = "tanh"    // (eˣ-e⁻ˣ) / (eˣ+e⁻ˣ)
	sigmoid activation = "sigmoid" // 1 / (1+e⁻ˣ)
)

// word returns the setting.
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

// merging is how a network combines its outputs for nodes and for edges.
type merging string

const (
	concat merging = "concat" // side by side: twice the channels
	added  merging = "sum"    // added up, channel by channel
)

// word returns the setting.
func (m *merging) word() word {
	return word{"Merge", (*string)(m), []string{string(concat), string(added)}}
}
