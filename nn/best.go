package nn

// mostWeights is how many weights the table of a Best has at most.
const mostWeights = 1 << 26

// Best returns the most accurate model for most data: a Logistic with kernel Min, ten Heads and
// Width 131072. Counts of count.Standard make it classify graphs, of count.Around nodes, of
// count.Pair pairs of nodes.
//
//	recipe := operators.Recipe{operators.Count{Of: count.Standard()}}
//	fit, err := sinks.Fit{Net: nn.Best(), Patience: 10}.Run(ctx, recipe.Onto(flow.From(src)))
//
// Fields may be changed before Init, which halves Width for more than 51 classes until the
// table has at most 2²⁶ weights of 8 bytes: 21 MB for two classes, 0.5 GB at most. A file has
// only the used rows. A row with n different counts costs O(Heads·n·classes) a step.
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
