package operators_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// Nine tenths of the graphs to learn from, the others to test on, each time the stream
// comes.
func ExamplePart() {
	src := sources.Families{Graphs: 200}
	for _, part := range []operators.Part{{Of: 10, Rest: true}, {Of: 10}} {
		var graphs sinks.Collect
		if err := flow.From(src).Via(part).To(&graphs).Run(context.Background()); err != nil {
			log.Fatal(err)
		}
		fmt.Println(graphs.Rows())
		graphs.Release()
	}
	// Output:
	// 177
	// 23
}

// A part of a part is as large as it should be where Of or Seed are others, and Part
// stands where there is no graph any more.
func TestPartOfParts(t *testing.T) {
	src := sources.Families{Graphs: 1000}
	nine := operators.Part{Of: 10, Rest: true}
	for _, p := range []operators.Part{{Of: 5}, {Of: 5, Number: 1}, {Of: 10, Seed: 1}, {Of: 2}, {Of: 20, Number: 19}} {
		var all sinks.Collect
		defer all.Release()
		err := flow.From(src).Via(nine).Via(operators.Select{W: 2}).Via(operators.Assemble{K: 3}).Via(operators.Normalize{K: 3}).
			Via(p).Via(operators.PerRoot{}).Via(operators.Part{Of: 2, Seed: 7}).To(&all).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if want := 2 * 900 / float64(p.Of) / 2; math.Abs(float64(all.Rows())-want) > 10*math.Sqrt(want) {
			t.Errorf("%+v: %d rows, want about %.0f", p, all.Rows(), want)
		}
	}
	var none sinks.Collect
	defer none.Release()
	if err := flow.From(src).Via(nine).Via(operators.Part{Of: 10}).To(&none).Run(t.Context()); err != nil || none.Rows() != 0 {
		t.Errorf("the same part of the rest: %d graphs, %v, want 0 as documented", none.Rows(), err)
	}
}

func partOf(t *testing.T, src flow.Source, p operators.Part, workers int) map[int64]bool {
	t.Helper()
	var all sinks.Collect
	defer all.Release()
	if err := flow.From(src).Via(p).To(&all).With(flow.Options{Workers: workers}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	ids := map[int64]bool{}
	for _, rec := range all.Records() {
		list, err := record.Values[int64](rec, record.GraphID)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range list {
			ids[id] = true
		}
	}
	return ids
}

// Each graph is of one part, the rest is all but that part, however many graphs and
// workers there are, and parts are of about the same size.
func TestPart(t *testing.T) {
	const n = 400
	src := sources.Families{Graphs: n}
	for of, p := range map[int]operators.Part{10: {}, 2: {Of: 2}, 3: {Of: 3, Seed: 9}} {
		seen := map[int64]int{}
		for p.Number = range of {
			p.Rest = false
			mine := partOf(t, src, p, 1+p.Number%3)
			if want := float64(n) / float64(of); math.Abs(float64(len(mine))-want) > 5*math.Sqrt(want) {
				t.Errorf("%+v has %d of %d graphs", p, len(mine), n)
			}
			for id := range mine {
				seen[id]++
			}
			if p.Number > 0 {
				continue
			}
			p.Rest = true
			rest := partOf(t, src, p, 2)
			if len(rest)+len(mine) != n {
				t.Errorf("%+v: %d and the rest %d of %d", p, len(mine), len(rest), n)
			}
			for id := range mine {
				if rest[id] {
					t.Errorf("%+v: graph %d is of the rest too", p, id)
				}
			}
			p.Rest = false
			for id := range partOf(t, sources.Families{Graphs: n / 2}, p, 1) {
				if !mine[id] {
					t.Errorf("%+v: graph %d is of another part where there are fewer", p, id)
				}
			}
		}
		if len(seen) != n {
			t.Errorf("%+v: %d of %d graphs are of a part", p, len(seen), n)
		}
		for id, times := range seen {
			if times != 1 {
				t.Errorf("%+v: graph %d is of %d parts", p, id, times)
			}
		}
	}
	for want, p := range map[string]operators.Part{"Of is 1, want 2 or more": {Of: 1}, "Number is 10, want 0 to 9": {Number: 10}, "Number is -1": {Number: -1}} {
		if _, err := p.Open(flowtest.Layout.Schema()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
