package operators_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
)

// sparse is a labeling that some graphs do not have.
type sparse struct{}

func (sparse) String() string { return "sparse" }

func (sparse) Label(in labeling.Input, labels []float64) error {
	if in.Graph.M() > in.Graph.N() {
		return errors.New("there are more edges than nodes")
	}
	return labeling.Degree.Label(in, labels)
}

// narrow is a counter that does not take all graphs.
type narrow struct{}

func (narrow) String() string { return "narrow" }

func (narrow) Prepare() (count.Worker, error) { return narrow{}, nil }

func (narrow) Count(in count.Input, bag *count.Bag) error {
	if in.Graph.M() > in.Graph.N() {
		return errors.New("there are more edges than nodes")
	}
	bag.Add(uint64(in.Graph.M()), 1)
	return nil
}

// counters are one of each kind.
var counters = []count.Counter{
	count.WL{Height: 1}, count.WL{Height: 3},
	count.Labels{}, count.Size{}, count.Paths{}, count.Fields{K: []int{3, 5}}, count.Fields{K: []int{2}, Selected: true},
}

// Under the race detector each operator has one case.
func TestConformance(t *testing.T) {
	tried := map[reflect.Type]bool{}
	selected := []flow.Operator{operators.Select{W: 3, By: labeling.Degree}}
	assembled := append(selected[:1:1], operators.Assemble{K: 4})
	all := []flow.Operator{operators.Select{}}
	chunked := append(all[:1:1], operators.Chunk{Size: 3})
	normalized := append(assembled[:2:2], operators.Normalize{})
	for _, c := range []struct {
		name   string
		op     flow.Operator
		before []flow.Operator
	}{
		{"channel", operators.Channel{By: labeling.PageRank}, nil},
		{"channel refuses", operators.Channel{By: sparse{}}, nil},
		{"propagate", operators.Propagate{Unit: true}, nil},
		{"propagate sparse", operators.Propagate{Sparse: true}, nil},
		{"select", operators.Select{W: 3}, nil},
		{"select with stride", operators.Select{W: 4, Stride: 2, By: labeling.WL}, nil},
		{"select depth first", operators.Select{W: 5, DepthFirst: true}, nil},
		{"select all", operators.Select{}, nil},
		{"roots", operators.Roots{Nodes: []int32{0, 3, -1, 3}}, nil},
		{"chunk", operators.Chunk{Size: 2}, all},
		{"chunk of one", operators.Chunk{Size: 1}, all},
		{"chunk of many", operators.Chunk{Size: 100}, selected},
		{"assemble chunks", operators.Assemble{K: 4}, chunked},
		{"normalize chunks", operators.Normalize{Edges: true}, append(chunked[:2:2], operators.Assemble{K: 4})},
		{"normalize chunks globally", operators.Normalize{By: labeling.Degree, Global: true, KeepGraph: true}, append(chunked[:2:2], operators.Assemble{K: 4})},
		{"count", operators.Count{Of: []count.Counter{count.WL{Height: 2}, count.Labels{}, count.Size{}}}, nil},
		{"count all", operators.Count{Of: counters}, all},
		{"count refuses", operators.Count{Of: []count.Counter{count.WL{}, narrow{}}}, nil},
		{"check", operators.Check{}, nil},
		{"select refuses", operators.Select{W: 2, By: sparse{}}, nil},
		{"assemble", operators.Assemble{K: 4}, selected},
		{"normalize", operators.Normalize{}, assembled},
		{"normalize with edges", operators.Normalize{K: 3, By: labeling.Betweenness, Edges: true, KeepGraph: true}, assembled},
		{"normalize globally", operators.Normalize{By: labeling.Degree, Global: true}, assembled},
		{"normalize with mask", operators.Normalize{Mask: true, Suffix: "_k4", KeepGraph: true}, assembled},
		{"normalize without assemble", operators.Normalize{K: 4, Distances: 3}, selected},
		{"normalize chunks without assemble", operators.Normalize{K: 4}, chunked},
		{"normalize refuses", operators.Normalize{By: sparse{}}, assembled},
		{"standardize", operators.Standardize{Mean: []float32{1, 2}, Std: []float32{2, 0}}, normalized},
		{"standardize, missing", operators.Standardize{Mean: []float32{1, 2}, Std: []float32{2, 0}, Missing: []int{1}}, normalized},
		{"standardize graphs, missing", operators.Standardize{Mean: []float32{1, 2}, Std: []float32{2, 0}, Missing: []int{0, 1}}, nil},
		{"standardize graphs", operators.Standardize{Mean: []float32{1, 2}, Std: []float32{2, 0}}, nil},
		{"normalize with distances", operators.Normalize{Distances: 2}, assembled},
		{"count around", operators.Count{Of: []count.Counter{count.Around{Hops: 2}}, DropGraph: true}, chunked},
		{"describe graphs", operators.Describe{}, nil},
		{"describe", operators.Describe{Hops: 1}, append(all[:1:1], operators.Chunk{Size: 1})},
		{"describe refuses", operators.Describe{}, selected},
		{"intervals", intervalsOf(operators.Describe{}), []flow.Operator{operators.Describe{}}},
		{"intervals beside words", intervalsOf(operators.Describe{}), []flow.Operator{operators.Describe{}, operators.Count{Of: []count.Counter{count.Size{}}}}},
		{"count pairs", operators.Count{Of: []count.Counter{count.Pair{}}, DropGraph: true}, []flow.Operator{operators.Select{W: 2}}},
		{"known classes", operators.KnownClasses{Class: make([]int32, 100), Names: []string{"a"}}, append(normalized[:3:3], operators.PerRoot{})},
		{"beliefs refuse", operators.Beliefs{Probs: make([]float32, 100), Names: []string{"a", "b"}}, nil},
		{"per root", operators.PerRoot{}, normalized},
		{"per labelled root", operators.PerRoot{Labelled: true}, append(chunked[:2:2], operators.Assemble{K: 4}, operators.Normalize{Edges: true, Mask: true})},
		{"expect", operators.Expect{Layout: flowtest.Layout}, nil},
		{"expect other words", operators.Expect{Layout: otherWords()}, nil},
		{"mask words", operators.MaskWords{Rate: 0.5, Seed: 1}, nil},
		{"batch", operators.Batch{Size: 4}, nil},
		{"batch of one", operators.Batch{Size: 1}, nil},
		{"batch of all", operators.Batch{Size: 100}, nil},
		{"batch of five", operators.Batch{Size: 5}, nil},
		{"shuffle", operators.Shuffle{Size: 4, Seed: 1, Rows: 3}, nil},
		{"shuffle all", operators.Shuffle{Seed: 2}, nil},
		{"batch waits", operators.Batch{Size: 4, MaxWait: time.Hour}, nil},
		{"shuffle of one", operators.Shuffle{Size: 1}, nil},
		{"replay", operators.Replay{Epochs: 3, Seed: 1, Rows: 5}, nil},
		{"replay once", operators.Replay{}, normalized},
		{"replay roots", operators.Replay{Epochs: 2}, selected},
	} {
		kind := reflect.TypeOf(c.op)
		if race.Enabled && tried[kind] {
			continue
		}
		tried[kind] = true
		t.Run(c.name, func(t *testing.T) {
			flowtest.Run(t, flowtest.Case{Op: c.op, Before: c.before})
		})
	}
}
