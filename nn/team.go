package nn

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A large batch is divided into parts of up to maxPart rows: an even number of parts, at most maxParts.
// The division depends on the number of rows alone, and gradients are added in the order of the parts,
// so any assignment of parts to workers gives the same bits.
//
// With parts of 64 rows the products of dense layers keep their speed within a few percent
// (BenchmarkTrain), and adding gradients is cheap.
const (
	maxPart  = 64
	maxParts = 16
)

func parts(rows int) int {
	if rows <= maxPart {
		return 1
	}
	return min(maxParts, 2*((rows+2*maxPart-1)/(2*maxPart)))
}

// linger is how long an idle goroutine polls for work before it ends or sleeps. It is longer than the pause
// between two steps, because waking a processor can take as long as a step.
const linger = 200 * time.Microsecond

// team is the goroutines that share the steps of a model: the caller of learn, and helpers, which end after
// linger without a step.
type team struct {
	learner *learner
	workers int
	own     *replica   // replica of the caller of learn; learner.work computes part 0
	free    []*replica // replicas without a part to compute, kept for reuse

	mu      sync.Mutex
	turn    sync.Cond // signals that added has grown
	helpers int
	round   atomic.Int64 // number of the step
	added   atomic.Int64 // number of parts whose results are in seen, learned and the gradients

	// The current step.
	batch   batch
	parts   int
	taken   int // number of parts that a goroutine has taken
	seen    tally
	learned float64
	err     error
	panics  any
}

// learn is replica.learn for a whole batch. The gradients are in learner.work.
func (t *team) learn(b batch) (seen tally, learned float64, err error) {
	n := parts(b.rows)
	if n == 1 {
		return t.learner.work.learn(b, t.learner.steps, 0, b.rows)
	}
	t.begin(b, n)
	t.work(t.own)
	t.await(n)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.batch = batch{} // the memory of the batch belongs to the caller
	if t.panics != nil {
		panic(t.panics)
	}
	return t.seen, t.learned, t.err
}

// begin starts a step over a batch of n parts.
func (t *team) begin(b batch, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.own == nil {
		t.turn.L = &t.mu
		t.own = t.replica()
	}
	t.batch, t.parts, t.taken = b, n, 0
	t.seen, t.learned, t.err, t.panics = tally{}, 0, nil, nil
	t.added.Store(0)
	t.round.Add(1)
	for ; t.helpers < min(t.workers, n)-1; t.helpers++ {
		go t.help(t.replica())
	}
}

// replica returns a replica that no goroutine uses, from free or a new one.
func (t *team) replica() *replica {
	if n := len(t.free); n > 0 {
		r := t.free[n-1]
		t.free = t.free[:n-1]
		return r
	}
	r := lay(t.learner.arch, t.learner.shape)
	r.Share(t.learner.work.W)
	return r
}

// help computes parts of one step after the other, and ends after linger without a step.
func (t *team) help(r *replica) {
	for {
		round := t.round.Load()
		t.work(r)
		for start := time.Now(); t.round.Load() == round && time.Since(start) < linger; {
			runtime.Gosched()
		}
		t.mu.Lock()
		if t.round.Load() == round {
			t.helpers--
			t.free = append(t.free, r)
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
	}
}

// work computes parts until none is left.
func (t *team) work(r *replica) {
	for {
		t.mu.Lock()
		i := t.taken
		if i >= t.parts {
			t.mu.Unlock()
			return
		}
		t.taken++
		t.mu.Unlock()
		t.part(i, r)
	}
}

// part computes part i, then waits until all parts before it are added. A panic is kept for the caller of
// learn, whose goroutine can recover it.
func (t *team) part(i int, r *replica) {
	var seen tally
	var learned float64
	var err error
	defer func() {
		p := recover()
		t.await(i)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.seen.add(seen)
		t.learned += learned
		if t.err == nil {
			t.err = err
		}
		if t.panics == nil {
			t.panics = p
		}
		if i > 0 && t.err == nil && t.panics == nil {
			t.learner.work.addGrad(r)
		}
		t.added.Add(1)
		t.turn.Broadcast()
	}()
	if i == 0 {
		r = t.learner.work // the gradients of learner.work are the sum over all parts
	}
	from, to := i*t.batch.rows/t.parts, (i+1)*t.batch.rows/t.parts
	seen, learned, err = r.learn(t.batch.cut(t.learner.shape, from, to), t.learner.steps, from, t.batch.rows)
}

// await waits until n parts are added.
func (t *team) await(n int) {
	done := func() bool { return t.added.Load() >= int64(n) }
	for start := time.Now(); !done(); runtime.Gosched() {
		if time.Since(start) < linger {
			continue
		}
		t.mu.Lock()
		for !done() {
			t.turn.Wait()
		}
		t.mu.Unlock()
	}
}

// cut returns rows from to to-1 of a batch. They share its memory.
func (b batch) cut(s Shape, from, to int) batch {
	c := batch{rows: to - from, unit: b.unit, learned: b.learned}
	c.nodes = b.nodes.Cut(s.nodes(), from, to)
	c.edges = b.edges.Cut(s.edges(), from, to)
	if b.counts != nil {
		c.counts = b.counts.part(from, to)
	}
	if b.targets != nil {
		c.targets = b.targets[from:to]
	}
	if b.values != nil {
		c.values = b.values[from:to]
	}
	if b.predicted != nil {
		n := max(1, s.Classes)
		c.predicted = b.predicted[from*n : to*n]
	}
	return c
}
