// Command ownoperator runs an operator that is not part of sanflow. The operator is in triangles.go.
package main

import (
	"context"
	"fmt"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

func main() { cli.Main("ownoperator", run) }

func run(ctx context.Context, args []string) error {
	f := cli.Flags("ownoperator", `runs an operator that is not part of sanflow, in triangles.go.

  ownoperator                                 triangles of six families of graphs
  ownoperator -graphs 60 -seed 2`)
	var graphs, most int
	cli.Int(f, &graphs, "graphs", 480, 1, cli.Many, "number of generated graphs")
	seed := f.Uint64("seed", 1, "seed of the collection")
	cli.Int(f, &most, "max-nodes", 0, 0, cli.Many, "most nodes of a graph, larger ones are refused; 0 = any number")
	if err := cli.Parse(f, args); err != nil {
		return err
	}
	var out sinks.Collect
	defer out.Release()
	p := flow.From(sources.Families{Graphs: graphs, Seed: *seed}).Via(Triangles{Most: most}).To(&out)
	fmt.Printf("%v\n\n", p)
	refused := 0
	p = p.With(flow.Options{Refused: flow.Keep, DeadLetters: func(l flow.Letter) error {
		if refused++; refused == 1 {
			fmt.Printf("%s: graph %d: %v\n", l.Stage, l.Graph, l.Err)
		}
		return nil
	}})
	if err := p.Run(ctx); err != nil {
		return err
	}
	if refused > 0 {
		fmt.Printf("%d graphs were refused\n\n", refused)
	}
	sum := make([]int32, len(sources.FamilyNames))
	count := make([]int32, len(sum))
	for _, rec := range out.Records() {
		class, err := record.Values[int32](rec, record.Target)
		if err != nil {
			return err
		}
		n, err := record.Values[int32](rec, "triangles")
		if err != nil {
			return err
		}
		for i, c := range class {
			sum[c] += n[i]
			count[c]++
		}
	}
	for c, name := range sources.FamilyNames {
		if count[c] > 0 {
			fmt.Printf("%-24s %6.1f triangles per graph\n", name, float64(sum[c])/float64(count[c]))
		}
	}
	return nil
}
