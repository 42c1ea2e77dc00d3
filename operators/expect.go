package operators

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Expect passes graphs of that layout and refuses others, by what differs. A
// stream without classes passes.
type Expect struct{ Layout record.Layout }

var _ flow.Operator = Expect{}

// String keeps the plan of a pipeline short.
func (Expect) String() string { return "Expect" }

// Open compares the layouts.
func (e Expect) Open(in *arrow.Schema) (flow.Stage, error) {
	want := e.Layout
	if err := want.Check(); err != nil {
		return nil, err
	}
	l, err := record.LayoutOf(in)
	if err != nil {
		return nil, err
	}
	if l.Directed != want.Directed {
		return nil, fmt.Errorf("the graphs are %s, want %s ones", directed(l), directed(want))
	}
	wanted := want.Attributes()
	for i, got := range l.Attributes() {
		if want := wanted[i]; !slices.EqualFunc(got.Channels, want.Channels, record.Channel.Equal) {
			return nil, fmt.Errorf("the graphs have the channels %s in %s, want %s", channelWords(got.Channels), got.Column, channelWords(want.Channels))
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
