package drift

import (
	"bytes"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"testing"
)

type kept interface {
	Detector
	Save(io.Writer) error
	Load(io.Reader) error
}

func pairs() [][2]kept {
	return [][2]kept{
		{&ADWIN{}, &ADWIN{}}, {&ADWIN{delta: 0.1, m: 2, clock: 1}, &ADWIN{delta: 0.1, m: 2, clock: 1}},
	}
}

// A detector that is saved and loaded gives the same alarms, and is saved as the same bytes.
func TestState(t *testing.T) {
	for i, pair := range pairs() {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		a, b := pair[0], pair[1]
		alarms := 0
		for n := range 6000 {
			x := rng.Float64()
			if n/1500%2 == 1 {
				x = min(1, x+0.4)
			}
			got, ok := b.Add(x)
			if want, wanted := a.Add(x); got != want || ok != wanted {
				t.Fatalf("%T, number %d: %v %t, want %v %t", a, n, got, ok, want, wanted)
			}
			if ok {
				alarms++
			}
			if n%700 == 3 {
				var text, again bytes.Buffer
				if err := a.Save(&text); err != nil {
					t.Fatal(err)
				}
				b = pairs()[i][1]
				if err := b.Load(bytes.NewReader(append(bytes.Clone(text.Bytes()), 9))); err != nil {
					t.Fatal(err)
				}
				if err := b.Save(&again); err != nil || !bytes.Equal(again.Bytes(), text.Bytes()) {
					t.Fatalf("%T: another state: %v", a, err)
				}
				if err := pairs()[i^1][0].Load(&text); err == nil {
					t.Fatalf("%T: the state of other settings", a)
				}
			}
		}
		if alarms == 0 {
			t.Errorf("%T: no alarm", a)
		}
	}
}

// FuzzState changes states and makes the checksum right: what is loaded can be used.
func FuzzState(f *testing.F) {
	for i, pair := range pairs() {
		for n := range 300 {
			pair[0].Add(float64(n%7) / 7)
		}
		var text bytes.Buffer
		if err := pair[0].Save(&text); err != nil {
			f.Fatal(err)
		}
		f.Add(text.Bytes()[:text.Len()-sha256.Size], byte(i))
	}
	f.Fuzz(func(t *testing.T, b []byte, which byte) {
		d := pairs()[which%2][0]
		sum := sha256.Sum256(b)
		if d.Load(bytes.NewReader(append(bytes.Clone(b), sum[:]...))) != nil {
			return
		}
		for n := range 200 {
			d.Add(float64(n % 3))
		}
	})
}
