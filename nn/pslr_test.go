package nn

import "testing"

// PSLR is one matrix product: each class has a weight for every value of every
// node of every field.
func TestPSLR(t *testing.T) {
	s := Shape{W: 3, K: 2, Cats: []int{3, 2}, Attrs: 2, EdgeCats: []int{2}, Classes: 3}
	m := ready(t, s, &PSLR{}).(*PSLR)
	b := randomBatch(s, 4, 1)
	y, err := m.work.forward(b)
	if err != nil {
		t.Fatal(err)
	}
	w := make(map[string][]float32)
	for _, l := range m.work.List {
		w[l.Name] = l.W
	}
	const cells, pairs, classes = 6, 12, 3
	var want []float64
	for i := range b.rows {
		for c := range classes {
			sum := float64(w["nodes.bias"][c]) + float64(w["edges.bias"][c])
			for v := range cells {
				at := i*cells + v
				for ch, first := range []int{0, 3} {
					if x := b.nodes.Cats[2*at+ch]; x >= 0 {
						sum += float64(w["nodes.table"][(v*5+first+int(x))*classes+c])
					}
				}
				for ch := range 2 {
					sum += float64(b.nodes.Attrs[2*at+ch]) * float64(w["nodes.weight"][(2*v+ch)*classes+c])
				}
			}
			for v := range pairs {
				if x := b.edges.Cats[i*pairs+v]; x >= 0 {
					sum += float64(w["edges.table"][(2*v+int(x))*classes+c])
				}
			}
			want = append(want, sum)
		}
	}
	compare(t, "logits", y, want, 1e-5)
}

// The class is the exclusive or of two features that lie in different fields:
// each alone says nothing, so nothing that adds up what nodes say can know
// more than chance. A CNN can. New batches each time, tested before they are
// learned from.
func TestXORNeedsHiddenUnits(t *testing.T) {
	s := Shape{W: 4, K: 3, Cats: []int{3}, Classes: 2}
	accuracy := func(m Model) float64 {
		if err := m.Init(s); err != nil {
			t.Fatal(err)
		}
		r := newRand(1)
		correct, rows := 0, 0
		for i := range 1000 {
			res, err := learnerOf(m).step(xorBatch(r, s, 32))
			if err != nil {
				t.Fatal(err)
			}
			if i >= 900 {
				correct += res.Correct
				rows += res.Rows
			}
		}
		return float64(correct) / float64(rows)
	}
	if a := accuracy(&CNN{Seed: 1}); a < 0.95 {
		t.Errorf("CNN: %.1f%% of the last 3200 graphs, want more than 95%%", 100*a)
	}
	// Chance is 50 %, ±0.9 for 3200 graphs.
	if a := accuracy(&PSLR{}); a < 0.45 || a > 0.55 {
		t.Errorf("PSLR: %.1f%% of the last 3200 graphs, want about 50%%", 100*a)
	}
}

// What adds up PSLR does learn, to the last row.
func TestPSLRLearnsSums(t *testing.T) {
	s := Shape{W: 3, K: 2, Attrs: 1, Classes: 2}
	m := &PSLR{Optimizer: Adam{Rate: 0.05}}
	if err := m.Init(s); err != nil {
		t.Fatal(err)
	}
	correct := 0
	for i := range 300 {
		b := randomBatch(s, 32, uint64(i))
		for row := range b.rows {
			x := b.nodes.Attrs[6*row:]
			b.targets[row] = 0
			if x[0]+2*x[3]-x[5] > 0.5 {
				b.targets[row] = 1
			}
		}
		r, err := m.step(b)
		if err != nil {
			t.Fatal(err)
		}
		if i >= 280 {
			correct += r.Correct
		}
	}
	if correct < 620 {
		t.Errorf("%d of 640 right in the last 20 batches", correct)
	}
}
