package drift

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// streams counts alarms before the change and how late it is found, over seeds.
func streams(rise bool, change float64, seeds int) (false_, found int, delay float64) {
	for seed := range uint64(seeds) {
		rng, d, done := rand.New(rand.NewPCG(seed, 99)), &ADWIN{Rise: rise}, false
		for i := range 20000 {
			p := 0.3
			if i >= 10000 {
				p += change
			}
			x := 0.0
			if rng.Float64() < p {
				x = 1
			}
			if _, ok := d.Add(x); ok {
				if i < 10000 || change == 0 {
					false_++
				} else if !done {
					done = true
					found++
					delay += float64(i - 10000)
				}
			}
		}
	}
	return false_, found, delay / math.Max(1, float64(found))
}

func TestRatesAndDelays(t *testing.T) {
	seeds := 4
	if os.Getenv("SANFLOW_LONG") != "" {
		seeds = 100
	}
	for _, rise := range []bool{false, true} {
		wrong, _, _ := streams(rise, 0, seeds)
		line := fmt.Sprintf("rise %-5t %d false alarms in %d streams of 20 000;", rise, wrong, seeds)
		if wrong > seeds/4 {
			t.Errorf("rise %t: %d false alarms in %d streams", rise, wrong, seeds)
		}
		for _, change := range []float64{0.05, 0.1, 0.2} {
			_, found, delay := streams(rise, change, seeds)
			line += fmt.Sprintf(" %.2f: found %d, delay %.0f;", change, found, delay)
			if change > 0.05 && (found < seeds || delay > 2000) {
				t.Errorf("rise %t: a change by %v was found in %d of %d streams after %.0f", rise, change, found, seeds, delay)
			}
		}
		t.Log(line)
	}
}

// With Rise the alarms are those of a detector without it at which the mean rose.
func TestRise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	all, rises := &ADWIN{}, &ADWIN{Rise: true}
	up, down := 0, 0
	for i := range 12_000 {
		x := rng.Float64()/4 + float64(i/1500%2)/2
		want, ok := all.Add(x)
		got, risen := rises.Add(x)
		if risen != (ok && want.After > want.Before) || risen && got != want {
			t.Fatalf("number %d: %+v %t, want %+v %t", i, got, risen, want, ok)
		}
		if risen {
			up++
		} else if ok {
			down++
		}
	}
	if up < 3 || down < 3 {
		t.Errorf("%d rises and %d falls", up, down)
	}
}

// The histogram has the sum and the variance of the window that it stands for.
func TestWindow(t *testing.T) {
	a, rng := &ADWIN{delta: 1e-9}, rand.New(rand.NewPCG(1, 1))
	var all []float64
	for i := range 5000 {
		x := rng.Float64()
		if i > 4000 {
			x *= 0.1
		}
		a.Add(x)
		all = append(all, x)
	}
	if a.n >= 4000 || a.n < 900 {
		t.Errorf("%d numbers in the window, want those after the change", a.n)
	}
	all = all[int64(len(all))-a.n:]
	mean, squares := 0.0, 0.0
	for _, x := range all {
		mean += x / float64(len(all))
	}
	for _, x := range all {
		squares += (x - mean) * (x - mean)
	}
	if math.Abs(mean-a.mean()) > 1e-9 || math.Abs(squares-a.variance) > 1e-6 {
		t.Errorf("mean %v, squares %v, want %v and %v", a.mean(), a.variance, mean, squares)
	}
	count := 0
	for i, row := range a.rows {
		count += len(row) << i
	}
	if count != len(all) || len(a.rows) > 16 {
		t.Errorf("%d numbers in %d rows, want %d", count, len(a.rows), len(all))
	}
}

func TestMeans(t *testing.T) {
	var alarms []Alarm
	d := &ADWIN{}
	for i := range 4000 {
		x := 0.0
		if i%10 < 2+i/2000*4 { // 0.2, then 0.6
			x = 1
		}
		if a, ok := d.Add(x); ok {
			alarms = append(alarms, a)
		}
	}
	if len(alarms) == 0 {
		t.Fatal("no alarm")
	}
	if a := alarms[0]; a.Position < 2000 || a.Position > 2400 || math.Abs(a.Before-0.2) > 0.06 || a.After < a.Before+0.05 {
		t.Errorf("%+v", a)
	}
}

// With one bucket of each size there can be rows without buckets.
func TestOneBucket(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 9))
		a, mean := &ADWIN{m: 1, clock: 1, delta: 0.3}, 0.0
		for range 3000 {
			if rng.IntN(100) == 0 {
				mean = rng.Float64()
			}
			a.Add(mean + rng.Float64()/10)
		}
	}
}

// A window that is written and read goes on to the same alarms.
func TestJSON(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	whole, cut := &ADWIN{Rise: true}, &ADWIN{Rise: true}
	alarms := 0
	for i := range 6000 {
		x := 0.0
		if rng.Float64() < 0.1+0.3*float64(i/2000%2) {
			x = 1
		}
		want, isWanted := whole.Add(x)
		got, ok := cut.Add(x)
		if ok != isWanted || got != want {
			t.Fatalf("number %d: %+v %t, want %+v %t", i, got, ok, want, isWanted)
		}
		if ok {
			alarms++
		}
		if i%333 == 0 {
			text, err := json.Marshal(struct{ Errors ADWIN }{*cut})
			if err != nil {
				t.Fatal(err)
			}
			next := struct{ Errors ADWIN }{ADWIN{Rise: true}}
			if err := json.Unmarshal(text, &next); err != nil {
				t.Fatal(err)
			}
			cut = &next.Errors
		}
	}
	if alarms == 0 {
		t.Error("there was no alarm")
	}
}
