package main

import (
	"context"
	"math"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/operators/spread"
)

// smoothing is what was chosen.
type smoothing struct {
	share float64 // see spread.Walk; 0 = none
	known bool    // of training nodes it is the class that spreads, not what is said
}

// smooth lets what is said of all nodes spread over the edges, as far as the
// validation nodes bear out: by any of some shares, and with what is said of
// training nodes or their classes. Unless -smooth has one share, it must be better
// than what was said by more than chance. O(edges·classes) a round.
func (d *dataset) smooth(ctx context.Context, c *config, said *average) (*average, smoothing, error) {
	best := said
	var chosen smoothing
	shares := []float64{0.5, 0.8, 0.9, 0.95}
	if c.smooth >= 0 {
		shares = []float64{c.smooth}
	}
	if c.smooth == 0 {
		return best, chosen, nil
	}
	bar := cli.NewProgress("smoothing", int64(2*len(shares)))
	defer bar.Done()
	for _, share := range shares {
		for _, known := range [2]bool{false, true} {
			a, err := d.spreadOf(ctx, c, said, smoothing{share, known})
			if err != nil {
				return nil, chosen, err
			}
			if better(a, best, d.val) || c.smooth > 0 && !known {
				best, chosen = a, smoothing{share, known}
			}
			bar.Add(1)
		}
	}
	return best, chosen, nil
}

// spreadOf spreads what is said of all nodes.
func (d *dataset) spreadOf(ctx context.Context, c *config, said *average, s smoothing) (*average, error) {
	x := make([]float32, len(said.sum))
	for i, p := range said.sum {
		x[i] = float32(p / said.nets)
	}
	if s.known {
		for _, v := range d.train {
			row := x[int(v)*said.classes : (int(v)+1)*said.classes]
			clear(row)
			row[d.Class[v]] = 1
		}
	}
	if err := (spread.Walk{Share: s.share, Workers: c.workers}).Rows(ctx, d.Graph, x, said.classes); err != nil {
		return nil, err
	}
	a := newAverage(len(said.target), said.classes)
	a.target, a.nets = said.target, 1
	for i, p := range x {
		a.sum[i] = float64(p)
	}
	return a, nil
}

// better reports whether a is right about more of some rows than b by more than
// chance: of those on which the two differ, n, the ones that become right must
// outnumber those that become wrong by more than √n, a standard error.
func better(a, b *average, rows []int32) bool {
	gained, lost := 0., 0.
	for _, row := range rows {
		switch now, before := a.hit(int(row)), b.hit(int(row)); {
		case now && !before:
			gained++
		case before && !now:
			lost++
		}
	}
	return gained-lost > math.Sqrt(gained+lost)
}
