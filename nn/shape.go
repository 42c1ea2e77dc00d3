package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/nn/internal/layer"
)

// Shape describes the data that a model reads.
type Shape struct {
	W, K      int      // fields of a graph, nodes of a field
	Cats      []int    // of each of the d_v discrete channels of a node: its number of values
	Attrs     int      // c_v continuous channels of a node
	Classes   int      // of the targets; 0 = numbers
	Sparse    int      `json:",omitempty"` // values of the sparse channel, of which a node has any number, such as words; 0 = none
	EdgeCats  []int    `json:",omitempty"` // of each of the d_e discrete channels of an edge: its number of values
	EdgeAttrs int      `json:",omitempty"` // c_e continuous channels of an edge
	Counts    []string `json:",omitempty"` // names of the counts; a model reads either fields or counts
	Columns   []string `json:",omitempty"` // names of the numbers of a row, beside counts or alone; trees.Model reads them
	Targets   []int    `json:",omitempty"` // of a Targets: the classes of each target, 0 of a number, in place of Classes
}

// clone returns a copy of s that shares no memory with s.
func (s Shape) clone() Shape {
	s.Cats, s.EdgeCats, s.Counts = slices.Clone(s.Cats), slices.Clone(s.EdgeCats), slices.Clone(s.Counts)
	s.Columns, s.Targets = slices.Clone(s.Columns), slices.Clone(s.Targets)
	return s
}

// Of returns the shape for one of Targets.
func (s Shape) Of(target int) Shape {
	s.Classes, s.Targets = s.Targets[target], nil
	return s
}

// Width returns how many numbers the prediction for a row has.
func (s Shape) Width() int {
	width := 0
	for _, classes := range s.Targets {
		width += max(1, classes)
	}
	return max(1, s.Classes, width)
}

// hasEdges reports whether the fields come with edges.
func (s Shape) hasEdges() bool { return len(s.EdgeCats) > 0 || s.EdgeAttrs > 0 }

// of returns the part of s that a model of counts, or of fields, reads.
func (s Shape) of(counts bool) Shape {
	if counts {
		return Shape{Counts: s.Counts, Classes: s.Classes}
	}
	s.Counts, s.Columns = nil, nil
	return s
}

// nodes returns the input of the layer over nodes: w fields of k.
func (s Shape) nodes() layer.Cells {
	return layer.Cells{W: s.W, N: s.K, Cats: s.Cats, Attrs: s.Attrs, Sparse: s.Sparse}
}

// edges returns the input of the layer over edges: w fields of k·k.
func (s Shape) edges() layer.Cells {
	return layer.Cells{W: s.W, N: s.K * s.K, Cats: s.EdgeCats, Attrs: s.EdgeAttrs, Side: s.K}
}

// validate returns an error unless a model can be built for s.
func (s Shape) validate() error {
	if s.Classes < 0 || s.Classes == 1 {
		return fmt.Errorf("classes = %d, want at least 2, or 0 to learn a number", s.Classes)
	}
	if len(s.Counts) > 0 {
		return nil
	}
	if s.W < 1 || s.K < 1 {
		return fmt.Errorf("w = %d, k = %d, want positive numbers", s.W, s.K)
	}
	if s.K > math.MaxInt32/s.W {
		return fmt.Errorf("w = %d times k = %d is too much", s.W, s.K)
	}
	if s.Sparse < 0 || s.Sparse > layer.MaxWeights {
		return fmt.Errorf("the sparse channel has %d values, want 0 to %d", s.Sparse, layer.MaxWeights)
	}
	if len(s.Cats) == 0 && s.Attrs == 0 && s.Sparse == 0 {
		return fmt.Errorf("nodes have no channels, want at least one, discrete, continuous or sparse")
	}
	if err := validateChannels("", "node", s.K, s.Cats, s.Attrs, s.Sparse); err != nil {
		return err
	}
	if s.hasEdges() {
		if s.K > math.MaxInt32/s.K {
			return fmt.Errorf("k = %d times k is too much", s.K)
		}
		if err := validateChannels("edge ", "pair of nodes", s.K*s.K, s.EdgeCats, s.EdgeAttrs, 0); err != nil {
			return err
		}
	}
	return nil
}

func validateChannels(kind, cell string, n int, cats []int, attrs, sparse int) error {
	if attrs < 0 {
		return fmt.Errorf("%d continuous %schannels", attrs, kind)
	}
	total := sparse
	for i, n := range cats {
		if n < 1 || n > layer.MaxWeights {
			return fmt.Errorf("discrete %schannel %d has %d values, want 1 to %d", kind, i, n, layer.MaxWeights)
		}
		if total += n; total > layer.MaxWeights {
			return fmt.Errorf("the discrete %schannels have more than %d values", kind, layer.MaxWeights)
		}
	}
	// Offsets into the table of the first layer are int32.
	if n > math.MaxInt32/max(total, 1) {
		return fmt.Errorf("%d times %d values a %s is too much", n, total, cell)
	}
	return nil
}

// Check returns an error that names the difference if data of shape t do not fit a model for s.
func (s Shape) Check(t Shape) error {
	for _, f := range []struct {
		name        string
		model, data int
	}{
		{"fields (w)", s.W, t.W},
		{"nodes a field (k)", s.K, t.K},
		{"continuous channels", s.Attrs, t.Attrs},
		{"discrete channels", len(s.Cats), len(t.Cats)},
		{"values of a sparse channel", s.Sparse, t.Sparse},
		{"continuous edge channels", s.EdgeAttrs, t.EdgeAttrs},
		{"discrete edge channels", len(s.EdgeCats), len(t.EdgeCats)},
		{"classes", s.Classes, t.Classes},
	} {
		if f.model != f.data {
			return fmt.Errorf("the model is for %d %s, the data have %d", f.model, f.name, f.data)
		}
	}
	if !slices.Equal(s.Counts, t.Counts) {
		return fmt.Errorf("the model is for counts of %q, the data have %q", s.Counts, t.Counts)
	}
	if !slices.Equal(s.Columns, t.Columns) {
		return fmt.Errorf("the model is for columns %q, the data have %q", s.Columns, t.Columns)
	}
	if !slices.Equal(s.Cats, t.Cats) {
		return fmt.Errorf("the model is for discrete channels of %v values, the data have %v", s.Cats, t.Cats)
	}
	if !slices.Equal(s.EdgeCats, t.EdgeCats) {
		return fmt.Errorf("the model is for discrete edge channels of %v values, the data have %v", s.EdgeCats, t.EdgeCats)
	}
	return nil
}
