package reading

import (
	"unsafe"
)

// chunks is a long list that grows without being moved.
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
			if last < 0 { // a short table
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
