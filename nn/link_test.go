package nn

import (
	"slices"
	"strings"
	"testing"
)

// swapped returns b with the two ends of every row exchanged.
func swapped(b batch, s Shape) batch {
	half := s.W / 2 * s.K
	b.nodes.Cats = halves(b.nodes.Cats, half*len(s.Cats))
	b.nodes.Attrs = halves(b.nodes.Attrs, half*s.Attrs)
	b.edges.Cats = halves(b.edges.Cats, half*s.K*len(s.EdgeCats))
	b.edges.Attrs = halves(b.edges.Attrs, half*s.K*s.EdgeAttrs)
	return b
}

// halves returns x with every n values exchanged for the next n.
func halves[T any](x []T, n int) []T {
	var y []T
	for at := 0; at < len(x); at += 2 * n {
		y = append(append(y, x[at+n:at+2*n]...), x[at:at+n]...)
	}
	return y
}

// The answer is the same to the last bit when the ends are exchanged, and the
// loss with it.
func TestLinkSwapped(t *testing.T) {
	for _, w := range []int{2, 6, 40} {
		s := Shape{W: w, K: 3, Cats: []int{4, 2}, Attrs: 3, EdgeCats: []int{2}, EdgeAttrs: 1, Classes: 2}
		for _, rows := range []int{1, 5, 33} {
			m := &Link{Seed: 3}
			ready(t, s, m)
			b := randomBatch(s, rows, 9)
			p, q := make([]float32, 2*rows), make([]float32, 2*rows)
			if err := m.predict(p, b); err != nil {
				t.Fatal(err)
			}
			if err := m.predict(q, swapped(b, s)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(p, q) {
				t.Errorf("w=%d: %v, with the ends exchanged %v", w, p, q)
			}
		}
	}
}

// Whether two ends are of one kind is in the pair alone.
func TestLinkLearnsPairs(t *testing.T) {
	s := Shape{W: 2, K: 3, Cats: []int{4}, Classes: 2}
	m := &Link{Seed: 1}
	if err := m.Init(s); err != nil {
		t.Fatal(err)
	}
	correct := 0
	for i := range 600 {
		b := randomBatch(s, 32, uint64(i))
		for row := range b.rows {
			x := b.nodes.Cats[row*6:]
			x[0], x[3] = max(x[0], 0), max(x[3], 0)
			b.targets[row] = 0
			if row%2 == 0 {
				x[3] = x[0]
			}
			if x[0] == x[3] {
				b.targets[row] = 1
			}
		}
		r, err := m.step(b)
		if err != nil {
			t.Fatal(err)
		}
		if i >= 580 {
			correct += r.Correct
		}
	}
	if correct < 608 {
		t.Errorf("%d of 640 right in the last 20 batches: has not learned", correct)
	}
}

func TestLinkErrors(t *testing.T) {
	for _, test := range []struct {
		s    Shape
		want string
	}{
		{Shape{W: 3, K: 2, Attrs: 1, Classes: 2}, "w = 3, want an even number"},
		{Shape{W: 2, K: 2, Attrs: 1, Classes: 3}, "which is for 2 classes, the data have 3"},
		{Shape{W: 2, K: 2, Attrs: 1}, "which is for 2 classes, the data have 0"},
	} {
		if err := new(Link).Init(test.s); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.s, err, test.want)
		}
	}
	s := Shape{W: 4, K: 2, Cats: []int{3}, Classes: 2}
	m := &Link{}
	if err := m.Init(s); err != nil {
		t.Fatal(err)
	}
	b := randomBatch(s, 5, 1)
	b.nodes.Cats[3*8+4+2] = 7
	if _, err := m.step(b); err == nil || err.Error() != "nn: row 3: end 1: field 1, node 0, discrete channel 0: value 7, want -1 to 2" {
		t.Error(err)
	}
}
