package refine

// Refiner is an ordered partition with the worklist and the scratch memory
// that refinement needs. The zero value is ready; a Refiner is not safe for
// concurrent use, and keeps its memory for the next graph.
type Refiner struct {
	Partition

	// Tracing makes every split append to Trace what happened, in terms of
	// positions and counts: two nodes whose individualisation leaves different
	// traces are not alike. The caller empties Trace.
	Tracing bool
	Trace   []int32

	// Stop, if not nil, is asked now and then, and ends Number, Refine and
	// Search early once it is true. What they leave is then of no use.
	Stop func() bool

	queue  []int32 // names of cells, a ring that is never longer than n
	head   int
	length int
	queued []bool // by name

	count   []int32 // by node: neighbours in the splitter; zero between calls
	touched []int32 // by name: nodes of the cell with count > 0; zero between calls
	hit     []int32 // names of touched cells
	members []int32 // the splitter, copied since splitting permutes it
	arcs    []uint64
	keys    []uint64 // scratch of sortByCount
	bounds  []int32  // fragments of the cell being split

	// Number only.
	rule   int
	noting int32   // the round, from 1; 0 outside Number
	stamp  []int32 // by name: last round that noted the cell
	origin []span  // cells that this round has split
	parts  []int32 // splitters of the round
	rest   []int32 // by node: length of its list that is not read yet

	branches []branch // scratch of Alike
	joints   []joint
}

// Reset makes r the partition of 0 … n-1 into one cell, with an empty
// worklist.
func (r *Refiner) Reset(n int) {
	r.Partition.Reset(n)
	r.grow(n)
}

// CopyFrom makes r the partition q, with an empty worklist. O(n).
func (r *Refiner) CopyFrom(q *Partition) {
	r.Partition.CopyFrom(q)
	r.grow(q.N())
}

// grow makes room for n nodes and empties the worklist. The arrays that are
// zero between calls stay so: only fresh memory is ever longer.
func (r *Refiner) grow(n int) {
	r.drop()
	r.head = 0
	if len(r.queue) < n {
		size := n + n/2
		r.queue = make([]int32, size)
		r.queued = make([]bool, size)
		r.count = make([]int32, size)
		r.touched = make([]int32, size)
	}
}

func (r *Refiner) push(name int32) {
	if r.queued[name] {
		return
	}
	r.queued[name] = true
	at := r.head + r.length
	if at >= len(r.queue) {
		at -= len(r.queue)
	}
	r.queue[at] = name
	r.length++
}

func (r *Refiner) pop() int32 {
	name := r.queue[r.head]
	if r.head++; r.head == len(r.queue) {
		r.head = 0
	}
	r.length--
	r.queued[name] = false
	return name
}

// QueueAll puts every cell into the worklist, in order.
func (r *Refiner) QueueAll() {
	for i := 0; i < len(r.Elems); {
		c := r.cell[r.Elems[i]]
		r.push(c)
		i += int(r.size[c])
	}
}

// Individualize moves v into a cell of its own in front of the rest of its
// cell, and puts that cell into the worklist.
func (r *Refiner) Individualize(v int32) {
	c := r.cell[v]
	if r.size[c] == 1 {
		return
	}
	r.swap(v, r.first[c])
	name := r.cells
	r.cells++
	r.first[name], r.size[name], r.cell[v] = r.first[c], 1, name
	r.first[c]++
	r.size[c]--
	r.push(name)
}

// Refine splits cells until the worklist is empty. After QueueAll the result
// is the coarsest stable partition finer than the one given. O((n+m) log n).
func (r *Refiner) Refine(g Rows) {
	for i := 1; r.length > 0; i++ {
		if r.Discrete() || i%256 == 0 && r.stopped() {
			r.drop()
			return
		}
		c := r.pop()
		r.splitBy(g, r.Elems[r.first[c]:r.first[c]+r.size[c]])
	}
}

func (r *Refiner) stopped() bool { return r.Stop != nil && r.Stop() }

// drop empties the worklist.
func (r *Refiner) drop() {
	for r.length > 0 {
		r.pop()
	}
}
