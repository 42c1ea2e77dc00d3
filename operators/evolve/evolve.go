// Package evolve keeps the receptive fields of a graph that changes by events.
//
//	f, err := evolve.New(dynamic.Settings{Last: 100_000}, field.Both, &field.Normalizer{K: 10}, true)
//	if err != nil {
//		log.Fatal(err)
//	}
//	for e := range events {
//		if err := f.Apply(&e); err != nil {
//			log.Fatal(err)
//		}
//		err := f.Refresh(func(root int32, members []int32, _ []uint8) error {
//			fmt.Println(e.Time, "has changed the field of", root, "to", members)
//			return nil
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//	}
//
// The operator Evolve is this with records.
//
// # What an event makes stale
//
// A field depends on the walk of Algorithm 2 (Niepert et al. 2016): on the rows of the nodes
// before its last level, on where the walk ended, and on the edges and attributes among the nodes that
// it reached. An event makes stale the fields whose walk expands an end of its edge or reaches
// both.
//
// A bounded field (SetBound) depends also on the ranks of the nodes of its last level, which depend on all that is
// within two steps of them (field.Index.SetBound). After a change all bounded fields are computed again.
//
// # Cost
//
// Fields computed again for each that changed, event by event, k = 10 (go test -bench
// 'Kept$' ./operators/field, the first 1000 of the last tenth of the edges, undirected):
//
//	            changed  ratio
//	power           9.3   1.42
//	astro-ph        6.9   7.03
//	CollegeMsg      2.9   24.1
//	email-Enron     5.7    111
//
// With a bound of 16 one edge of email-Enron changes 1103 fields, since ties of degree are ranked by hashes, which
// change for all nodes within two steps. Computing all bounded fields anew costs as much as finding those of two or three
// events, and less than those of a batch of 100.
package evolve

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/internal/state"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
)

// Fields owns a dynamic graph, an index that reads its rows, and the fields of its nodes. Neither is ever
// made anew: each event changes them where it has to. Fields serves one goroutine.
type Fields struct {
	g    *dynamic.Graph
	kept *field.Kept
	dir  field.Direction
	norm *field.Normalizer
}

// New returns the fields of a graph without nodes, in the order that norm gives. If members, it
// keeps the members of all fields; see field.NewKept.
func New(s dynamic.Settings, dir field.Direction, norm *field.Normalizer, members bool) (*Fields, error) {
	g, err := dynamic.New(s)
	if err != nil {
		return nil, err
	}
	return &Fields{g, field.NewKept(g, dir, norm, members), dir, norm}, nil
}

// Graph returns the graph, which is not to be changed.
func (f *Fields) Graph() *dynamic.Graph { return f.g }

// Index returns the index of the graph, borrowed until the next event.
func (f *Fields) Index() *field.Index { return f.kept.Index() }

// Members returns the members of the field of root: see field.Kept.Members.
func (f *Fields) Members(root int32) []int32 { return f.kept.Members(root) }

// Stats returns the counts so far.
func (f *Fields) Stats() field.KeptStats { return f.kept.Stats() }

// ordered says what the order of fields depends on.
func ordered(dir field.Direction, z *field.Normalizer) string {
	by := cmp.Or(z.By, labeling.Labeling(labeling.WL))
	return fmt.Sprintf("K %d, Direction %v, By %v, IgnoreAttributes %t, Uniform %t, CropBudget %d, CanonBudget %d",
		z.K, dir, by, z.IgnoreAttributes, z.Uniform, z.CropBudget, z.CanonBudget)
}

// SetBound bounds the fields from now on as field.Index.SetBound does; 0 is no bound. All are
// stale. See field.Kept.SetBound. A bound below the size of a field is a panic.
func (f *Fields) SetBound(most int) { f.kept.SetBound(most) }

// Touch makes the field of root stale and Refresh hand it over, changed or not.
func (f *Fields) Touch(root int32) { f.kept.Touch(root) }

// Apply makes the change that e asks for, and makes stale what it can have changed: see field.Kept.Apply.
func (f *Fields) Apply(e *event.Event) error { return f.kept.Apply(e) }

// Refresh computes the stale fields and hands over those that have changed; see
// field.Kept.Refresh.
func (f *Fields) Refresh(do func(root int32, members []int32, dist []uint8) error) error {
	return f.kept.Refresh(do)
}

const stateHead = "sanflow fields 4\n"

// Save writes the graph and the fields. What is stale is not part of it: Refresh comes before.
func (f *Fields) Save(w io.Writer) error {
	if f.kept.Stale() > 0 {
		return errors.New("evolve: state: fields are stale, want Refresh before Save")
	}
	settings := ordered(f.dir, f.norm)
	return state.Save(w, stateHead, func(c *state.Codec) {
		state.Text(c, "bytes of settings", 1<<16, &settings)
		state.Section(c, f.g.Save, nil)
		f.kept.State(c)
	})
}

// Load reads the output of Save, of fields with this direction and these settings of norm. maxNodes bounds the
// memory, as in dynamic.Load. No field is computed: that the members are those of the graph is only as true as the
// checksum.
func Load(r io.Reader, dir field.Direction, norm *field.Normalizer, maxNodes int) (f *Fields, err error) {
	err = state.Load(r, stateHead, func(c *state.Codec) {
		var settings string
		var g *dynamic.Graph
		state.Text(c, "bytes of settings", 1<<16, &settings)
		want := ordered(dir, norm)
		c.Check(settings == want, "the state is of fields with %s, want %s", settings, want)
		state.Section(c, nil, func(r io.Reader) (err error) { g, err = dynamic.Load(r, maxNodes); return err })
		if !c.Loading() {
			return
		}
		f = &Fields{g, field.NewKept(g, dir, norm, true), dir, norm}
		f.kept.State(c)
	})
	if err != nil {
		return nil, fmt.Errorf("evolve: state: %w", err)
	}
	return f, nil
}

// Restore makes f what Save has written, as Load does. The graph and the fields have to have the settings of f.
// After an error f is as before.
func (f *Fields) Restore(r io.Reader) error {
	next, err := Load(r, f.dir, f.norm, f.g.Settings().MaxNodes)
	if err != nil {
		return err
	}
	if err := next.fits(f); err != nil {
		return fmt.Errorf("evolve: state: %w", err)
	}
	*f = *next
	return nil
}

// fits reports the first way in which the settings of the fields or of the graph are not those of g.
func (f *Fields) fits(g *Fields) error {
	all := func(f *Fields) string { return fmt.Sprintf("%s, %v", ordered(f.dir, f.norm), f.kept) }
	if all(f) != all(g) {
		return fmt.Errorf("the state is of fields with %s, want %s", all(f), all(g))
	}
	if f.g.Settings() != g.g.Settings() {
		return fmt.Errorf("the state is of a graph %+v, want %+v", f.g.Settings(), g.g.Settings())
	}
	return nil
}
