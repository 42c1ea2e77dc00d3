package nn

import (
	"sync"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// A large batch is cut into parts of up to maxPart rows, an even number of them
// and at most maxParts. The cut depends on the rows alone, each part is computed
// by itself, and gradients are added in the order of the parts: the result is
// the same, to the last bit, whoever computes which part.
//
// Parts of 64 rows keep the dense layers' products within a few percent of their
// speed on the whole batch (BenchmarkTrain), and adding up their gradients cheap.
const (
	maxPart  = 64
	maxParts = 16
)

// parts is how many parts a batch is cut into.
func parts(rows int) int {
	if rows <= maxPart {
		return 1
	}
	return min(maxParts, 2*((rows+2*maxPart-1)/(2*maxPart)))
}

// team is the goroutines that share the steps of a model. Between steps there
// are none.
type team struct {
	core     *core
	workers  int
	replicas []*replica // one per goroutine, beside core.work, which takes part 0

	// The step.
	batch batch
	parts int

	mu      sync.Mutex
	turn    sync.Cond // added has grown
	taken   int       // parts that a goroutine has taken
	added   int       // parts that are in the sums below and in the gradients
	seen    tally
	learned float64
	err     error
	panics  any
}

// learn does what replica.learn does for a whole batch. The gradients are those
// of core.work.
func (t *team) learn(b batch) (seen tally, learned float64, err error) {
	n := parts(b.rows)
	if n == 1 {
		return t.core.work.learn(b, t.core.steps, 0, b.rows)
	}
	workers := min(t.workers, n)
	for len(t.replicas) < workers {
		r := lay(t.core.arch, t.core.shape)
		r.share(t.core.work.w)
		t.replicas = append(t.replicas, r)
	}
	t.batch, t.parts, t.taken, t.added = b, n, 0, 0
	t.seen, t.learned, t.err, t.panics = tally{}, 0, nil, nil
	t.turn.L = &t.mu
	var others sync.WaitGroup
	for _, r := range t.replicas[1:workers] {
		others.Add(1)
		go func() {
			defer others.Done()
			t.work(r)
		}()
	}
	t.work(t.replicas[0])
	others.Wait()
	t.batch = batch{} // it is the caller's
	if t.panics != nil {
		panic(t.panics)
	}
	return t.seen, t.learned, t.err
}

// work computes parts until none is left.
func (t *team) work(r *replica) {
	for {
		t.mu.Lock()
		i := t.taken
		t.taken++
		t.mu.Unlock()
		if i >= t.parts {
			return
		}
		t.part(i, r)
	}
}

// part computes part i, then waits until those before it have been added. A
// panic is kept for the caller of learn, on whose goroutine it may be recovered.
func (t *team) part(i int, r *replica) {
	var seen tally
	var learned float64
	var err error
	defer func() {
		p := recover()
		t.mu.Lock()
		defer t.mu.Unlock()
		for t.added != i {
			t.turn.Wait()
		}
		t.seen.add(seen)
		t.learned += learned
		if t.err == nil {
			t.err = err
		}
		if t.panics == nil {
			t.panics = p
		}
		if i > 0 && t.err == nil && t.panics == nil {
			kernel.Axpy(1, r.g, t.core.work.g)
		}
		t.added++
		t.turn.Broadcast()
	}()
	if i == 0 {
		r = t.core.work // whose gradients are the sum
	}
	from, to := i*t.batch.rows/t.parts, (i+1)*t.batch.rows/t.parts
	seen, learned, err = r.learn(t.batch.cut(t.core.shape, from, to), t.core.steps, from, t.batch.rows)
}

// cut returns rows from to to-1 of a batch. It shares its memory.
func (b batch) cut(s Shape, from, to int) batch {
	c := batch{rows: to - from}
	c.nodes = b.nodes.cut(s.vertices(), from, to)
	c.edges = b.edges.cut(s.edges(), from, to)
	if b.targets != nil {
		c.targets = b.targets[from:to]
	}
	if b.values != nil {
		c.values = b.values[from:to]
	}
	return c
}

// cut does for one layer what cut does for a batch.
func (in inputs) cut(c cells, from, to int) inputs {
	n := c.w * c.n
	cut := inputs{sparse: in.sparse}
	if in.cats != nil {
		cut.cats = in.cats[from*c.width() : to*c.width()]
	}
	if in.attrs != nil {
		cut.attrs = in.attrs[from*n*c.attrs : to*n*c.attrs]
	}
	if in.offsets != nil {
		cut.offsets = in.offsets[from*n : to*n+1]
	}
	return cut
}
