package nn

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// rowsOf returns rows of n values as a tensor.
func rowsOf(n int, x []float32) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(x)/n, n), tensor.WithBacking(x))
}

// randomRBM is a machine whose weights and biases are normal numbers.
func randomRBM(t testing.TB, r *RBM, visible int) *RBM {
	t.Helper()
	if err := r.Init(visible); err != nil {
		t.Fatal(err)
	}
	rng := newRand(5)
	for _, w := range r.all.List {
		copy(w.W, normal(rng, len(w.W)))
	}
	return r
}

// bitsOf returns the n lowest bits of x as numbers.
func bitsOf(x, n int) []float32 {
	b := make([]float32, n)
	for i := range b {
		b[i] = float32(x >> i & 1)
	}
	return b
}

// energy is E(v, h) as the doc of RBM has it.
func energy(r *RBM, v, h []float32) (e float64) {
	for i, b := range r.visBias.W {
		if r.Units == Gaussian {
			e += float64(v[i]-b) * float64(v[i]-b) / 2
		} else {
			e -= float64(b * v[i])
		}
		for j := range h {
			e -= float64(v[i]) * float64(r.weight.W[i*len(h)+j]) * float64(h[j])
		}
	}
	for j, c := range r.hidBias.W {
		e -= float64(c * h[j])
	}
	return e
}

// softplus is log(1 + eˣ), without overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// logLikelihood returns the mean of log P(v) over rows of x, by enumeration of
// the hidden states, of which there must be few. Given those, visible units are
// independent, so that their sum (or integral) has a closed form.
func logLikelihood(r *RBM, x []float32) float64 {
	n, m := r.visible, r.Hidden
	z := 0.0
	for s := range 1 << m {
		h := bitsOf(s, m)
		log := 0.0
		for j, c := range r.hidBias.W {
			log += float64(c * h[j])
		}
		for i, b := range r.visBias.W {
			in := 0.0
			for j := range m {
				in += float64(r.weight.W[i*m+j]) * float64(h[j])
			}
			if r.Units == Gaussian { // ∫ exp(-(v-b)²/2 + v·in) dv
				log += in*in/2 + in*float64(b) + math.Log(2*math.Pi)/2
			} else {
				log += softplus(float64(b) + in)
			}
		}
		z += math.Exp(log)
	}
	sum := 0.0
	for row := 0; row < len(x); row += n {
		p := 0.0
		for s := range 1 << m {
			p += math.Exp(-energy(r, x[row:row+n], bitsOf(s, m)))
		}
		sum += math.Log(p / z)
	}
	return sum / float64(len(x)/n)
}

// Probabilities are those of the energy, by enumeration.
func TestRBMEnergies(t *testing.T) {
	for _, units := range []Units{Binary, Gaussian} {
		const n, m = 6, 3
		r := randomRBM(t, &RBM{Hidden: m, Units: units}, n)
		for x := range 1 << n {
			v := bitsOf(x, n)
			p, err := r.Encode(rowsOf(n, v), nil)
			if err != nil {
				t.Fatal(err)
			}
			sum, on := 0.0, make([]float64, m)
			for s := range 1 << m {
				h := bitsOf(s, m)
				w := math.Exp(-energy(r, v, h))
				sum += w
				for j := range on {
					on[j] += w * float64(h[j])
				}
			}
			for j := range on {
				on[j] /= sum
			}
			compare(t, "P(h|v)", p.Float32s(), on, 1e-5)
		}
		if units == Gaussian {
			continue
		}
		for s := range 1 << m {
			h := bitsOf(s, m)
			p, err := r.Decode(rowsOf(m, h), nil)
			if err != nil {
				t.Fatal(err)
			}
			sum, on := 0.0, make([]float64, n)
			for x := range 1 << n {
				v := bitsOf(x, n)
				w := math.Exp(-energy(r, v, h))
				sum += w
				for i := range on {
					on[i] += w * float64(v[i])
				}
			}
			for i := range on {
				on[i] /= sum
			}
			compare(t, "P(v|h)", p.Float32s(), on, 1e-5)
		}
	}
}

// After many steps of sampling, contrastive divergence estimates the gradient
// of the likelihood: its mean lies within five standard errors of the gradient
// by central differences, for every weight. With one step it does not.
func TestRBMGradient(t *testing.T) {
	const n, m, rows = 5, 3, 256
	for _, test := range []struct {
		name     string
		set      RBM
		repeats  int
		unbiased bool
	}{
		{"CD-40", RBM{cd: 40}, 60, true},
		{"CD-1", RBM{cd: 1}, 200, false},
		{"Gaussian", RBM{cd: 40, Units: Gaussian}, 60, true},
	} {
		r := &test.set
		r.Hidden, r.Seed = m, 3
		randomRBM(t, r, n)
		if r.Units == Gaussian { // or the modes lie too far apart to be mixed
			for i := range r.all.W {
				r.all.W[i] /= 2
			}
		}
		rng := newRand(8)
		x := make([]float32, rows*n)
		for i := range x {
			x[i] = float32(rng.IntN(2))
			if i%n == 1 {
				x[i] = x[i-1] // something to learn
			}
		}
		sum, square := make([]float64, len(r.all.W)), make([]float64, len(r.all.W))
		keep := slices.Clone(r.all.W)
		for range test.repeats {
			if _, err := r.Step(rowsOf(n, x)); err != nil {
				t.Fatal(err)
			}
			for i, g := range r.all.G {
				g := float64(g) / rows
				sum[i] += g
				square[i] += g * g
			}
			copy(r.all.W, keep)
		}
		worst := 0.0
		for _, w := range r.all.List {
			for i := range w.W {
				const h = 1e-2
				v := w.W[i]
				w.W[i] = v + h
				up := logLikelihood(r, x)
				w.W[i] = v - h
				down := logLikelihood(r, x)
				w.W[i] = v
				at := slices.Index(r.all.W, v) // values are all different
				mean := sum[at] / float64(test.repeats)
				se := math.Sqrt((square[at]/float64(test.repeats) - mean*mean) / float64(test.repeats-1))
				// Rounding of the differences: values of about 5, in float32 weights.
				z := max(0, math.Abs(mean-(up-down)/(2*h))-5e-4) / (se + 1e-9)
				if worst = max(worst, z); test.unbiased && z > 5 {
					t.Errorf("%s: d log P / d %s[%d] is %.4f ± %.4f, want %.4f", test.name, w.Name, i, mean, se, (up-down)/(2*h))
				}
			}
		}
		if !test.unbiased && worst < 5 {
			t.Errorf("%s: within %.1f standard errors everywhere: the test sees nothing", test.name, worst)
		}
		t.Logf("%s: worst deviation %.1f standard errors", test.name, worst)
	}
}

// barsAndStripes returns the 2·2ˢ-2 images of s×s pixels whose rows are all
// equal or whose columns are (MacKay, Information Theory, Inference and Learning
// Algorithms, 2003, section 43).
func barsAndStripes(s int) (x []float32) {
	for columns := range 2 {
		for b := columns; b < 1<<s-columns; b++ { // all black and all white once
			for i := range s {
				for j := range s {
					on := i
					if columns == 1 {
						on = j
					}
					x = append(x, float32(b>>on&1))
				}
			}
		}
	}
	return x
}

// The likelihood of the images comes near to its bound, that of a machine which
// draws each of the 14 with the same probability and nothing else.
func TestRBMBarsAndStripes(t *testing.T) {
	x := barsAndStripes(3)
	if len(x) != 14*9 {
		t.Fatalf("%d images, want 14", len(x)/9)
	}
	for _, r := range []*RBM{
		{Hidden: 12, Rate: 0.1, cd: 5, Seed: 1},
	} {
		if err := r.Init(9); err != nil {
			t.Fatal(err)
		}
		data := rowsOf(9, x)
		first, last := 0.0, 0.0
		const steps = 6000
		for i := range steps {
			res, err := r.Step(data)
			if err != nil {
				t.Fatal(err)
			}
			if i < 100 {
				first += res.Loss / 100
			}
			if i >= steps-100 {
				last += res.Loss / 100
			}
		}
		if last > first/2 {
			t.Errorf("%v: reconstruction error %v, at first %v", r, last, first)
		}
		got, bound := logLikelihood(r, x), -math.Log(14)
		t.Logf("%v: log likelihood %.3f, bound %.3f; reconstruction error %.2g → %.2g", r, got, bound, first, last)
		// KL(data, model) = bound - got, and P(image) ≥ exp(-KL): at least two thirds
		// of what the machine draws are bars or stripes; 14/512 = 2.7 % by chance.
		if got > bound || got < bound-0.4 {
			t.Errorf("%v: log likelihood %v, want %v or little less", r, got, bound)
		}
	}
}

// Sample has the distribution P(v | h) for h with that unit alone.
func TestRBMSampling(t *testing.T) {
	const n, m, rows, unit = 4, 3, 20000, 1
	r := randomRBM(t, &RBM{Hidden: m, Seed: 4}, n)
	for _, test := range []struct {
		name string
		on   func(h []float32) bool
		draw func(x *tensor.Dense) error
	}{
		{"Sample", func(h []float32) bool { return slices.Equal(h, []float32{0, 1, 0}) }, func(x *tensor.Dense) error { return r.Sample(x, unit) }},
	} {
		want, z := make([]float64, 1<<n), 0.0
		for s := range 1 << m {
			h := bitsOf(s, m)
			for x := range want {
				if test.on(h) {
					p := math.Exp(-energy(r, bitsOf(x, n), h))
					want[x] += p
					z += p
				}
			}
		}
		x := randomRows(rows, n, 2)
		if err := test.draw(x); err != nil {
			t.Fatal(err)
		}
		count := make([]float64, 1<<n)
		for v := range slices.Chunk(x.Float32s(), n) {
			at := 0
			for i, b := range v {
				at |= int(b) << i
			}
			count[at]++
		}
		for i, w := range want {
			p := w / z
			if d := math.Abs(count[i]-rows*p) / math.Sqrt(rows*p*(1-p)); d > 5 {
				t.Errorf("%s: state %v drawn %v times, want %.0f", test.name, bitsOf(i, n), count[i], rows*p)
			}
		}
	}
}

// Learning is a function of seed and batches; sampling in between changes
// nothing; batches of other sizes may come.
func TestRBMIsDeterministic(t *testing.T) {
	hash := ""
	for try := range 2 {
		r := &RBM{Hidden: 20, Seed: 9, cd: 2}
		if err := r.Init(30); err != nil {
			t.Fatal(err)
		}
		for i, rows := range []int{10, 3, 10, 17, 1} {
			if _, err := r.Step(randomRows(rows, 30, uint64(i))); err != nil {
				t.Fatal(err)
			}
			if try == 1 {
				if err := r.Sample(randomRows(5, 30, 1), 3); err != nil {
					t.Fatal(err)
				}
			}
		}
		if r.Seen() != 41 {
			t.Errorf("%d rows seen, want 41", r.Seen())
		}
		if try == 1 && r.Hash() != hash {
			t.Error("the same seed and batches, other weights")
		}
		hash = r.Hash()
	}
}

func TestRBMInitBias(t *testing.T) {
	x := rowsOf(2, []float32{1, 0, 1, 0, 0, 0})
	r := &RBM{Hidden: 3}
	if err := r.Init(2); err != nil {
		t.Fatal(err)
	}
	if err := r.InitBias(x); err != nil {
		t.Fatal(err)
	}
	compare(t, "bias", r.visBias.W, []float64{math.Log(3. / 2), math.Log(1. / 4)}, 1e-6)
	if _, err := r.Step(x); err != nil {
		t.Fatal(err)
	}
	if err := r.InitBias(x); err == nil || !strings.Contains(err.Error(), "before the first step") {
		t.Errorf("InitBias after a step: %v", err)
	}
}

func TestRBMSaveLoad(t *testing.T) {
	r := randomRBM(t, &RBM{Hidden: 4, Units: Gaussian, cd: 2, Rate: 0.03, Seed: 7, Info: map[string]string{"k": "9"}}, 5)
	if _, err := r.Step(rowsOf(5, normal(newRand(1), 15))); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := r.Save(&file); err != nil {
		t.Fatal(err)
	}
	var s RBM
	if err := into(&s, bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	if s.String() != r.String() || s.Hash() != r.Hash() || s.Info["k"] != "9" {
		t.Errorf("loaded %v, want %v", &s, r)
	}
	var again bytes.Buffer
	if err := s.Save(&again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Error("saved, loaded and saved again: the bytes differ")
	}
	if err := s.Init(5); err != nil {
		t.Errorf("Init after Load: %v", err)
	}
	if _, err := LoadEncoder(bytes.NewReader(saved(t, smallCNN(t)))); err == nil || !strings.Contains(err.Error(), `holds a model "cnn", which is no encoder`) {
		t.Errorf("a CNN: %v", err)
	}
	if err := into(new(CNN), bytes.NewReader(file.Bytes())); err == nil || !strings.Contains(err.Error(), `"rbm"`) {
		t.Errorf("an RBM as a CNN: %v", err)
	}
}

func TestRBMErrors(t *testing.T) {
	for _, test := range []struct {
		set     RBM
		visible int
		want    string
	}{
		{RBM{}, 0, "0 visible units"},
		{RBM{Hidden: -1}, 3, "Hidden is -1"},
		{RBM{Hidden: 1 << 20}, 1 << 20, "more than"},
		{RBM{cd: -1}, 3, "CD is -1"},
		{RBM{Rate: -0.1}, 3, "Rate is -0.1"},
		{RBM{Rate: math.NaN()}, 3, "Rate is NaN"},
		{RBM{Units: "two"}, 3, `Units is "two"`},
	} {
		if err := test.set.Init(test.visible); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", &test.set, err, test.want)
		}
	}
	if _, err := new(RBM).Step(randomRows(2, 3, 1)); err != ErrNotReady {
		t.Errorf("before Init: %v", err)
	}
	r := &RBM{}
	if err := r.Init(3); err != nil {
		t.Fatal(err)
	}
	before := r.Hash()
	nan := float32(math.NaN())
	for _, test := range []struct {
		x    *tensor.Dense
		want string
	}{
		{nil, "x is missing"},
		{randomRows(2, 4, 1), "x is [2 4], want [2 3]"},
		{rowsOf(3, []float32{0, 1, 1, 0, 1.5, 0}), "row 1: value 1 of x is 1.5, want 0 to 1"},
		{rowsOf(3, []float32{0, -0.25, 1}), "row 0: value 1 of x is -0.25"},
		{rowsOf(3, []float32{0, 1, nan}), "row 0: value 2 of x is NaN"},
	} {
		if _, err := r.Step(test.x); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	if err := r.Init(4); err == nil || !strings.Contains(err.Error(), "for 3 visible units, the data have 4") {
		t.Errorf("another Init: %v", err)
	}
	if r.Hash() != before {
		t.Error("an error changed the weights")
	}
	g := &RBM{Units: Gaussian}
	if err := g.Init(1); err != nil {
		t.Fatal(err)
	}
	var row *RowError
	if _, err := g.Step(rowsOf(1, []float32{1, nan})); !errors.As(err, &row) || row.Row != 1 {
		t.Errorf("NaN: %v, want an error in row 1", err)
	}
	if _, err := g.Step(rowsOf(1, []float32{1, 1e30})); !errors.As(err, &row) || row.Row != 1 {
		t.Errorf("overflow: %v, want an error in row 1", err)
	}
}

func TestRBMDoesNotAllocate(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates")
	}
	for _, r := range []*RBM{{}, {cd: 2}, {Units: Gaussian}} {
		if err := r.Init(81); err != nil {
			t.Fatal(err)
		}
		x := randomRows(10, 81, 1)
		if n := testing.AllocsPerRun(20, func() {
			if _, err := r.Step(x); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v: a step allocates %v times", r, n)
		}
	}
}

// Whatever the bytes, Load returns; what it accepts is saved as itself.
func FuzzLoadEncoder(f *testing.F) {
	for _, c := range []Encoder{&RBM{Hidden: 1}, &Autoencoder{Hidden: 1}} {
		if err := c.Init(2); err != nil {
			f.Fatal(err)
		}
		if _, err := c.Step(randomRows(3, 2, 1)); err != nil {
			f.Fatal(err)
		}
		var file bytes.Buffer
		if err := c.Save(&file); err != nil {
			f.Fatal(err)
		}
		f.Add(file.Bytes())
		f.Add(file.Bytes()[:file.Len()/2])
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		file = summed(file)
		fuzzLoad(t, file)
	})
}

func fuzzLoad(t *testing.T, file []byte) {
	a, err := LoadEncoder(bytes.NewReader(file))
	if err != nil {
		return
	}
	var once, twice bytes.Buffer
	if err := a.Save(&once); err != nil {
		t.Fatal(err)
	}
	b, err := LoadEncoder(bytes.NewReader(once.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Save(&twice); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(once.Bytes(), twice.Bytes()) {
		t.Fatalf("%T: saved, loaded and saved again: the bytes differ", a)
	}
}
