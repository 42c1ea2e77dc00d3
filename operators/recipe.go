package operators

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/labeling"
)

// Recipe is how graphs become the fields that a model reads, as one value that
// can be saved beside its weights. Onto puts the stages on a pipeline:
//
//	Channel{By: Bare} → Select → Assemble → Normalize → Standardize
//
// the first and the last of them where they are asked for. Its text, by String
// and ParseRecipe, is what a model file carries, so that the model can be fed
// graphs straight away.
type Recipe struct {
	W, K, Stride      int               // of Select and Assemble
	Select, Normalize labeling.Labeling // nil = the default of the operator
	Edges             bool              // of Normalize
	Bare              labeling.Labeling // gives graphs without attributes a channel; nil = none
	Mean, Std         []float32         // of Standardize; nil = not scaled

	// Graphs, if set, is what the graphs were like: their channels, whether they
	// are directed, their classes. Onto then refuses others before the first one
	// flows. Graphs whose classes are not known are welcome.
	Graphs *record.Layout
}

// Onto returns the pipeline with the stages of the recipe behind its own. It
// stands where the graphs are whole: right behind a source.
func (r Recipe) Onto(p flow.Pipeline) flow.Pipeline {
	if r.Graphs != nil {
		p = p.Via(Expect{*r.Graphs})
	}
	if r.Bare != nil {
		p = p.Via(Channel{By: r.Bare})
	}
	p = p.Via(Select{W: r.W, By: r.Select, Stride: r.Stride}).
		Via(Assemble{K: r.K}).
		Via(Normalize{By: r.Normalize, Edges: r.Edges})
	if r.Mean != nil {
		p = p.Via(Standardize{Mean: r.Mean, Std: r.Std})
	}
	return p
}

// recipeText is a Recipe as JSON.
type recipeText struct {
	W         int            `json:"w"`
	K         int            `json:"k"`
	Stride    int            `json:"stride"`
	Select    string         `json:"select,omitempty"`
	Normalize string         `json:"normalize,omitempty"`
	Edges     bool           `json:"edges,omitempty"`
	Bare      string         `json:"bare,omitempty"`
	Mean      []float32      `json:"mean,omitempty"`
	Std       []float32      `json:"std,omitempty"`
	Graphs    *record.Layout `json:"graphs,omitempty"`
}

// String returns the recipe as JSON, which ParseRecipe reads.
func (r Recipe) String() string {
	name := func(l labeling.Labeling) string {
		if l == nil {
			return ""
		}
		return l.String()
	}
	text, err := json.Marshal(recipeText{
		r.W, r.K, r.Stride, name(r.Select), name(r.Normalize), r.Edges, name(r.Bare), r.Mean, r.Std, r.Graphs,
	})
	if err != nil {
		return err.Error() // a moment that is NaN; ParseRecipe refuses it
	}
	return string(text)
}

// ParseRecipe is the inverse of String. A labeling that labeling.Parse does not
// know, because it is the user's own, is an error.
func ParseRecipe(text string) (Recipe, error) {
	var t recipeText
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return Recipe{}, fmt.Errorf("operators: recipe: %w", err)
	}
	r := Recipe{W: t.W, K: t.K, Stride: t.Stride, Edges: t.Edges, Mean: t.Mean, Std: t.Std, Graphs: t.Graphs}
	for _, l := range []struct {
		name string
		into *labeling.Labeling
	}{{t.Select, &r.Select}, {t.Normalize, &r.Normalize}, {t.Bare, &r.Bare}} {
		if l.name == "" {
			continue
		}
		var err error
		if *l.into, err = labeling.Parse(l.name); err != nil {
			return Recipe{}, fmt.Errorf("operators: recipe: %w", err)
		}
	}
	return r, nil
}

// Expect passes graphs of that layout and refuses others, by what differs. A
// stream without classes passes.
type Expect struct{ Layout record.Layout }

var _ flow.Operator = Expect{}

// String keeps the plan of a pipeline short.
func (Expect) String() string { return "Expect" }

// Open compares the layouts.
func (e Expect) Open(in *arrow.Schema) (flow.Stage, error) {
	l, err := record.LayoutOf(in)
	if err != nil {
		return nil, err
	}
	want := e.Layout
	if l.Directed != want.Directed {
		return nil, fmt.Errorf("the graphs are %s, want %s ones", directed(l), directed(want))
	}
	for _, c := range []struct {
		what      string
		got, want []record.Channel
	}{
		{"discrete node", l.NodeCat, want.NodeCat}, {"continuous node", l.NodeAttr, want.NodeAttr},
		{"discrete edge", l.EdgeCat, want.EdgeCat}, {"continuous edge", l.EdgeAttr, want.EdgeAttr},
		{"sparse node", one(l.NodeSparse), one(want.NodeSparse)},
	} {
		if !slices.Equal(c.got, c.want) {
			return nil, fmt.Errorf("the graphs have %s of %s channels, want %s", channelWords(c.got), c.what, channelWords(c.want))
		}
	}
	if l.Real && len(want.Classes) > 0 {
		return nil, errors.New("the targets are numbers, want classes")
	}
	if len(l.Classes) > 0 && !slices.Equal(l.Classes, want.Classes) {
		return nil, fmt.Errorf("the graphs are of the classes %q, want %q", l.Classes, want.Classes)
	}
	return passing{in}, nil
}

func directed(l record.Layout) string {
	if l.Directed {
		return "directed"
	}
	return "undirected"
}

func one(c record.Channel) []record.Channel {
	if c.Card == 0 {
		return nil
	}
	return []record.Channel{c}
}

// channelWords names channels, with the number of values of discrete ones.
func channelWords(list []record.Channel) string {
	if len(list) == 0 {
		return "none"
	}
	var names []string
	for _, c := range list {
		name := c.Name
		if c.Card > 0 {
			name += fmt.Sprintf(" (%d values)", c.Card)
		}
		names = append(names, name)
	}
	return fmt.Sprintf("%q", names)
}

// passing passes every record.
type passing struct{ schema *arrow.Schema }

func (p passing) Schema() *arrow.Schema { return p.schema }

func (p passing) Fork() flow.Stage { return p }

func (p passing) Process(rec arrow.Record, out *flow.Out) error {
	rec.Retain()
	return out.Emit(rec)
}
