package graphkernel

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

const deepKind = "deep"

// savedDeep is what a file says of a Deep beside its tensors.
type savedDeep struct {
	Size      int     `json:"size"`
	Window    int     `json:"window"`
	Negatives int     `json:"negatives"`
	Epochs    int     `json:"epochs"`
	Rate      float64 `json:"rate"`
	Seed      uint64  `json:"seed"`
}

// Save writes a safetensors file for Load and other tools: a row for each of the n ids, ascending,
// with the settings and Info as metadata. The same vectors give the same bytes.
//
//	ids      (n)        uint64, ascending
//	vectors  (n, Size)  float32, of unit length
//
// A Deep fitted to contexts without ids has neither tensor. Before Fit, Save returns ErrUntrained.
func (d *Deep) Save(w io.Writer) error {
	if !d.fitted {
		return nn.ErrUntrained
	}
	s := d.resolved()
	f := &modelfile.File{Kind: deepKind, Info: d.Info}
	if n := len(d.ids); n > 0 {
		f.Tensors = []modelfile.Tensor{modelfile.Vector("ids", d.ids), {Name: "vectors", Shape: []int{n, d.size}, F32: d.vectors}}
	}
	return modelfile.Save(w, f, map[string]any{modelfile.Settings: savedDeep{d.size, s.Window, s.Negatives, s.Epochs, s.Rate, s.Seed}})
}

// Load reads the output of Save, up to the end of r. Settings come from the file: Size must be zero
// or agree, and settings of learning stay if set. A file that is damaged, or is not a Deep, is an
// error, and d is as before.
func (d *Deep) Load(r io.Reader) error {
	return modelfile.Load(d, r, d.fitted, (*Deep).restore)
}

func (d *Deep) restore(f *modelfile.File) error {
	var saved savedDeep
	if err := f.Open(deepKind, &saved); err != nil {
		return err
	}
	if err := modelfile.Agree("Size", &d.Size, saved.Size); err != nil {
		return err
	}
	d.Window = cmp.Or(d.Window, saved.Window)
	d.Negatives = cmp.Or(d.Negatives, saved.Negatives)
	d.Epochs = cmp.Or(d.Epochs, saved.Epochs)
	d.Rate = cmp.Or(d.Rate, saved.Rate)
	d.Seed = cmp.Or(d.Seed, saved.Seed)
	if err := d.check(); err != nil {
		return err
	}
	if d.Size < 1 {
		return fmt.Errorf("settings: vectors of %d numbers", d.Size)
	}
	d.Info, d.size, d.fitted = f.Info, d.Size, true
	return d.restoreVectors(f.Tensors)
}

// restoreVectors takes over the tensors of a file.
func (d *Deep) restoreVectors(list []modelfile.Tensor) error {
	if len(list) == 0 {
		return nil
	}
	n := len(list[0].U64)
	if len(list) != 2 || list[0].Name != "ids" || len(list[0].Shape) != 1 || n == 0 {
		return fmt.Errorf("%d tensors, want \"ids\", uint64 of one dimension, and \"vectors\"", len(list))
	}
	v := list[1]
	if err := v.Fits(modelfile.Tensor{Name: "vectors", Shape: []int{n, d.size}}); err != nil {
		return err
	}
	ids := list[0].U64
	for i := range ids {
		if i > 0 && ids[i] <= ids[i-1] {
			return fmt.Errorf("id %d is %#x after %#x, want ids that ascend", i, ids[i], ids[i-1])
		}
		squares := 0.0
		for _, x := range v.F32[i*d.size : (i+1)*d.size] {
			squares += float64(x) * float64(x)
		}
		if squares != 0 && !(math.Abs(squares-1) < 1e-3) {
			return fmt.Errorf("the vector of %#x has the square %v, want 1, or 0", ids[i], squares)
		}
	}
	d.ids, d.vectors = ids, v.F32
	return nil
}

// Metadata returns Info, after it has set a nil Info to an empty map.
func (d *Deep) Metadata() map[string]string { return modelfile.Metadata(&d.Info) }

// Trained reports whether vectors were learned, or loaded.
func (d *Deep) Trained() bool { return d.fitted }

// String returns the settings in one line, with defaults for zeros, and the number of vectors.
func (d *Deep) String() string {
	s := d.resolved()
	text := fmt.Sprintf("Deep{Size: %d, Window: %d, Negatives: %d, Epochs: %d, Rate: %v, Seed: %d", s.Size, s.Window, s.Negatives, s.Epochs, s.Rate, s.Seed)
	if d.fitted {
		text += fmt.Sprintf(", %d vectors", len(d.ids))
	}
	return text + "}"
}
