package nn

import (
	"cmp"
	"errors"
	"io"

	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

// rbmSettings is what a file says of an RBM beside its weights.
type rbmSettings struct {
	Visible    int     `json:"visible"`
	Units      Units   `json:"units"`
	Hidden     int     `json:"hidden"`
	CD         int     `json:"cd"`
	Persistent bool    `json:"persistent"`
	Chains     int     `json:"chains"`
	Rate       float64 `json:"rate"`
	Momentum   float64 `json:"momentum"`
	Decay      float64 `json:"decay"`
	Seed       uint64  `json:"seed"`
}

// Save writes the machine as a safetensors file, which other tools read too:
// the weights, and as metadata the settings and Info. The same machine gives the
// same bytes. Momentum, persistent chains and counts are not part of it.
func (r *RBM) Save(w io.Writer) error {
	if err := r.learned(); err != nil {
		return err
	}
	f := &modelfile.File{Kind: "rbm", Info: r.Info, Tensors: r.all.Tensors()}
	return modelfile.Save(w, f, map[string]any{modelfile.Settings: rbmSettings{
		r.visible, r.Units, r.Hidden, r.CD, r.Persistent, r.Chains, r.Rate, r.Momentum, r.WeightDecay, r.Seed,
	}})
}

// Load reads what Save wrote, up to the end of from, and is used instead of Init
// or before it. Settings come from the file: Hidden and Units must be zero or
// agree, while those of learning stay when they are set. A file that is damaged,
// or is not an RBM, is an error, and r is as before.
func (r *RBM) Load(from io.Reader) error {
	return modelfile.Load(r, from, r.weight != nil, (*RBM).restore)
}

func (r *RBM) restore(f *modelfile.File) error {
	var set rbmSettings
	if err := f.Open("rbm", &set); err != nil {
		return err
	}
	if err := r.adopt(set); err != nil {
		return err
	}
	r.Info = f.Info
	return restoreEncoder(r, set.Visible, f)
}

// adopt takes the settings of a file where r has none.
func (r *RBM) adopt(set rbmSettings) error {
	if err := errors.Join(modelfile.Agree("Hidden", &r.Hidden, set.Hidden), modelfile.Agree("Units", &r.Units, set.Units)); err != nil {
		return err
	}
	r.Persistent = r.Persistent || set.Persistent
	r.CD = cmp.Or(r.CD, set.CD)
	r.Chains = cmp.Or(r.Chains, set.Chains)
	r.Rate = cmp.Or(r.Rate, set.Rate)
	r.Momentum = cmp.Or(r.Momentum, set.Momentum)
	r.WeightDecay = cmp.Or(r.WeightDecay, set.Decay)
	r.Seed = cmp.Or(r.Seed, set.Seed)
	return nil
}
