package nn

import (
	"testing"

	"github.com/sanflow/sanflow/nn/internal/layer"
)

func TestActivationKinds(t *testing.T) {
	if Tanh.kind() != layer.Tanh || Sigmoid.kind() != layer.Sigmoid || ReLU.kind() != layer.ReLU {
		t.Error("settings stand for other activations")
	}
}
