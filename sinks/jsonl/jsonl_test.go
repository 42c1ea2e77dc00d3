package jsonl_test

import (
	"context"
	"errors"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks/jsonl"
	"github.com/sanflow/sanflow/sinks/scores"
	"github.com/sanflow/sanflow/sources"
)

func Example() {
	g, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 0}, {U: 2, V: 3}})
	if err != nil {
		log.Fatal(err)
	}
	err = flow.From(sources.Graphs{Items: []sources.Item{{Graph: g}}}).
		Via(operators.Select{W: 2}).
		Via(jsonl.Normalize(3)).
		Via(jsonl.Columns{}).
		To(scores.Text{JSON: true, W: os.Stdout}).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"graph":0,"root":2,"members":[2,0,3],"dist":[0,1,1],"edges":[[0,1,1],[1,0,0],[1,0,0]],"nodes":[[],[],[]]}
	// {"graph":0,"root":0,"members":[0,1,2],"dist":[0,1,1],"edges":[[0,1,1],[1,0,1],[1,1,0]],"nodes":[[],[],[]]}
}

func TestConformance(t *testing.T) {
	before := []flow.Operator{operators.Select{W: 3}, jsonl.Normalize(4)}
	flowtest.Run(t, flowtest.Case{Op: jsonl.Columns{}, Before: before})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestErrors(t *testing.T) {
	fields := flow.From(sources.Families{Graphs: 3}).Via(operators.Select{W: 2}).Via(jsonl.Normalize(3))
	for want, p := range map[string]flow.Pipeline{
		"the disk is full":              fields.Via(jsonl.Columns{}).To(scores.Text{JSON: true, W: full{}}),
		"put the operator of Normalize": flow.From(sources.Families{Graphs: 3}).Via(jsonl.Columns{}).To(scores.Text{JSON: true, W: full{}}),
	} {
		if err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// Roots and members are called by their ids: integers with all of their digits, strings
// as JSON has them.
func TestIDs(t *testing.T) {
	g, err := graph.New(2, false, []graph.Edge{{U: 0, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	names, err := graph.IDsOfStrings([]string{`al"ice`, "bob"})
	if err != nil {
		t.Fatal(err)
	}
	for want, ids := range map[string]graph.IDs{
		`"root":9223372036854775807,"members":[9223372036854775807,-5,-1],`: graph.IDsOf([]int64{1<<63 - 1, -5}),
		`"root":"al\"ice","members":["al\"ice","bob",null],`:                names,
	} {
		var b strings.Builder
		err := flow.From(sources.Graphs{Items: []sources.Item{{Graph: g, NodeID: ids}}}).Via(operators.Select{W: 2}).
			Via(jsonl.Normalize(3)).Via(jsonl.Columns{}).To(scores.Text{JSON: true, W: &b}).
			With(flow.Options{Allocator: flowtest.Mem(t)}).Run(t.Context())
		want = `{"graph":0,` + want
		if err != nil || !strings.Contains(b.String(), want) || strings.Count(b.String(), "\n") != 2 {
			t.Errorf("%v: %s, want %s", err, b.String(), want)
		}
	}
}
