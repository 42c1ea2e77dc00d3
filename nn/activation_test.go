package nn

import (
	"testing"

	"github.com/sanflow/sanflow/nn/internal/layer"
)

func TestActivationKinds(t *testing.T) {
	if tanh.kind() != layer.Tanh || sigmoid.kind() != layer.Sigmoid || relu.kind() != layer.ReLU {
		t.Error("settings stand for other activations")
	}
}
