package nn

import (
	"cmp"
	"fmt"
	"io"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Autoencoder is a denoising autoencoder (Vincent, Larochelle, Bengio and Manzagol, ICML 2008).
// It learns to reconstruct damaged rows from a code:
//
//	y = σ(c + x̃ W)     the code of x̃, the damaged x
//	z = b + y Wᵀ
//
// A value of a damaged Binary row is 0 with a probability of 0.3; its reconstruction is σ(z) and its loss the
// cross-entropy of x and σ(z). A damaged Gaussian row has normal noise of deviation 0.3 added; its
// reconstruction is z and its loss Σ (x-z)²/2. Losses are sums over units and means over rows.
type Autoencoder struct {
	Units     Units     // type of the values; the default is Binary
	Hidden    int       // values of a code; 0 = 100
	Optimizer Optimizer // nil = RMSprop{}
	Seed      uint64    // of the initial weights and of the damage

	encoderWeights

	opt   stepper
	noise random.Source
	steps int

	// Memory of a step, for the largest batch so far.
	keep           []float32 // (visible): the probability that a value is kept
	damaged, recon []float32 // (B, visible)
	code, dcode    []float32 // (B, hidden)
}

// damage is the probability that a Binary value becomes 0, and the standard deviation of the noise of
// a Gaussian value.
const damage = 0.3

var _ Encoder = (*Autoencoder)(nil)

func (a *Autoencoder) String() string {
	return fmt.Sprintf("Autoencoder{Units: %v, Hidden: %d, Optimizer: %+v, Seed: %d}",
		a.Units, a.Hidden, a.Optimizer, a.Seed)
}

// Init draws the weights from Seed; see Encoder.
func (a *Autoencoder) Init(visible int) error { return initEncoder(a, visible) }

func (a *Autoencoder) build(visible int) error {
	if err := a.resolve(); err != nil {
		return err
	}
	return a.lay(visible, a.Hidden, a.Units)
}

func (a *Autoencoder) draw() {
	r := random.New(a.Seed, random.Init)
	layer.Glorot(a.weight.W, a.visible, a.Hidden, r)
}

func (a *Autoencoder) resolve() error {
	if a.Hidden = cmp.Or(a.Hidden, 100); a.Hidden < 1 {
		return fmt.Errorf("%s is %d, want a positive number", "Hidden", a.Hidden)
	}
	if a.Optimizer == nil {
		a.Optimizer = RMSprop{}
	}
	err := a.Units.resolve()
	if err != nil {
		return err
	}
	a.Optimizer, err = a.Optimizer.resolve()
	return err
}

func (a *Autoencoder) start() {
	a.all.Alloc()
	a.opt = a.Optimizer.start(len(a.all.W))
	a.noise = random.New(a.Seed, random.Learn)
	a.keep = make([]float32, a.visible)
	for i := range a.keep {
		a.keep[i] = 1 - float32(damage)
	}
}

// Step learns from the rows of x; see Encoder. It reconstructs damaged rows. An error leaves
// the weights unchanged. O(B·visible·hidden); no allocation once batches stop growing.
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
	loss, err := a.gradient(v, rows)
	if err != nil {
		return Result{}, err
	}
	if !kernel.Finite(loss) || !update(&a.all, a.opt, a.Optimizer.rates().decay(), a.steps+1) {
		return Result{}, divergedRows(v, a.visible, a.steps+1)
	}
	a.steps++
	a.seen += rows
	return Result{Rows: rows, Loss: loss}, nil
}

// damage sets damaged to the rows x with random errors: normal noise on Gaussian values, and zeros in
// place of some Binary values.
func (a *Autoencoder) damage(damaged, x []float32) {
	if a.Units == Gaussian {
		a.noise.Normal(damaged)
		for i, v := range x {
			damaged[i] = v + float32(damage)*damaged[i]
		}
		return
	}
	n := a.visible
	for i := 0; i < len(x); i += n {
		d := damaged[i : i+n]
		a.noise.Bernoulli(d, a.keep)
		for j, v := range x[i : i+n] {
			d[j] *= v
		}
	}
}

// gradient sets the gradients of the loss of x, (rows, visible), from the damaged rows in a.damaged. It
// returns the mean square error.
func (a *Autoencoder) gradient(x []float32, rows int) (float64, error) {
	n, m := a.visible, a.Hidden
	damaged, recon := a.damaged[:rows*n], a.recon[:rows*n]
	code, dcode := a.code[:rows*m], a.dcode[:rows*m]
	if err := a.encode(code, damaged, rows); err != nil {
		return 0, err
	}
	if err := a.decode(recon, code, rows); err != nil {
		return 0, err
	}
	kernel.Axpy(-1, x, recon) // rows times the gradient of the loss with respect to z, for both types of units
	square := float64(kernel.Dot(recon, recon))
	share := 1 / float32(rows)
	for i, d := range recon {
		recon[i] = d * share
	}
	kernel.Gemm(rows, m, n, recon, n, a.weight.W, m, dcode, m, false)
	for i, y := range code {
		dcode[i] *= y * (1 - y)
	}
	kernel.GemmTN(rows, m, n, damaged, n, dcode, m, a.weight.G, m, false)
	kernel.GemmTN(rows, m, n, recon, n, code, m, a.weight.G, m, true)
	layer.ClearGrad(a.hidBias, a.visBias)
	kernel.AddBiasGrad(a.hidBias.G, dcode, rows, m)
	kernel.AddBiasGrad(a.visBias.G, recon, rows, n)
	return square / float64(rows*n), nil
}

// autoencoderSettings are the settings of an Autoencoder in its file.
type autoencoderSettings struct {
	Visible int     `json:"visible"`
	Units   Units   `json:"units"`
	Hidden  int     `json:"hidden"`
	Corrupt float64 `json:"corrupt"`
	Untied  bool    `json:"untied"`
	savedOptimizer
	Seed uint64 `json:"seed"`
}

// Save works as CNN.Save.
func (a *Autoencoder) Save(w io.Writer) error {
	if err := a.learned(); err != nil {
		return err
	}
	optimizer, err := saveOptimizer(a.Optimizer)
	if err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	f := &modelfile.File{Kind: "autoencoder", Tensors: a.all.Tensors()}
	return modelfile.Save(w, f, map[string]any{modelfile.Settings: autoencoderSettings{
		a.visible, a.Units, a.Hidden, damage, false, optimizer, a.Seed,
	}})
}

func (a *Autoencoder) restore(f *modelfile.File) error {
	var set autoencoderSettings
	if err := f.Open("autoencoder", &set); err != nil {
		return err
	}
	if set.Corrupt != damage || set.Untied {
		return fmt.Errorf("settings: corrupt is %v and untied %t, want %v and false", set.Corrupt, set.Untied, damage)
	}
	a.Units, a.Hidden, a.Seed = set.Units, set.Hidden, set.Seed
	if err := set.savedOptimizer.adopt(&a.Optimizer); err != nil {
		return err
	}
	return restoreEncoder(a, set.Visible, f)
}
