package count

import "github.com/sanflow/sanflow/flow/graph"

// lister lists sets of nodes: all of a size, or those that are connected, each
// once (Wernicke 2006, algorithm ESU: a set is met from its smallest node, and a
// node joins only if it is larger and not near to those that were there before the
// one that it is met from).
type lister struct {
	in    Input
	g     *graph.Graph
	near  *nearness
	size  int
	all   bool
	left  int // sets that may still be met; negative: any number
	found func(nodes []int32)

	nodes     []int32
	extension []int32
	marked    []bool // nodes in the set, near to it, or too small
	met       int
	stopped   bool
	err       error
}

// run reports whether it came to the end, with no more sets than were allowed.
func (l *lister) run() (done bool, err error) {
	n := l.g.N()
	if len(l.marked) < n {
		l.marked = make([]bool, n)
	}
	for v := range int32(n) {
		if l.all {
			l.nodes = append(l.nodes[:0], v)
			l.sets(v)
		} else {
			l.connected(v)
		}
		if l.stopped {
			break
		}
	}
	clear(l.marked[:n])
	return !l.stopped, l.err
}

// meet counts the set in hand.
func (l *lister) meet() {
	if l.left == 0 {
		l.stopped = true
		return
	}
	if l.left > 0 {
		l.left--
	}
	if l.met++; l.met%4096 == 0 && l.in.Err() != nil {
		l.stopped, l.err = true, l.in.Err()
		return
	}
	l.found(l.nodes)
}

// sets completes the set in hand by larger nodes.
func (l *lister) sets(last int32) {
	if len(l.nodes) == l.size {
		l.meet()
		return
	}
	for v := last + 1; int(v) < l.g.N() && !l.stopped; v++ {
		l.nodes = append(l.nodes, v)
		l.sets(v)
		l.nodes = l.nodes[:len(l.nodes)-1]
	}
}

// connected lists the connected sets whose smallest node is v. Nodes below v stay
// marked.
func (l *lister) connected(v int32) {
	l.marked[v] = true
	l.nodes, l.extension = append(l.nodes[:0], v), l.extension[:0]
	for _, u := range l.g.Adj(v) {
		if !l.marked[u] {
			l.marked[u] = true
			l.extension = append(l.extension, u)
		}
	}
	n := len(l.extension)
	l.extend(0)
	for _, u := range l.extension[:n] {
		l.marked[u] = false
	}
}

// extend adds each of the nodes in l.extension[from:], after which those before it
// are out.
func (l *lister) extend(from int) {
	end := len(l.extension)
	if len(l.nodes)+1 == l.size {
		for i := from; i < end && !l.stopped; i++ {
			l.nodes = append(l.nodes, l.extension[i])
			l.meet()
			l.nodes = l.nodes[:len(l.nodes)-1]
		}
		return
	}
	for i := from; i < end && !l.stopped; i++ {
		w := l.extension[i]
		l.nodes = append(l.nodes, w)
		// The next call sees what is left of the extension and what only w is
		// near to, one behind the other.
		begin := len(l.extension)
		l.extension = append(l.extension, l.extension[i+1:end]...)
		fresh := len(l.extension)
		for _, u := range l.g.Adj(w) {
			if !l.marked[u] {
				l.marked[u] = true
				l.extension = append(l.extension, u)
			}
		}
		l.extend(begin)
		for _, u := range l.extension[fresh:] {
			l.marked[u] = false
		}
		l.extension = l.extension[:begin]
		l.nodes = l.nodes[:len(l.nodes)-1]
	}
}
