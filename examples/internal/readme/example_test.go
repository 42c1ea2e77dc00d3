package readme_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// The program of the README. It is compiled here, and run by TestProgram.
func Example() {
	recipe := operators.Recipe{
		operators.Channel{By: labeling.NormalizedDegree},  // bare graphs: two labelings
		operators.Channel{By: labeling.Clustering},        // are their attributes
		operators.Select{W: 40, By: labeling.Betweenness}, // w = 40 roots per graph, in rank order
		operators.Assemble{K: 10},                         // at least k = 10 nearest nodes around each
		operators.Normalize{By: labeling.WL},              // ranked, exactly k: (w, k, a_v)
	}
	net := &nn.CNN{Dropout: -1}
	err := recipe.Onto(flow.From(sources.Families{Graphs: 2400})).
		Via(operators.Replay{Epochs: 5, Rows: 32}). // 32 graphs: (32, w, k, a_v), all of them five times
		To(sinks.Train{Net: net}).                  // one step per batch
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	err = recipe.Onto(flow.From(sources.Families{Graphs: 600, Seed: 2})).
		To(sinks.Evaluate{Net: net, Done: func(r nn.Result) error {
			fmt.Printf("%d of %d new graphs right\n", r.Correct, r.Rows)
			return nil
		}}).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
}

func readRows() [][][2]int32 { return [][][2]int32{{{0, 1}, {1, 2}}, {{0, 1}, {1, 2}, {2, 0}}} }

// Graphs of the user's own.
func Example_source() {
	each := func(yield func(sources.Item, error) bool) {
		var b sources.Builder
		for _, edges := range readRows() { // from wherever graphs come
			for _, e := range edges {
				b.Edge(e[0], e[1])
			}
			g, err := b.Graph()
			if !yield(sources.Item{Graph: g, Class: int32(g.M() % 2)}, err) {
				return
			}
		}
	}
	p := flow.From(sources.Seq{Iter: each, Layout: record.Layout{Classes: []string{"even", "odd"}}}).
		Via(operators.Select{W: 3, By: Remoteness{}}).
		Via(operators.Normalize{K: 3})

	fmt.Println(p.Run(context.Background()))
	// Output: <nil>
}

// Remoteness ranks the nodes with the fewest neighbours first.
type Remoteness struct{}

func (Remoteness) String() string { return "remoteness" }

func (Remoteness) Label(in labeling.Input, labels []float64) error {
	for v := range labels {
		labels[v] = -float64(in.Graph.Degree(int32(v)))
	}
	return nil
}

// Words and kernels.
func Example_words() {
	ctx := context.Background()
	items, err := sources.Families{Graphs: 1, Seed: 5}.Items()
	if err != nil {
		log.Fatal(err)
	}
	g := items[0].Graph
	showWords(ctx, g)
	// Output:
	// 531 graphs, the first two alike by 0.87
	// 52 of 69 right
	// 1 <nil>
}

func showWords(ctx context.Context, g *graph.Graph) {
	src := sources.Families{Graphs: 600} // or a sources.TU
	words := operators.Count{Of: []count.Counter{count.WL{Height: 2}, Leaves{}}}
	var bags sinks.CollectCounts
	err := flow.From(src).Via(operators.Part{Of: 10, Rest: true}). // nine tenths of the graphs
									Via(words).To(&bags).Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	gram, err := graphkernel.GramOf(ctx, bags.Counts[0], nn.Cosine, 2) // the kernel of all pairs, to look at
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d graphs, the first two alike by %.2f\n", gram.N, gram.Row(0)[1])
	svm := &graphkernel.SVM{C: 10, Kernel: nn.Cosine} // computes what it needs of it by itself
	if err := svm.FitCounts(ctx, bags.Counts[0], bags.Class); err != nil {
		log.Fatal(err)
	}
	err = flow.From(src).Via(operators.Part{Of: 10}).Via(words). // the others
									To(sinks.Evaluate{Net: svm, Done: func(r nn.Result) error {
			fmt.Printf("%d of %d right\n", r.Correct, r.Rows)
			return nil
		}}).Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	ids, counts, err := count.Of(count.Input{Graph: g}, words.Of...) // g is a *graph.Graph in hand
	if err != nil {
		log.Fatal(err)
	}
	class, err := svm.Classify(ids, counts) // from 0
	fmt.Println(class, err)
}

// Leaves counts the nodes with a single neighbour.
type Leaves struct{}

func (Leaves) String() string { return "leaves" }

func (Leaves) Count(in count.Input, bag *count.Bag) error {
	for v := range int32(in.Graph.N()) {
		if in.Graph.Degree(v) == 1 {
			bag.Add(uint64(count.Kind("leaves")), 1)
		}
	}
	return nil
}

// The most accurate model.
func Example_best() {
	ctx := context.Background()
	src := sources.Families{Graphs: 600} // or a sources.TU
	schema, err := flow.From(src).Schema(ctx)
	if err != nil {
		log.Fatal(err)
	}
	layout, err := record.LayoutOf(schema) // what its graphs are like: attributes, classes
	if err != nil {
		log.Fatal(err)
	}
	recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: count.Standard()}}
	best := nn.Best()
	train := recipe.Onto(flow.From(src).Via(operators.Part{Of: 10, Rest: true})) // nine tenths of the graphs
	fit, err := sinks.Fit{Net: best, Epochs: 10, Patience: 3}.Run(ctx, train)
	if err != nil {
		log.Fatal(err)
	}
	held := fit.Epochs[fit.Best-1].Train // by the head that left a graph out
	fmt.Printf("epoch %d: %d of %d right\n", fit.Best, held.Correct, held.Rows)
	err = recipe.Onto(flow.From(src).Via(operators.Part{Of: 10})). // the others
									To(sinks.Evaluate{Net: best, Done: func(r nn.Result) error {
			fmt.Printf("%d of %d right\n", r.Correct, r.Rows)
			return nil
		}}).Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// epoch 10: 510 of 531 right
	// 65 of 69 right
}

// A model is kept with its recipe.
func Example_keep() {
	layout := record.Layout{Classes: sources.FamilyNames}
	recipe := operators.Recipe{
		operators.Expect{Layout: layout}, // what graphs are like goes with the recipe
		operators.Channel{By: labeling.Degree},
		operators.Select{W: 10},
		operators.Assemble{K: 5},
		operators.Normalize{},
	}
	net := &nn.CNN{}
	err := recipe.Onto(flow.From(sources.Families{Graphs: 60})).
		Via(operators.Batch{}).To(sinks.Train{Net: net}).Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	items, err := sources.Families{Graphs: 1}.Items()
	if err != nil {
		log.Fatal(err)
	}
	g := items[0].Graph

	if err := sinks.Save(path, net, recipe); err != nil {
		log.Fatal(err)
	}
	p, err := sinks.Load(path) // elsewhere, later
	if err != nil {
		log.Fatal(err)
	}
	answer, err := p.Predict(context.Background(), g) // from any goroutine
	fmt.Println(len(answer.Probs), err)

	// Output: 6 <nil>
}

// What is refused, and what a run says of itself.
func Example_letters() {
	p := flow.From(sources.Families{Graphs: 60}).Via(operators.Select{W: 10})

	run := p.With(flow.Options{
		Refused: flow.Keep, // or Stop, the default, or Skip
		DeadLetters: func(l flow.Letter) error {
			log.Printf("%s: graph %d: %v", l.Stage, l.Graph, l.Err)
			return nil
		},
	}).Start(context.Background())
	err := run.Wait()
	for _, s := range run.Stats().Stages { // at any time: a snapshot
		fmt.Println(s.Stage, s.RowsOut, s.Refused)
	}

	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// families 60 0
	// select 60 0
	// discard 0 0
}

// The nodes of one large graph.
func Example_large() {
	file, err := os.CreateTemp("", "web*.arrow")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(file.Name())
	file.Close()
	ctx, web := context.Background(), file.Name()

	err = flow.From(sources.EdgeList{Path: "path.edges", Reader: strings.NewReader("0 1\n1 2\n")}).
		To(sinks.IPC{Path: web}).Run(ctx) // once
	p := flow.From(sources.Mapped{Path: web}).
		Via(operators.Select{}).          // all nodes; or a labeling and a W
		Via(operators.Chunk{Size: 1024}). // rows of 1024 roots
		Via(operators.Normalize{K: 10}).  // gathers the neighbourhoods itself: (1024, 10, a_v)
		Via(operators.PerRoot{})          // a row per node

	var out sinks.Collect
	defer out.Release()
	fmt.Println(err, p.To(&out).Run(ctx), out.Rows())
	// Output: <nil> <nil> 3
}
