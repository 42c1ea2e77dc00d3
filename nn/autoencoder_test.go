package nn

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
)

// autoencoderLoss is the loss of the doc of Autoencoder, in float64.
func autoencoderLoss(a *Autoencoder, p [][]float64, x, damaged []float32) (loss float64) {
	n, m := a.visible, a.Hidden
	w, c, b := p[0], p[1], p[2]
	for row := 0; row < len(x); row += n {
		z := slices.Clone(b)
		for j := range m {
			in := c[j]
			for i := range n {
				in += float64(damaged[row+i]) * w[i*m+j]
			}
			y := 1 / (1 + math.Exp(-in))
			for i := range n {
				z[i] += y * w[i*m+j]
			}
		}
		for i, z := range z {
			t := float64(x[row+i])
			if a.Units == Gaussian {
				loss += (t - z) * (t - z) / 2
			} else { // -t log σ(z) - (1-t) log(1-σ(z))
				loss += softplus(z) - t*z
			}
		}
	}
	return loss / float64(len(x)/n)
}

func TestAutoencoderGradient(t *testing.T) {
	const n, m, rows = 7, 5, 6
	for _, a := range []*Autoencoder{{}, {Units: Gaussian}} {
		a.Hidden, a.Seed = m, 2
		if err := a.Init(n); err != nil {
			t.Fatal(err)
		}
		rng := newRand(3)
		for _, w := range a.all.List {
			copy(w.W, normal(rng, len(w.W)))
		}
		before := slices.Clone(a.all.W)
		x := randomRows(rows, n, 4)
		if a.Units == Gaussian {
			x = rowsOf(n, normal(rng, rows*n))
		}
		if _, err := a.Step(x); err != nil {
			t.Fatal(err)
		}
		copy(a.all.W, before) // the gradient is that of the weights before the step
		var p [][]float64
		for _, w := range a.all.List {
			q := make([]float64, len(w.W))
			for i, v := range w.W {
				q[i] = float64(v)
			}
			p = append(p, q)
		}
		for k, w := range a.all.List {
			for i, v := range p[k] {
				const h = 1e-5
				p[k][i] = v + h
				up := autoencoderLoss(a, p, x.Float32s(), a.damaged)
				p[k][i] = v - h
				down := autoencoderLoss(a, p, x.Float32s(), a.damaged)
				p[k][i] = v
				want := (up - down) / (2 * h)
				if d := math.Abs(float64(w.G[i]) - want); d > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("%v: d loss / d %s[%d] = %v, want %v", a, w.Name, i, w.G[i], want)
				}
			}
		}
	}
}

// Binary values are lost to 0 and never made; Gaussian ones move by normal
// noise of that deviation, within five standard errors.
func TestAutoencoderDamage(t *testing.T) {
	const n = 100000
	for _, a := range []*Autoencoder{{}, {Units: Gaussian}} {
		a.Hidden = 1
		if err := a.Init(10); err != nil {
			t.Fatal(err)
		}
		x := randomRows(n/10, 10, 1).Float32s()
		d := make([]float32, n)
		a.damage(d, x)
		ones, lost, square := 0.0, 0.0, 0.0
		for i, v := range x {
			ones += float64(v)
			if a.Units == Binary && d[i] != v {
				lost++
				if v != 1 || d[i] != 0 {
					t.Fatalf("%v became %v", v, d[i])
				}
			}
			square += float64(d[i]-v) * float64(d[i]-v)
		}
		switch {
		case a.Units == Binary && math.Abs(lost-0.3*ones) > 5*math.Sqrt(ones*0.3*0.7):
			t.Errorf("%v of %v ones were lost, want three tenths", lost, ones)
		case a.Units == Gaussian && math.Abs(square/n-0.09) > 5*0.09*math.Sqrt(2./n): // χ² of n degrees
			t.Errorf("noise of variance %v, want 0.09", square/n)
		}
	}
}

// A code of 12 values rebuilds the 14 bars and stripes from images that lost a
// third of their black pixels, which tells white pixels from lost ones.
func TestAutoencoderLearns(t *testing.T) {
	{
		a := &Autoencoder{Hidden: 12, Optimizer: RMSprop{Rate: 3e-3}, Seed: 1}
		if err := a.Init(9); err != nil {
			t.Fatal(err)
		}
		x := barsAndStripes(3)
		for range 3000 {
			if _, err := a.Step(rowsOf(9, x)); err != nil {
				t.Fatal(err)
			}
		}
		code, err := a.Encode(rowsOf(9, x), nil)
		if err != nil {
			t.Fatal(err)
		}
		y, err := a.Decode(code, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range y.Float32s() {
			if math.Abs(float64(v-x[i])) > 0.5 {
				t.Errorf("pixel %d of image %d is rebuilt as %v, want %v", i%9, i/9, v, x[i])
			}
		}
		if a.Seen() != 3000*14 {
			t.Errorf("%d rows seen", a.Seen())
		}
	}
}

func TestAutoencoderSaveLoad(t *testing.T) {
	a := &Autoencoder{Hidden: 4, Units: Gaussian, Optimizer: RMSprop{Rate: 0.01}, Seed: 7}
	if err := a.Init(5); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Step(rowsOf(5, normal(newRand(1), 15))); err != nil {
		t.Fatal(err)
	}
	var file, again bytes.Buffer
	if err := a.Save(&file); err != nil {
		t.Fatal(err)
	}
	var b Autoencoder
	if err := into(&b, bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	if err := b.Save(&again); err != nil {
		t.Fatal(err)
	}
	if b.String() != a.String() || b.Hash() != a.Hash() || !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Errorf("loaded %v, want %v", &b, a)
	}
	// Two that go on from one file learn the same.
	var c Autoencoder
	if err := into(&c, bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*Autoencoder{&b, &c} {
		if _, err := d.Step(rowsOf(5, normal(newRand(1), 20))); err != nil {
			t.Fatal(err)
		}
	}
	if b.Hash() != c.Hash() || b.Hash() == a.Hash() {
		t.Error("two steps from one file differ")
	}
}

func TestAutoencoderErrors(t *testing.T) {
	for _, test := range []struct {
		set  Autoencoder
		want string
	}{
		{Autoencoder{Hidden: -1}, "Hidden is -1"},
		{Autoencoder{Units: "two"}, `Units is "two"`},
		{Autoencoder{Optimizer: RMSprop{Rate: -1}}, "Rate is -1"},
	} {
		if err := test.set.Init(3); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	a := &Autoencoder{Units: Gaussian}
	if _, err := a.Step(randomRows(1, 3, 1)); err != ErrNotReady {
		t.Errorf("before Init: %v", err)
	}
	if err := a.Init(3); err != nil {
		t.Fatal(err)
	}
	before := a.Hash()
	if _, err := a.Step(rowsOf(3, []float32{0, 1, float32(math.NaN())})); err == nil || !strings.Contains(err.Error(), "row 0: value 2 is NaN") {
		t.Errorf("NaN: %v", err)
	}
	if a.Hash() != before {
		t.Error("an error changed the weights")
	}
}

func TestAutoencoderDoesNotAllocate(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates")
	}
	for _, a := range []*Autoencoder{{}, {Units: Gaussian}} {
		if err := a.Init(81); err != nil {
			t.Fatal(err)
		}
		x := randomRows(10, 81, 1)
		if n := testing.AllocsPerRun(20, func() {
			if _, err := a.Step(x); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v: a step allocates %v times", a, n)
		}
	}
}
