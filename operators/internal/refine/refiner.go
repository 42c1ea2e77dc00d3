package refine

// Refiner is an ordered partition with the worklist and the scratch memory of refinement, which it
// reuses for the next graph. The zero value is ready. A Refiner is not safe for concurrent use.
type Refiner struct {
	Partition

	// Tracing appends to Trace a description of every split in terms of positions and counts. Two
	// nodes whose individualisation leaves different traces are not images of each other. The
	// caller empties Trace.
	Tracing bool
	Trace   []int32

	// Stop, if not nil, is called now and then. If it returns true, Number, Refine and Search end
	// early; their results are then undefined.
	Stop func() bool

	queue  []int32 // ring of names of cells, of length n
	head   int
	length int
	queued []bool // by name: the cell is in queue

	count   []int32 // by node: number of neighbours in the splitter; zero between calls
	touched []int32 // by name: number of nodes of the cell with a count; zero between calls
	hit     []int32 // names of the cells with touched nodes
	members []int32 // copy of the splitter, since a split permutes it
	arcs    []uint64
	keys    []uint64 // scratch of sortByCount
	bounds  []int32  // boundaries of the fragments of a cell

	// The fields up to rest serve Number alone.
	rule   int
	noting int32   // number of the round, from 1; 0 outside Number
	stamp  []int32 // by name: last round that stored the cell in origin
	origin []span  // cells that this round has split
	parts  []int32 // splitters of the round
	rest   []int32 // by node: number of unread entries of its list

	branches []branch // scratch of Alike
}

// Reset sets r to the partition of 0 … n-1 into one cell, with an empty worklist.
func (r *Refiner) Reset(n int) {
	r.Partition.Reset(n)
	r.grow(n)
}

// CopyFrom sets r to the partition q, with an empty worklist. O(n).
func (r *Refiner) CopyFrom(q *Partition) {
	r.Partition.CopyFrom(q)
	r.grow(q.N())
}

// grow makes room for n nodes and empties the worklist. Arrays that are zero between calls stay
// zero, since only fresh memory extends them.
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

// QueueAll adds every cell to the worklist, in order.
func (r *Refiner) QueueAll() {
	for i := 0; i < len(r.Elems); {
		c := r.cell[r.Elems[i]]
		r.push(c)
		i += int(r.size[c])
	}
}

// Individualize splits v off in front of its cell and adds the new cell to the worklist.
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

// Refine splits cells until the worklist is empty. After QueueAll the result is the coarsest stable
// refinement of the partition. O((n+m) log n).
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
