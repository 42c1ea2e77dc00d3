package sinks_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/drift"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// swapped is 2400 nodes of a ring of cliques, whose class is whether they join two cliques,
// and from node 1200 on whether they do not.
func swapped() flow.Pipeline {
	set := &sources.NodeSet{Graph: must(generate.RingOfCliques(400, 6)), Classes: []string{"no", "yes"}}
	for v := range int32(2400) {
		class := int32(0)
		if set.Graph.Degree(v) > 5 {
			class = 1
		}
		if v >= 1200 {
			class = 1 - class
		}
		set.Class = append(set.Class, class)
	}
	if err := set.Identify(); err != nil {
		log.Fatal(err)
	}
	order := make([]int32, 2400)
	for i := range order {
		order[i] = int32(i)
	}
	return flow.From(set.Rooted(order)).
		Via(operators.Count{Of: []count.Counter{count.Around{}}, DropGraph: true}).
		Via(operators.Batch{Size: 16})
}

// A model learns from nodes, whose classes are swapped after 1200 of them. The alarm ends
// the run.
func ExampleWatch() {
	var alarm drift.Alarm
	changed := errors.New("the stream has changed")
	err := swapped().To(sinks.Watch{Train: sinks.Train{Net: nn.Best()}, OnAlarm: func(a drift.Alarm) error {
		alarm = a
		return changed
	}}).Run(context.Background())
	fmt.Println(errors.Is(err, changed), alarm.Position, alarm.After > alarm.Before)
	// Output:
	// true 1279 true
}

func TestWatch(t *testing.T) {
	rows, steps, alarms := 0, 0, 0
	w := sinks.Watch{
		Train: sinks.Train{
			Net:    nn.Best(),
			OnRow:  func(sinks.Prediction) error { rows++; return nil },
			OnStep: func(nn.Result) error { steps++; return nil },
		},
		Detector: &drift.PageHinkley{Lambda: 5},
		Error:    func(p sinks.Prediction) float64 { return 1 - float64(p.Probs[p.Target]) },
		OnAlarm:  func(a drift.Alarm) error { alarms++; return nil },
	}
	if err := swapped().To(w).Run(context.Background()); err != nil || rows != 2400 || steps != 150 || alarms == 0 {
		t.Errorf("%d rows, %d steps, %d alarms, %v", rows, steps, alarms, err)
	}
	w.OnAlarm = nil
	if err := swapped().To(w).Run(context.Background()); err == nil || !strings.Contains(err.Error(), "OnAlarm is not set") {
		t.Error(err)
	}
}
