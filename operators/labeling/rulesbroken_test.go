package labeling_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/sanflow/sanflow/operators/labeling"
)

// labelFunc is a labeling made of a function.
type labelFunc struct {
	name string
	f    func(in labeling.Input, labels []float64) error
}

func (l labelFunc) String() string                                  { return l.name }
func (l labelFunc) Label(in labeling.Input, labels []float64) error { return l.f(in, labels) }

// TestBadLabelings runs the checks on labelings that break one rule each.
func TestBadLabelings(t *testing.T) {
	patience = time.Second
	defer func() { patience = 10 * time.Second }()
	forever := make(chan struct{})
	defer close(forever)
	calls := atomic.Int64{}
	degrees := func(in labeling.Input, labels []float64) error { return labeling.Degree.Label(in, labels) }
	for _, bad := range []struct {
		check string
		name  string
		f     func(in labeling.Input, labels []float64) error
	}{
		{"name", "two words", degrees},
		{"labels", "leaves-out-the-last", func(in labeling.Input, labels []float64) error {
			return degrees(in, labels[:max(0, len(labels)-1)])
		}},
		{"labels", "panics", func(in labeling.Input, labels []float64) error {
			labels[0] = 1 // of no node
			return degrees(in, labels)
		}},
		{"labels", "remembers", func(in labeling.Input, labels []float64) error {
			n := float64(calls.Add(1))
			for v := range labels {
				labels[v] = n
			}
			return nil
		}},
		{"numbering", "by-number", func(_ labeling.Input, labels []float64) error {
			for v := range labels {
				labels[v] = float64(v)
			}
			return nil
		}},
		{"input", "writes", func(in labeling.Input, labels []float64) error {
			for i := range in.Graph.NodeCat {
				in.Graph.NodeCat[i] = 0
			}
			return degrees(in, labels)
		}},
		{"context", "waits", func(in labeling.Input, labels []float64) error {
			if in.Graph.N() > 1000 {
				<-forever
			}
			return degrees(in, labels)
		}},
	} {
		for _, c := range checks { // the others may not survive it
			if c.name == bad.check && c.run(labelFunc{bad.name, bad.f}) == nil {
				t.Errorf("%s: the check %s passes", bad.name, c.name)
			}
		}
	}
	patience = 10 * time.Second
	checkRules(t, labelFunc{"good", degrees})
}
