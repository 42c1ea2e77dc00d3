package nn

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Sample fills x, (B, visible), with independent rows drawn with one hidden unit on and the
// others off, as in the paper's figure. Its random stream begins at Seed after Init and Load;
// Step uses another.
func (r *RBM) Sample(x *tensor.Dense, unit int) error {
	v, rows, err := r.openTrained(x)
	if err != nil {
		return err
	}
	if unit < 0 || unit >= r.Hidden {
		return fmt.Errorf("nn: hidden unit %d, want 0 to %d", unit, r.Hidden-1)
	}
	h := make([]float32, rows*r.Hidden)
	for i := range rows {
		h[i*r.Hidden+unit] = 1
	}
	if err := r.decode(v, h, rows); err != nil {
		return err
	}
	r.drawVisible(r.sample, v, v)
	return nil
}
