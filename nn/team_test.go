package nn

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/internal/leak"
)

func TestParts(t *testing.T) {
	for rows := 1; rows < 5000; rows++ {
		n := parts(rows)
		if n > 1 && n%2 != 0 || n > maxParts {
			t.Fatalf("%d rows are cut into %d parts", rows, n)
		}
		if size := (rows + n - 1) / n; size > maxPart && n < maxParts {
			t.Fatalf("%d rows are cut into %d parts of up to %d", rows, n, size)
		}
	}
}

// everything has every kind of channel.
var everything = Shape{W: 5, K: 3, Cats: []int{3, 2}, Attrs: 2, Sparse: 7, EdgeCats: []int{4}, EdgeAttrs: 1, Classes: 3}

func TestWorkers(t *testing.T) {
	defer leak.VerifyNone(t)
	for _, m := range modelCases {
		t.Run(m.name, func(t *testing.T) {
			var wantHash string
			var wantResults []Result
			for _, workers := range []int{1, 2, 5, 40} {
				net := m.new()
				if err := net.Init(m.s); err != nil {
					t.Fatal(err)
				}
				c := learnerOf(net)
				c.team.workers = workers
				var results []Result
				for i, rows := range []int{65, 1, 128, 64, 600} {
					r, err := c.step(randomBatch(m.s, rows, uint64(i)))
					if err != nil {
						t.Fatal(err)
					}
					results = append(results, r)
				}
				if wantHash == "" {
					wantHash, wantResults = c.Hash(), results
				}
				if c.Hash() != wantHash || !slices.Equal(results, wantResults) {
					t.Errorf("%d workers: %s %v, want %s %v", workers, c.Hash(), results, wantHash, wantResults)
				}
			}
		})
	}
}

// Parts add up to the gradient of the whole, up to rounding.
func TestPartsAddUp(t *testing.T) {
	c := &CNN{Seed: 3, Dropout: -1, Workers: 3}
	if err := c.Init(everything); err != nil {
		t.Fatal(err)
	}
	b := randomBatch(everything, 200, 5)
	seen, learned, err := c.team.learn(b)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Clone(c.work.G)
	wantSeen, wantLearned, err := c.work.learn(b, 0, 0, b.rows)
	if err != nil {
		t.Fatal(err)
	}
	if seen.rows != 200 || seen.correct != wantSeen.correct ||
		math.Abs(seen.loss-wantSeen.loss) > 1e-4*wantSeen.loss || math.Abs(learned-wantLearned) > 1e-4*wantLearned {
		t.Errorf("parts give %+v, %v, the whole %+v, %v", seen, learned, wantSeen, wantLearned)
	}
	for i, want := range c.work.G {
		if d := math.Abs(float64(got[i] - want)); d > 1e-4*(0.1+math.Abs(float64(want))) {
			t.Fatalf("gradient %d of the parts is %v, of the whole %v", i, got[i], want)
		}
	}
}

// The error names the first bad row, whichever worker finds it, and the model is unchanged.
func TestWorkersError(t *testing.T) {
	defer leak.VerifyNone(t)
	for _, workers := range []int{1, 4} {
		c := &CNN{Workers: workers}
		if err := c.Init(everything); err != nil {
			t.Fatal(err)
		}
		hash := c.Hash()
		b := randomBatch(everything, 300, 1)
		width := everything.nodes().Width()
		b.nodes.Cats[299*width] = 9
		b.nodes.Cats[130*width] = 9
		_, err := c.step(b)
		var row *RowError
		if !errors.As(err, &row) || row.Row != 130 {
			t.Errorf("%d workers: %v, want an error in row 130", workers, err)
		}
		b = randomBatch(everything, 300, 1)
		b.nodes.Attrs[200*5*3*2] = float32(math.NaN())
		if _, err := c.step(b); !errors.As(err, &row) || row.Row != 200 || !strings.Contains(err.Error(), "NaN") {
			t.Errorf("%d workers: %v, want NaN in row 200", workers, err)
		}
		if c.Hash() != hash || c.Seen() != 0 {
			t.Errorf("%d workers: the model has changed", workers)
		}
		if _, err := c.step(randomBatch(everything, 300, 2)); err != nil {
			t.Errorf("%d workers: after errors: %v", workers, err)
		}
	}
}

// A panic of a part reaches the caller of Step, where it can be recovered.
func TestWorkersPanic(t *testing.T) {
	defer leak.VerifyNone(t)
	c := &CNN{Workers: 4}
	if err := c.Init(everything); err != nil {
		t.Fatal(err)
	}
	b := randomBatch(everything, 300, 1)
	if _, err := c.step(b); err != nil {
		t.Fatal(err)
	}
	b.targets[250] = 77 // beyond what check has let pass
	defer func() {
		if recover() == nil {
			t.Error("the panic was lost")
		}
	}()
	c.team.learn(b)
}

func TestWorkersSetting(t *testing.T) {
	c := &CNN{Workers: -1}
	if err := c.Init(small); err == nil || err.Error() != "Workers is -1, want a positive number" {
		t.Errorf("%v", err)
	}
}
