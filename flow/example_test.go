package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/apache/arrow/go/v15/arrow"
	extflow "github.com/reugn/go-streams/flow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sources"
)

// graphs are a path, a ring and a star of four nodes each.
func graphs() flow.Source {
	var s sources.Graphs
	s.Rows = 1
	for class, edges := range [][]graph.Edge{
		{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}},
		{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}, {U: 3, V: 0}},
		{{U: 0, V: 1}, {U: 0, V: 2}, {U: 0, V: 3}},
	} {
		g, err := graph.New(4, false, edges)
		if err != nil {
			log.Fatal(err)
		}
		s.Items = append(s.Items, sources.Item{Graph: g, Class: int32(class)})
	}
	return s
}

// printRoots is a sink.
type printRoots struct{}

func (p printRoots) Open(*arrow.Schema) (flow.Writer, error) { return p, nil }

func (printRoots) Write(_ context.Context, rec arrow.Record) error {
	ids, err := record.Values[int64](rec, record.GraphID)
	if err != nil {
		return err
	}
	roots, err := record.ListsOf[int32](rec, record.Roots)
	if err != nil {
		return err
	}
	for row, id := range ids {
		fmt.Println("graph", id, "roots", roots.Row(row))
	}
	return nil
}

func (printRoots) Close(error) error { return nil }

func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := flow.From(graphs()).
		Via(operators.Select{W: 2, By: labeling.Degree}).
		Via(operators.Batch{Size: 2}).
		To(printRoots{})
	plan, err := p.Plan(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan)
	if err := p.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// graphs      Graphs(3)      + graph_id pos offsets neighbors target
	// select      W=2 By=degree  + roots
	// batch       Size=2
	// printroots
	// graph 0 roots [1 2]
	// graph 1 roots [0 1]
	// graph 2 roots [0 1]
}

// The error of a run names the stage, and the graph where it is about one.
func ExampleError() {
	err := flow.From(graphs()).Via(noStars{}).Run(context.Background())
	var e *flow.Error
	if errors.As(err, &e) {
		fmt.Printf("stage %s, graph %d: %v\n", e.Stage, e.Graph, e.Err)
	}
	fmt.Println(err)
	// Output:
	// stage nostars, graph 2: node 0 has 3 neighbours
	// nostars: graph 2: node 0 has 3 neighbours
}

// Rows that a stage refuses need not end the run.
func ExampleOptions() {
	err := flow.From(graphs()).
		Via(noStars{}).
		Via(operators.Select{W: 1, By: labeling.Degree}).
		To(printRoots{}).
		With(flow.Options{
			Refused: flow.Keep,
			DeadLetters: func(l flow.Letter) error {
				fmt.Println("refused by", l.Stage, "at position", l.Pos, "because", l.Err)
				return nil
			},
		}).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// graph 0 roots [1]
	// graph 1 roots [0]
	// refused by nostars at position 2 because node 0 has 3 neighbours
}

// noStars is an operator that takes no graph with a node of three neighbours.
type noStars struct{}

func (noStars) Open(in *arrow.Schema) (flow.Stage, error) { return noStarsStage{in}, nil }

type noStarsStage struct{ schema *arrow.Schema }

func (s noStarsStage) Schema() *arrow.Schema { return s.schema }

func (s noStarsStage) Process(rec arrow.Record, out *flow.Out) error {
	gs, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	var g graph.Graph
	for row := range gs.Len() {
		gs.At(row, &g)
		if err := check(&g); err != nil {
			if err := out.Refuse(rec, row, err); err != nil {
				return err
			}
			continue
		}
		if err := out.Emit(rec.NewSlice(int64(row), int64(row)+1)); err != nil {
			return err
		}
	}
	return nil
}

func check(g *graph.Graph) error {
	for v := range int32(g.N()) {
		if d := g.Degree(v); d > 2 {
			return fmt.Errorf("node %d has %d neighbours", v, d)
		}
	}
	return nil
}

// Our stages in a pipeline that is wired with go-streams alone.
func ExampleAsFlow() {
	ctx := context.Background()
	source := flow.AsSource(ctx, graphs())
	selected := flow.AsFlow(ctx, operators.Select{W: 2, By: labeling.Degree})
	sink := flow.AsSink(ctx, printRoots{})
	source.
		Via(extflow.NewPassThrough()).
		Via(selected).
		To(sink)
	fmt.Println(source.Err(), selected.Err(), sink.Err())
	// Output:
	// graph 0 roots [1 2]
	// graph 1 roots [0 1]
	// graph 2 roots [0 1]
	// <nil> <nil> <nil>
}

func ExampleRunning_Stats() {
	run := flow.From(graphs()).Via(operators.Batch{Size: 2}).Start(context.Background())
	if err := run.Wait(); err != nil {
		log.Fatal(err)
	}
	s := run.Stats()
	for _, stage := range s.Stages {
		fmt.Println(stage.Stage, stage.RowsIn, stage.RowsOut, stage.RecordsOut)
	}
	fmt.Println("position", s.Done, "has left")
	// Output:
	// graphs 0 3 3
	// batch 3 3 2
	// discard 3 0 0
	// position 2 has left
}

// Statistics are a snapshot, which anything can publish: here expvar, under
// /debug/vars of a program that serves HTTP. Package flow/otel, a module of its
// own, does so by OpenTelemetry.
func ExampleRunning_Stats_expvar() {
	run := flow.From(graphs()).
		Via(operators.Select{W: 2, By: labeling.Degree}).
		Start(context.Background())
	expvar.Publish("sanflow", expvar.Func(func() any { return run.Stats() }))
	if err := run.Wait(); err != nil {
		log.Fatal(err)
	}
	var seen flow.Stats
	if err := json.Unmarshal([]byte(expvar.Get("sanflow").String()), &seen); err != nil {
		log.Fatal(err)
	}
	for _, s := range seen.Stages {
		fmt.Println(s.Stage, s.RowsIn, s.RowsOut)
	}
	fmt.Println("done up to position", seen.Done)
	// Output:
	// graphs 0 3
	// select 3 3
	// discard 3 0
	// done up to position 2
}
