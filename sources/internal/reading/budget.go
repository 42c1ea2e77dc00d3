package reading

import (
	"cmp"
	"fmt"
	"sync"
	"unsafe"

	"github.com/sanflow/sanflow/flow/graph"
)

// Budget bounds the bytes that a reader allocates for parsed data, since a short text can describe a large
// graph. Bytes are charged before their allocation. It is safe for concurrent use.
type Budget struct {
	mu         sync.Mutex
	Left, Most int64
}

func (b *Budget) Take(bytes int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes < 0 || bytes > b.Left {
		return fmt.Errorf("more than %d bytes of memory; raise Memory if that is right", b.Most)
	}
	b.Left -= bytes
	return nil
}

func (b *Budget) Give(bytes int64) {
	b.mu.Lock()
	b.Left += bytes
	b.mu.Unlock()
}

// NewBudget returns the budget of a setting Memory.
func NewBudget(kind string, memory, usual int64) (*Budget, error) {
	if memory < 0 {
		return nil, fmt.Errorf("sources: %s: Memory is %d, want at least 0", kind, memory)
	}
	most := cmp.Or(memory, usual)
	return &Budget{Left: most, Most: most}, nil
}

// Take charges bytes. Its error names the last line read.
func (l *Lines) Take(bytes int64) error {
	if l.Budget != nil && l.Budget.Take(bytes) != nil {
		return l.Errorf("more than %d bytes of memory up to here; raise Memory if that is right", l.Budget.Most)
	}
	return nil
}

func (l *Lines) Give(bytes int64) {
	if l.Budget != nil {
		l.Budget.Give(bytes)
	}
}

// Room is the size of a reused buffer. Only its growth is charged.
type Room int64

func (r *Room) AtLeast(l *Lines, bytes int64) error {
	more := Room(bytes) - *r
	if more <= 0 {
		return nil
	}
	*r += more
	return l.Take(int64(more))
}

// Grow returns s with capacity for n more values.
func Grow[T any](l *Lines, s []T, n int) ([]T, error) {
	if n <= cap(s)-len(s) {
		return s, nil
	}
	size := int64(unsafe.Sizeof(*new(T)))
	want := max(len(s)+n, cap(s)+cap(s)/2, 16)
	if err := l.Take(int64(want) * size); err != nil {
		return s, err
	}
	t := make([]T, len(s), want)
	copy(t, s)
	l.Give(int64(cap(s)) * size)
	return t, nil
}

// Push appends one value and charges the growth.
func Push[T any](l *Lines, s []T, x T) (_ []T, err error) {
	if len(s) == cap(s) {
		if s, err = Grow(l, s, 1); err != nil {
			return s, err
		}
	}
	return append(s, x), nil
}

// Pulse calls Alive once per 2²⁰ steps of a long loop.
type Pulse struct {
	Alive func() error
	left  int
}

// Beat counts n steps.
func (p *Pulse) Beat(n int) error {
	if p.left -= n; p.left > 0 || p.Alive == nil {
		return nil
	}
	p.left = 1 << 20
	return p.Alive()
}

// recordSize tracks the memory of the record under construction.
type recordSize struct {
	rows int64 // bytes of the graphs in the record
	room Room
}

// full reports whether g should start a new record: large graphs end a record early.
func (r *recordSize) full(l *Lines, g *graph.Graph) bool {
	return l.Budget != nil && r.rows+g.Bytes() > l.Budget.Most/8
}

// add charges a copy of g. Buffers double, hence the factor 2.
func (r *recordSize) add(l *Lines, g *graph.Graph) error {
	r.rows += g.Bytes()
	return r.room.AtLeast(l, 2*r.rows)
}

// Chunks is an append-only list that never moves its elements.
type Chunks[T any] struct {
	Parts  [][]T
	Budget *Budget
}

const chunkBits = 16

func (c *Chunks[T]) Append(list []T) error {
	for len(list) > 0 {
		last := len(c.Parts) - 1
		if last < 0 || len(c.Parts[last]) == 1<<chunkBits {
			size := 1 << chunkBits
			if last < 0 { // small tables get a small first chunk
				size = min(size, max(256, len(list)))
			}
			if err := c.Budget.Take(int64(size) * int64(unsafe.Sizeof(list[0]))); err != nil {
				return err
			}
			c.Parts = append(c.Parts, make([]T, 0, size))
			last++
		}
		n := min(len(list), 1<<chunkBits-len(c.Parts[last]))
		c.Parts[last] = append(c.Parts[last], list[:n]...)
		list = list[n:]
	}
	return nil
}

func (c *Chunks[T]) At(i int) T { return c.Parts[i>>chunkBits][i&(1<<chunkBits-1)] }

func (c *Chunks[T]) Len() int {
	if len(c.Parts) == 0 {
		return 0
	}
	return (len(c.Parts)-1)<<chunkBits + len(c.Parts[len(c.Parts)-1])
}
