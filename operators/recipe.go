package operators

import (
	"encoding/json"
	"fmt"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Recipe is how graphs become what a model reads: operators, in their order, as
// one value that can be kept with the weights.
//
//	recipe := operators.Recipe{
//		operators.Channel{By: labeling.NormalizedDegree},
//		operators.Select{W: 18},
//		operators.Assemble{K: 10},
//		operators.Normalize{},
//	}
//	fields := recipe.Onto(flow.From(src))
//	text, err := json.Marshal(recipe)
//
// As JSON a recipe is a list of objects, with the name of the operator and every
// setting that is not its default; it comes back equal. Operators and labelings
// of the user's own take part once they are known by a name: see Register and
// labeling.Register. An Expect in front keeps what the graphs were like, and
// refuses others before the first one flows.
type Recipe []flow.Operator

// Onto returns the pipeline with the operators of the recipe behind its own.
func (r Recipe) Onto(p flow.Pipeline) flow.Pipeline {
	for _, op := range r {
		p = p.Via(op)
	}
	return p
}

// Find returns the first operator of type T of a recipe, and whether there is
// one:
//
//	s, ok := operators.Find[operators.Select](recipe)
func Find[T flow.Operator](r Recipe) (T, bool) {
	for _, op := range r {
		if t, ok := op.(T); ok {
			return t, true
		}
	}
	var none T
	return none, false
}

// Graphs returns what the graphs are like that the recipe is for, as its Expect
// tells, and nil where it has none.
func (r Recipe) Graphs() *record.Layout {
	if e, ok := Find[Expect](r); ok {
		return &e.Layout
	}
	return nil
}

// String returns the recipe as JSON, or why there is none.
func (r Recipe) String() string {
	text, err := r.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// ParseRecipe is json.Unmarshal for one recipe.
func ParseRecipe(text string) (Recipe, error) {
	var r Recipe
	err := r.UnmarshalJSON([]byte(text))
	return r, err
}

// MarshalJSON writes the recipe. An operator that is not registered is an error,
// and so is a setting that JSON does not hold, such as a function or a NaN.
func (r Recipe) MarshalJSON() ([]byte, error) {
	list := make([]json.RawMessage, len(r))
	for i, op := range r {
		text, err := formatOperator(op)
		if err != nil {
			return nil, fmt.Errorf("operators: recipe: %w", err)
		}
		list[i] = text
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Recipe) UnmarshalJSON(text []byte) (err error) {
	if *r, err = parseOperators(text); err != nil {
		return fmt.Errorf("operators: recipe: %w", err)
	}
	return nil
}
