package field_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/operators/field"
)

// Attributes of members are those of the nodes, whatever their number.
func TestAttributesOfMembers(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	members := []int32{3, -1, 0, 9, -1}
	for _, width := range []int{0, 1, 2, 3} {
		g := withNodeAttributes(rng, random(rng, 10, 20, false), width, width)
		cats, attrs := make([]int32, len(members)*width), make([]float32, len(members)*width)
		for i := range cats {
			cats[i], attrs[i] = 77, 77
		}
		field.NodeCats(g, members, cats)
		field.NodeAttrs(g, members, attrs)
		var wantCats []int32
		var wantAttrs []float32
		for _, v := range members {
			for j := range width {
				if v < 0 {
					wantCats, wantAttrs = append(wantCats, -1), append(wantAttrs, 0)
				} else {
					wantCats = append(wantCats, g.NodeCat[int(v)*width+j])
					wantAttrs = append(wantAttrs, g.NodeAttr[int(v)*width+j])
				}
			}
		}
		if got, want := fmt.Sprint(cats, attrs), fmt.Sprint(wantCats, wantAttrs); got != want {
			t.Errorf("%d attributes: %s, want %s", width, got, want)
		}
	}
}
