package layer

import (
	"math"

	"github.com/sanflow/sanflow/nn/internal/random"
)

// Glorot fills w with uniform numbers in ±√(6 / (in + out)), which keeps the
// variance of activations and of gradients about level from layer to layer
// (Glorot and Bengio, AISTATS 2010). in and out count the values that one
// output reads and one input reaches; for a convolution that includes the size
// of the filter.
func Glorot(w []float32, in, out int, r random.Source) {
	limit := float32(math.Sqrt(6 / float64(in+out)))
	for i := range w {
		w[i] = (2*r.Float() - 1) * limit
	}
}
