package nn

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// pooledReference computes the mean loss of a batch from the weights of c in
// float64, the way the type's comment says it. mask is that of dropout, or nil.
func pooledReference(c *Pooled, w map[string][]float64, b batch, mask []float32) (loss float64) {
	s, maps := c.shape, c.Maps
	for row := range b.rows {
		y := make([]float64, s.W*maps)
		for f := range s.W {
			byDistance := map[int32][]int{}
			for p := range s.K {
				i := (row*s.W+f)*s.K + p
				if g := b.nodes.Cats[i*len(s.Cats)]; g >= 0 {
					byDistance[g] = append(byDistance[g], i)
				}
			}
			for m := range maps {
				sum := w["pooled.bias"][m]
				for _, group := range byDistance {
					for _, i := range group {
						each := 0.
						first := 0
						for ch, n := range s.Cats[1:] {
							if v := b.nodes.Cats[i*len(s.Cats)+ch+1]; v >= 0 {
								each += w["pooled.table"][(first+int(v))*maps+m]
							}
							first += n
						}
						for a := range s.Attrs {
							each += float64(b.nodes.Attrs[i*s.Attrs+a]) * w["pooled.weight"][a*maps+m]
						}
						if s.Sparse > 0 {
							set := b.nodes.Sparse[b.nodes.Offsets[i]:b.nodes.Offsets[i+1]]
							for _, v := range set {
								each += w["pooled.sparse"][int(v)*maps+m] / math.Sqrt(float64(len(set)))
							}
						}
						sum += each / float64(len(group)*len(byDistance))
					}
				}
				y[f*maps+m] = max(0, sum)
			}
		}
		logits := make([]float64, s.Classes)
		total := 0.
		for k := range logits {
			logits[k] = w["out.bias"][k]
			for j, v := range y {
				if mask != nil {
					v *= float64(mask[row*len(y)+j])
				}
				logits[k] += v * w["out.weight"][j*s.Classes+k]
			}
			total += math.Exp(logits[k])
		}
		loss -= logits[b.targets[row]] - math.Log(total)
	}
	return loss / float64(b.rows)
}

// sparseBatch is randomBatch with a sparse channel.
func sparseBatch(s Shape, rows int, seed uint64) batch {
	b := randomBatch(s, rows, seed)
	if s.Sparse == 0 {
		return b
	}
	r := newRand(seed)
	b.nodes.Offsets = []int32{0}
	for range rows * s.W * s.K {
		for v := range int32(s.Sparse) {
			if r.IntN(3) == 0 {
				b.nodes.Sparse = append(b.nodes.Sparse, v)
			}
		}
		b.nodes.Offsets = append(b.nodes.Offsets, int32(len(b.nodes.Sparse)))
	}
	return b
}

// Forward, and the gradient of every weight, against the reference.
func TestPooled(t *testing.T) {
	for _, test := range []struct {
		name string
		s    Shape
		c    Pooled
	}{
		{"all channels", Shape{W: 2, K: 4, Cats: []int{3, 2, 4}, Attrs: 2, Sparse: 5, Classes: 3}, Pooled{Maps: 5, Seed: 2}},
		{"words", Shape{W: 1, K: 5, Cats: []int{3}, Sparse: 7, Classes: 2}, Pooled{Maps: 4, Dropout: -1}},
		{"numbers", Shape{W: 1, K: 3, Cats: []int{1}, Attrs: 3, Classes: 4}, Pooled{Maps: 3, Dropout: -1}},
		{"labels", Shape{W: 3, K: 3, Cats: []int{2, 4}, Classes: 2}, Pooled{Maps: 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := test.c
			if err := c.Init(test.s); err != nil {
				t.Fatal(err)
			}
			r := newRand(5)
			w := map[string][]float64{}
			for _, l := range c.work.List {
				if len(l.Shape) == 1 { // off the kink of ReLU
					for i := range l.W {
						l.W[i] = float32(0.3 * r.NormFloat64())
					}
				}
				for _, v := range l.W {
					w[l.Name] = append(w[l.Name], float64(v))
				}
			}
			b := sparseBatch(test.s, 6, 4)
			seen, learned, err := c.work.learn(b, 3, 0, b.rows)
			if err != nil {
				t.Fatal(err)
			}
			n := float64(b.rows)
			if want := pooledReference(&c, w, b, nil); math.Abs(seen.loss/n-want) > 1e-5 {
				t.Errorf("loss %v, want %v", seen.loss/n, want)
			}
			var mask []float32
			if c.work.drop != nil {
				mask = maskOf(c.work.drop, b.rows*c.work.out.In)
			}
			if want := pooledReference(&c, w, b, mask); math.Abs(learned/n-want) > 1e-5 {
				t.Errorf("loss under dropout %v, want %v", learned/n, want)
			}
			const h = 1e-6
			for _, l := range c.work.List {
				x := w[l.Name]
				for i, v := range x {
					x[i] = v + h
					up := pooledReference(&c, w, b, mask)
					x[i] = v - h
					want := (up - pooledReference(&c, w, b, mask)) / (2 * h)
					x[i] = v
					if math.Abs(float64(l.G[i])-want) > 1e-4 {
						t.Fatalf("d loss / d %s[%d] = %v, want %v", l.Name, i, l.G[i], want)
					}
				}
			}
		})
	}
}

func TestPooledErrors(t *testing.T) {
	for want, s := range map[string]Shape{
		"set Normalize.Distances":     {W: 1, K: 3, Sparse: 4, Classes: 2},
		"no channel but their distan": {W: 1, K: 3, Cats: []int{3}, Classes: 2},
		"come with edges":             {W: 1, K: 3, Cats: []int{3}, Sparse: 4, EdgeAttrs: 1, Classes: 2},
	} {
		if err := new(Pooled).Init(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	s := Shape{W: 2, K: 2, Cats: []int{3, 2}, Sparse: 4, Classes: 2}
	c := &Pooled{Maps: 2}
	if err := c.Init(s); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*batch){
		"nn: row 1: field 0, node 1, discrete channel 0: value 3, want -1 to 2": func(b *batch) { b.nodes.Cats[10] = 3 },
		"nn: row 1: field 1, node 0, discrete channel 1: value 2, want -1 to 1": func(b *batch) { b.nodes.Cats[12], b.nodes.Cats[13] = 0, 2 },
		"nn: row 0: field 1, node 0, sparse channel: value 4, want 0 to 3": func(b *batch) {
			b.nodes.Cats[2] = 0
			b.nodes.Sparse[b.nodes.Offsets[2]] = 4
		},
	} {
		b := sparseBatch(s, 2, 1)
		for i := range b.nodes.Cats {
			b.nodes.Cats[i] = 0
		}
		spoil(&b)
		if _, err := c.work.forward(b); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestPooledSave(t *testing.T) {
	c := &Pooled{Maps: 3, Seed: 4, Learner: Learner{info: map[string]string{"a": "b"}}}
	s := Shape{W: 1, K: 3, Cats: []int{3}, Sparse: 6, Classes: 3}
	if err := c.Init(s); err != nil {
		t.Fatal(err)
	}
	c.given = true
	var file bytes.Buffer
	if err := c.Save(&file); err != nil {
		t.Fatal(err)
	}
	m, err := loadModel(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	got := m.(*Pooled)
	b := sparseBatch(s, 4, 2)
	x, y := make([]float32, 12), make([]float32, 12)
	if err := c.predict(x, b); err != nil {
		t.Fatal(err)
	}
	if err := got.predict(y, b); err != nil {
		t.Fatal(err)
	}
	for i := range x {
		if x[i] != y[i] {
			t.Fatalf("%v, want %v", y, x)
		}
	}
	if got.info["a"] != "b" || got.Maps != 3 {
		t.Errorf("%v, %v", got.info, got)
	}
}
