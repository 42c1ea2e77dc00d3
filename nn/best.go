package nn

// mostWeights is how many weights the table of a Best has at most.
const mostWeights = 1 << 26

// Best returns the most accurate model here: [Logistic] regression on the levels 1, 2,
// 4, 8 … that counts reach, with ten heads. Each head leaves a tenth of the rows out,
// and the loss on those tells when to stop, so that no rows need be set aside. The
// model is the same for graphs, nodes and pairs of nodes, which differ in what is
// counted: count.Standard in a graph, count.Around a node, count.Pair around two nodes.
//
//	recipe := operators.Recipe{operators.Count{Of: count.Standard()}}
//	net := nn.Best()
//	fit, err := sinks.Fit{Net: net, Patience: 10}.Run(ctx, recipe.Onto(flow.From(src)))
//
// README.md of examples/benchmark compares it with other models on 20 collections.
//
// The fields may be changed before Init. Width is 131072; for more than 51 classes Init
// halves it until the table has at most 2²⁶ weights. A weight takes 12 bytes: 31 MB for
// two classes, 0.8 GB at most. A file has the rows of the table that are in use: 3.8 MB
// for the 1 500 graphs of IMDB-MULTI, where the table has 15.7 MB. A row with n different counts costs O(Heads·n·classes) a
// step.
func Best() *Logistic {
	return &Logistic{
		Kernel: Min, Width: 1 << 17, Heads: 10, narrow: true,
		Optimizer: AdaGrad{Rate: 0.05, Epsilon: 1e-3}, // the default, by which String names the model
	}
}

// fits makes the table of a Best as small as its classes need.
func (m *Logistic) fits(s Shape) error {
	for m.narrow && m.Width > 1 && m.Width*m.Heads*s.Classes > mostWeights {
		m.Width /= 2
	}
	return nil
}
