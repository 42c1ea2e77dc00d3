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
