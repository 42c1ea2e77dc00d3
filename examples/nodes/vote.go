package main

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
)

// voters is who has a say in what a node is: the members of its field.
type voters struct {
	k       int
	members []int32   // (n, k), -1 for none
	share   []float64 // (n, k), of the vote; a field's add up to 1
}

// votersOf reads the fields of all nodes, a row each. Shares are those by which
// nn.Pooled weighs attributes: every distance from the root has as much to say as
// any other, and so has every member within it.
func votersOf(rec arrow.Record, k int) (*voters, error) {
	v := &voters{k: k}
	members, _, err := record.FixedValues[int32](rec, record.Members)
	if err != nil {
		return nil, err
	}
	cats, width, err := record.FixedValues[int32](rec, record.NodesCat)
	if err != nil {
		return nil, err
	}
	v.members = append(v.members, members...)
	v.share = make([]float64, len(members))
	d := width / k // attributes of a member, the distance first
	for row := 0; row < len(members); row += k {
		var count [distances]float64
		rings := 0.
		for i := row; i < row+k && members[i] >= 0; i++ {
			ring := cats[i*d]
			if count[ring]++; count[ring] == 1 {
				rings++
			}
		}
		for i := row; i < row+k && members[i] >= 0; i++ {
			v.share[i] = 1 / (rings * count[cats[i*d]])
		}
	}
	return v, nil
}

// vote replaces what is said of each node by the mean of what is said of the
// members of its field. No class takes part in it. O(n·k·classes).
func (v *voters) vote(a *average) *average {
	b := &average{classes: a.classes, sum: make([]float64, len(a.sum)), target: a.target, nets: a.nets}
	for i, u := range v.members {
		if u < 0 {
			continue
		}
		dst, src := b.row(i/v.k), a.row(int(u))
		for c, x := range src {
			dst[c] += v.share[i] * x
		}
	}
	return b
}

// elect finds the number of rounds, up to most, after which the validation nodes
// are told apart best, and returns what is said then. More rounds must be better
// by more than chance.
func (v *voters) elect(a *average, val []int32, most int) (best *average, rounds int) {
	best = a
	for round := 1; round <= most; round++ {
		a = v.vote(a)
		if better(a, best, val) {
			best, rounds = a, round
		}
	}
	return best, rounds
}
