package nn

import (
	"cmp"
	"fmt"
	"io"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// RBM is a restricted Boltzmann machine (Smolensky 1986; Freund and Haussler 1992) with visible
// units v and hidden units h. It learns by contrastive divergence (Hinton, Neural Computation
// 14, 2002). The feature figure of the paper uses 100 hidden units over the 81 entries of the
// adjacency matrix of a field. With binary units
//
//	E(v, h)    = -Σᵢ bᵢvᵢ - Σⱼ cⱼhⱼ - Σᵢⱼ vᵢ wᵢⱼ hⱼ
//	P(hⱼ=1|v)  = σ(cⱼ + Σᵢ vᵢwᵢⱼ)
//	P(vᵢ=1|h)  = σ(bᵢ + Σⱼ wᵢⱼhⱼ)
//
// With Gaussian visible units of variance 1, for standardized channels, Σᵢ (vᵢ-bᵢ)²/2 replaces
// -Σᵢ bᵢvᵢ, and vᵢ given h is normal around bᵢ + Σⱼ wᵢⱼhⱼ.
type RBM struct {
	Units  Units             // type of the visible units; the default is Binary
	Hidden int               // hidden units; 0 = 100
	cd     int               // Gibbs steps, at most 1024; 0 = 1; tests set more
	Rate   float64           // learning rate, of the mean gradient of a batch; 0 = 0.01
	Seed   uint64            // of the initial weights and of sampling
	Info   map[string]string // as in CNN

	encoderWeights

	learn  random.Source // random numbers of Step
	sample random.Source // random numbers of Sample
	steps  int

	// Memory of a step, for the largest batch so far.
	vis, hid []float32 // rows of the data, then of the contrast, the states after the Gibbs steps
	bits     []float32 // (B, hidden): sampled hidden states, 0 or 1
	recon    []float32
	sums     []float32 // (visible): column sums of the contrast
}

var _ Encoder = (*RBM)(nil)

func (r *RBM) String() string {
	return fmt.Sprintf("RBM{Units: %v, Hidden: %d, CD: %d, Rate: %v, Seed: %d}", r.Units, r.Hidden, r.cd, r.Rate, r.Seed)
}

// Init draws small normal weights from Seed, with biases 0; see Encoder.
func (r *RBM) Init(visible int) error { return initEncoder(r, visible) }

// draw draws the weights as Hinton, A Practical Guide to Training RBMs (2010), section 8, recommends.
func (r *RBM) draw() {
	random.New(r.Seed, random.Init).Normal(r.weight.W)
	for i := range r.weight.W {
		r.weight.W[i] *= 0.01
	}
}

func (r *RBM) build(visible int) error {
	if err := r.resolve(); err != nil {
		return err
	}
	return r.lay(visible, r.Hidden, r.Units)
}

// maxCD bounds the time of a step, which no context ends.
const maxCD = 1024

func (r *RBM) resolve() error {
	r.Hidden, r.cd, r.Rate = cmp.Or(r.Hidden, 100), cmp.Or(r.cd, 1), cmp.Or(r.Rate, 0.01)
	// Names of fields are arguments, because staticcheck wants errors in lower case.
	switch {
	case r.Hidden < 1:
		return fmt.Errorf("%s is %d, want a positive number", "Hidden", r.Hidden)
	case r.cd < 1 || r.cd > maxCD:
		return fmt.Errorf("%s is %d, want 1 to %d", "CD", r.cd, maxCD)
	case !(r.Rate > 0) || !kernel.Finite(float64(float32(r.Rate))):
		return fmt.Errorf("%s is %v, want a positive number", "Rate", r.Rate)
	}
	return r.Units.resolve()
}

func (r *RBM) start() {
	r.all.Alloc()
	r.sums = make([]float32, r.visible)
	r.learn = random.New(r.Seed, random.Learn)
	r.sample = random.New(r.Seed, random.Sample)
}

// InitBias sets the visible biases to the log odds of rows x, (B, visible), or their means if
// Gaussian (Hinton 2010, section 8), after Init and before the first Step.
func (r *RBM) InitBias(x *tensor.Dense) error {
	v, rows, err := r.open(x)
	if err != nil {
		return err
	}
	if r.steps > 0 {
		return fmt.Errorf("nn: the biases are to be set before the first step, and there were %d", r.steps)
	}
	drawn := !r.Trained()
	initBias(r.visBias.W, v, rows, r.Units)
	if drawn { // learning begins with these weights
		r.note()
	}
	return nil
}

// rbmSettings are the settings of an RBM in its file. Files of earlier versions have the fields that Save
// leaves 0; their weights are read.
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

// Save works as CNN.Save.
func (r *RBM) Save(w io.Writer) error {
	if err := r.learned(); err != nil {
		return err
	}
	f := &modelfile.File{Kind: "rbm", Info: r.Info, Tensors: r.all.Tensors()}
	return modelfile.Save(w, f, map[string]any{modelfile.Settings: rbmSettings{
		Visible: r.visible, Units: r.Units, Hidden: r.Hidden, CD: r.cd, Rate: r.Rate, Seed: r.Seed,
	}})
}

func (r *RBM) restore(f *modelfile.File) error {
	var set rbmSettings
	if err := f.Open("rbm", &set); err != nil {
		return err
	}
	r.Units, r.Hidden, r.cd, r.Rate, r.Seed, r.Info = set.Units, set.Hidden, set.CD, set.Rate, set.Seed, f.Info
	return restoreEncoder(r, set.Visible, f)
}
