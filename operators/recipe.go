package operators

import (
	"encoding/json"
	"fmt"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Recipe is a list of operators that turns graphs into the input of a model. It can be stored
// with the weights.
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
// As JSON a recipe is a list of objects with the name of the operator and every setting that is
// not its default. It reads back equal. Register and labeling.Register make your operators and
// labelings known to recipes. An Expect in front stores the layout of the graphs and refuses
// others before the first one flows.
type Recipe []flow.Operator

// Onto returns the pipeline p followed by the operators of the recipe.
func (r Recipe) Onto(p flow.Pipeline) flow.Pipeline {
	for _, op := range r {
		p = p.Via(op)
	}
	return p
}

// Find returns the first operator of type T of a recipe. ok is false if there is none:
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

// Graphs returns the layout of the recipe's Expect, and nil without one.
func (r Recipe) Graphs() *record.Layout {
	if e, ok := Find[Expect](r); ok {
		return &e.Layout
	}
	return nil
}

// String returns the recipe as JSON, or the error of MarshalJSON.
func (r Recipe) String() string {
	text, err := r.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// ParseRecipe reads the JSON of one recipe.
func ParseRecipe(text string) (Recipe, error) {
	var r Recipe
	err := r.UnmarshalJSON([]byte(text))
	return r, err
}

// MarshalJSON writes the recipe. An operator that is not registered and a setting that JSON
// cannot hold, such as a function or a NaN, are errors.
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

// UnmarshalJSON reads the output of MarshalJSON.
func (r *Recipe) UnmarshalJSON(text []byte) (err error) {
	if *r, err = parseOperators(text); err != nil {
		return fmt.Errorf("operators: recipe: %w", err)
	}
	return nil
}
