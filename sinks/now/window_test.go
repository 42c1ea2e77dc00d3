package now_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/now"
	"github.com/sanflow/sanflow/sources"
)

// A late edge and a jump of the clock are accepted, counted, and told by a line: the first late edge, and each jump that is greater than those before.
func TestWindowOfTimeTells(t *testing.T) {
	timed := func(n int) *sources.NodeSet { // times 0 to 49
		set := town(n, 3)
		set.Channels.EdgeAttr = []record.Channel{{Name: "time"}}
		return set
	}
	set := timed(600)
	train, valid, _, err := choose.Deal(set, 1)
	if err != nil {
		t.Fatal(err)
	}
	systems := must(choose.Pick(choose.Nodes(set, len(train)), []string{"words"}))
	systems[0].Epochs = 1
	chosen := must(choose.Choice{Systems: systems, Classes: set.Classes, Train: choose.NodeRows(set, train), Valid: choose.NodeRows(set, valid), Seed: 1}.Run(ctx()))
	p := must(sinks.NewPredictor(chosen.Net, chosen.Recipe))
	defer p.Close()
	columns := choose.GraphColumns{Columns: record.Columns{Source: "source", Target: "target", ID: "id", Type: "type", Time: "when"}, Within: 1000}
	nodes := must(choose.OpenNodesOf(p, timed(smallTown), columns))
	defer nodes.Close()
	var told []string
	var l *now.Live
	l = must(now.Open(context.Background(), nodes, now.Options{Dir: t.TempDir(), Note: func(line string) {
		told = append(told, line)
		l.Stats() // Note may call it
	}}))
	defer l.Close()
	post := func(text string) { must(l.Post([]byte(text))) }
	post(`{"source": "new", "target": 1, "type": "card", "when": 60}`)
	if s := l.Stats(); s.Expired > 0 || s.Jumps > 0 || len(told) > 0 {
		t.Errorf("an ordinary edge: %+v, %v", s, told)
	}
	post(`{"source": 2, "target": 1, "type": "card", "when": 9000000000000000}`)
	post(`{"source": 3, "target": 1, "type": "card", "when": 61}
{"source": 4, "target": 1, "type": "card", "when": 62}`)
	post(`{"kind": "remove_edge", "source": 5, "target": 6, "when": 9000000000002000}`)
	b := nodes.Begin()
	if err := b.Add(must(now.ParseEvent([]byte(`{"kind": "set_edge", "source": 5, "target": 6, "when": 9000000000002500}`), choose.AddEdge, "id"))); err != nil || b.Clock != 9000000000002500 {
		t.Errorf("the clock of a store behind set_edge is %d, %v", b.Clock, err)
	}
	s := l.Stats()
	if s.Expired != 2 || s.Jumps != 2 || s.Position != 5 {
		t.Errorf("%d late edges and %d jumps at %d, want 2 and 2 at 5", s.Expired, s.Jumps, s.Position)
	}
	want := []string{
		"the event at position 2 has the time 9000000000000000, which is 8999999999999940 after", "the edge of the event at position 3 has the time 61, and the window has gone on to 9000000000000000",
	}
	if !slices.EqualFunc(told, want, func(line, part string) bool { return strings.HasPrefix(line, "left out: "+part) }) {
		t.Errorf("told\n%s", strings.Join(told, "\n"))
	}
}
