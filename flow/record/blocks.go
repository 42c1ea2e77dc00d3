package record

import "math/rand/v2"

// Blocks is the order in which a stream of Rows rows is played several times with one block in
// memory. The first epoch has the order of the stream. In each later epoch the blocks of Size
// rows come in a random order, and so do the rows of each block: the order of operators.Replay.
type Blocks struct {
	Rows int64
	Size int
	Seed uint64
}

// Order returns the numbers of the blocks, in the order of an epoch.
func (b Blocks) Order(epoch int) []int32 {
	order := make([]int32, (b.Rows+int64(b.Size)-1)/int64(b.Size))
	for i := range order {
		order[i] = int32(i)
	}
	if epoch > 0 {
		rng := rand.New(rand.NewPCG(b.Seed, uint64(epoch)))
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	return order
}

// Within returns the numbers of the rows of a block, in the order of an epoch.
func (b Blocks) Within(epoch int, block int32) []int64 {
	from := int64(block) * int64(b.Size)
	rows := make([]int64, min(int64(b.Size), b.Rows-from))
	for i := range rows {
		rows[i] = from + int64(i)
	}
	if epoch > 0 {
		rng := rand.New(rand.NewPCG(b.Seed+uint64(epoch)<<32, uint64(block)+1<<63))
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	return rows
}
