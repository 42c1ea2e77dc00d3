package sources

import (
	"cmp"
	"fmt"
	"sync"
	"unsafe"

	"github.com/sanflow/sanflow/flow/graph"
)

// budget is how many bytes a reader may take for what its text stands for, by any goroutine: a
// short text can stand for a large graph. They are charged before they are
// allocated.
type budget struct {
	mu         sync.Mutex
	left, most int64
}

func (b *budget) take(bytes int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes < 0 || bytes > b.left {
		return fmt.Errorf("more than %d bytes of memory; raise Memory if that is right", b.most)
	}
	b.left -= bytes
	return nil
}

func (b *budget) give(bytes int64) {
	b.mu.Lock()
	b.left += bytes
	b.mu.Unlock()
}

// newBudget returns the one that a setting Memory stands for.
func newBudget(kind string, memory, usual int64) (*budget, error) {
	if memory < 0 {
		return nil, fmt.Errorf("sources: %s: Memory is %d, want at least 0", kind, memory)
	}
	most := cmp.Or(memory, usual)
	return &budget{left: most, most: most}, nil
}

// take charges bytes, and blames the line read last if there are not that many.
func (l *lines) take(bytes int64) error {
	if l.budget != nil && l.budget.take(bytes) != nil {
		return l.errorf("more than %d bytes of memory up to here; raise Memory if that is right", l.budget.most)
	}
	return nil
}

func (l *lines) give(bytes int64) {
	if l.budget != nil {
		l.budget.give(bytes)
	}
}

// room is working memory that is used again: what it grows by is charged.
type room int64

func (r *room) atLeast(l *lines, bytes int64) error {
	more := room(bytes) - *r
	if more <= 0 {
		return nil
	}
	*r += more
	return l.take(int64(more))
}

// grow returns s with room for n values more.
func grow[T any](l *lines, s []T, n int) ([]T, error) {
	if n <= cap(s)-len(s) {
		return s, nil
	}
	size := int64(unsafe.Sizeof(*new(T)))
	want := max(len(s)+n, cap(s)+cap(s)/2, 16)
	if err := l.take(int64(want) * size); err != nil {
		return s, err
	}
	t := make([]T, len(s), want)
	copy(t, s)
	l.give(int64(cap(s)) * size)
	return t, nil
}

// push appends one value.
func push[T any](l *lines, s []T, x T) (_ []T, err error) {
	if len(s) == cap(s) {
		if s, err = grow(l, s, 1); err != nil {
			return s, err
		}
	}
	return append(s, x), nil
}

// pulse asks now and then whether a long loop should go on.
type pulse struct {
	alive func() error
	left  int
}

// beat accounts for n steps.
func (p *pulse) beat(n int) error {
	if p.left -= n; p.left > 0 || p.alive == nil {
		return nil
	}
	p.left = 1 << 20
	return p.alive()
}

// recordSize is what the record under construction takes. It ends early where
// the graphs in it are large.
type recordSize struct {
	rows int64 // bytes of the graphs in it
	room room
}

// full reports whether a record with a graph in it should go on without g.
func (r *recordSize) full(l *lines, g *graph.Graph) bool {
	return l.budget != nil && r.rows+g.Bytes() > l.budget.most/8
}

// add charges for a copy of g in the record, whose buffers grow by doubling.
func (r *recordSize) add(l *lines, g *graph.Graph) error {
	r.rows += g.Bytes()
	return r.room.atLeast(l, 2*r.rows)
}
