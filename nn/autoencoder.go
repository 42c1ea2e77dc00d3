package nn

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Autoencoder is a denoising autoencoder (Vincent, Larochelle, Bengio and
// Manzagol, ICML 2008): it learns to repair rows that were damaged, by way of a
// code.
//
//	y = σ(c + x̃ W)     the code of x̃, which is x damaged
//	z = b + y Wᵀ       or y Uᵀ, when Untied
//
// Binary rows lose values to 0, are rebuilt as σ(z), and the loss is the
// cross-entropy of x and σ(z); Gaussian rows are covered by normal noise,
// rebuilt as z, and the loss is Σ (x-z)²/2. Either is summed over units and
// averaged over rows.
//
// The fields are its settings, zero meaning the default; Init and Load replace
// zeros, and later changes have no effect. An Autoencoder is used by one
// goroutine at a time.
type Autoencoder struct {
	Units  Units // what values are; the default is Binary
	Hidden int   // values of a code; 0 = 100

	// Corrupt is how rows are damaged in learning: the probability that a binary
	// value is lost, below 1, or the deviation of the noise on a Gaussian one;
	// 0 = 0.3, negative = not at all.
	Corrupt float64
	Untied  bool // the reconstruction has weights of its own, U

	Optimizer Optimizer // nil = RMSprop{}
	Seed      uint64    // of the initial weights and of the damage

	// Info is saved with the weights and loaded with them. Keys may not begin
	// with "sanflow.".
	Info map[string]string

	encoderWeights

	opt   stepper
	noise *random.Noise
	steps int

	// Memory of a step, as long as the largest batch so far needed.
	keep           []float32 // (visible): the probability that a value is not lost
	damaged, recon []float32 // (B, visible)
	code, dcode    []float32 // (B, hidden)
}

var _ Encoder = (*Autoencoder)(nil)

// String returns the settings in one line.
func (a *Autoencoder) String() string {
	return fmt.Sprintf("Autoencoder{Units: %v, Hidden: %d, Corrupt: %v, Untied: %t, Optimizer: %+v, Seed: %d}",
		a.Units, a.Hidden, a.Corrupt, a.Untied, a.Optimizer, a.Seed)
}

// Init builds the network for rows of that many values, with the weights that
// Seed stands for. A second Init with the same number does nothing, with another
// it is an error.
func (a *Autoencoder) Init(visible int) error { return initEncoder(a, visible) }

func (a *Autoencoder) build(visible int) error {
	if err := a.resolve(); err != nil {
		return err
	}
	return a.lay(visible, a.Hidden, a.Units, a.Untied)
}

func (a *Autoencoder) draw() {
	r := random.New(a.Seed, random.Init)
	layer.Glorot(a.weight.W, a.visible, a.Hidden, r)
	if a.Untied {
		layer.Glorot(a.back.W, a.Hidden, a.visible, r)
	}
}

func (a *Autoencoder) resolve() error {
	if a.Hidden == 0 {
		a.Hidden = 100
	}
	if a.Corrupt == 0 {
		a.Corrupt = 0.3
	}
	switch {
	case a.Units != Binary && a.Units != Gaussian:
		return fmt.Errorf("%s is %d, want Binary or Gaussian", "Units", a.Units)
	case a.Hidden < 1:
		return fmt.Errorf("%s is %d, want a positive number", "Hidden", a.Hidden)
	case a.Units == Binary && !(a.Corrupt < 1):
		return fmt.Errorf("%s is %v, want a probability below 1", "Corrupt", a.Corrupt)
	case !kernel.Finite(float64(float32(a.Corrupt))):
		return fmt.Errorf("%s is %v, want a number", "Corrupt", a.Corrupt)
	}
	if a.Optimizer == nil {
		a.Optimizer = RMSprop{}
	}
	var err error
	a.Optimizer, err = a.Optimizer.resolve()
	return err
}

func (a *Autoencoder) start() {
	a.all.Alloc()
	a.opt = a.Optimizer.start(len(a.all.W))
	a.noise = random.NewNoise(a.Seed, random.Learn)
	a.keep = make([]float32, a.visible)
	for i := range a.keep {
		a.keep[i] = 1 - float32(a.Corrupt)
	}
}

// Step learns from the rows of x, (B, visible) of float32, once. The Loss of the
// result is the mean square, over rows and units, of x less what is made of the
// damaged rows, before the step. An error leaves the weights as they were.
// O(B · visible · hidden), and no memory once batches stop growing.
func (a *Autoencoder) Step(x *tensor.Dense) (Result, error) {
	v, rows, err := a.open(x)
	if err != nil || rows == 0 {
		return Result{}, err
	}
	a.damaged = scratch.Resize(a.damaged, rows*a.visible)
	a.recon = scratch.Resize(a.recon, rows*a.visible)
	a.code = scratch.Resize(a.code, rows*a.Hidden)
	a.dcode = scratch.Resize(a.dcode, rows*a.Hidden)
	a.damage(a.damaged[:rows*a.visible], v)
	loss := a.gradient(v, rows)
	if !kernel.Finite(loss) || !update(&a.all, a.opt, a.Optimizer.rule(), a.steps+1) {
		return Result{}, divergedRows(v, a.visible, a.steps+1)
	}
	a.steps++
	a.seen += rows
	return Result{Rows: rows, Loss: loss}, nil
}

// damage sets x̃ to damaged rows of x.
func (a *Autoencoder) damage(damaged, x []float32) {
	switch {
	case a.Corrupt < 0:
		copy(damaged, x)
	case a.Units == Binary:
		n := a.visible
		for i := 0; i < len(x); i += n {
			d := damaged[i : i+n]
			a.noise.Bernoulli(d, a.keep)
			for j, v := range x[i : i+n] {
				d[j] *= v
			}
		}
	default:
		a.noise.Normal(damaged)
		for i, v := range x {
			damaged[i] = v + float32(a.Corrupt)*damaged[i]
		}
	}
}

// gradient sets the gradients of the loss of x, (rows, visible), given the
// damaged rows, and returns the mean square error.
func (a *Autoencoder) gradient(x []float32, rows int) float64 {
	n, m := a.visible, a.Hidden
	damaged, recon := a.damaged[:rows*n], a.recon[:rows*n]
	code, dcode := a.code[:rows*m], a.dcode[:rows*m]
	a.encode(code, damaged, rows)
	a.decode(recon, code, rows)
	kernel.Axpy(-1, x, recon) // the gradient by z of either loss, times rows
	square := float64(kernel.Dot(recon, recon))
	share := 1 / float32(rows)
	for i, d := range recon {
		recon[i] = d * share
	}
	kernel.Gemm(rows, m, n, recon, n, a.back.W, m, dcode, m, false)
	for i, y := range code {
		dcode[i] *= y * (1 - y)
	}
	kernel.GemmTN(rows, m, n, damaged, n, dcode, m, a.weight.G, m, false)
	kernel.GemmTN(rows, m, n, recon, n, code, m, a.back.G, m, !a.Untied)
	layer.ClearGrad(a.hidBias, a.visBias)
	kernel.AddBiasGrad(a.hidBias.G, dcode, rows, m)
	kernel.AddBiasGrad(a.visBias.G, recon, rows, n)
	return square / float64(rows*n)
}

// autoencoderSettings is what a file says of an Autoencoder beside its weights.
type autoencoderSettings struct {
	Visible int     `json:"visible"`
	Units   Units   `json:"units"`
	Hidden  int     `json:"hidden"`
	Corrupt float64 `json:"corrupt"`
	Untied  bool    `json:"untied"`
	savedOptimizer
	Seed uint64 `json:"seed"`
}

// Save writes the network as a safetensors file, which other tools read too:
// the weights, and as metadata the settings and Info. The same network gives the
// same bytes. Optimizer state and counts are not part of it.
func (a *Autoencoder) Save(w io.Writer) error {
	if err := a.learned(); err != nil {
		return err
	}
	optimizer, err := saveOptimizer(a.Optimizer)
	if err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	f := &modelfile.File{Kind: "autoencoder", Info: a.Info, Tensors: a.all.Tensors()}
	return modelfile.Save(w, f, map[string]any{modelfile.Settings: autoencoderSettings{
		a.visible, a.Units, a.Hidden, a.Corrupt, a.Untied, optimizer, a.Seed,
	}})
}

// Load reads what Save wrote, up to the end of from, and is used instead of Init
// or before it. Settings come from the file: Hidden, Units and Untied must be
// zero or agree, while those of learning stay when they are set. A file that is
// damaged, or is not an Autoencoder, is an error, and a is as before.
func (a *Autoencoder) Load(from io.Reader) error {
	return modelfile.Load(a, from, a.weight != nil, (*Autoencoder).restore)
}

func (a *Autoencoder) restore(f *modelfile.File) error {
	var set autoencoderSettings
	if err := f.Open("autoencoder", &set); err != nil {
		return err
	}
	if err := a.adopt(set); err != nil {
		return err
	}
	a.Info = f.Info
	return restoreEncoder(a, set.Visible, f)
}

// adopt takes the settings of a file where a has none.
func (a *Autoencoder) adopt(set autoencoderSettings) error {
	err := errors.Join(modelfile.Agree("Hidden", &a.Hidden, set.Hidden), modelfile.Agree("Units", &a.Units, set.Units),
		modelfile.Agree("Untied", &a.Untied, set.Untied))
	if err != nil {
		return err
	}
	a.Corrupt = cmp.Or(a.Corrupt, set.Corrupt)
	a.Seed = cmp.Or(a.Seed, set.Seed)
	return set.savedOptimizer.adopt(&a.Optimizer)
}
