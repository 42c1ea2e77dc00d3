package choose_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/earlier"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
)

// script makes events of payments: new accounts, words that no row to learn from has, payments to oneself, rows of old, equal and unknown times,
// rows without a class, and classes that come later or change. It keeps the table that has the rows in the order of their events.
type script struct {
	rand  *rand.Rand
	table []string
	now   int
}

func (s *script) class() string { return []string{"no", "yes", ""}[s.rand.IntN(3)] }

func (s *script) next() choose.Event {
	r := s.rand
	if r.IntN(3) == 0 {
		at, class := 1+r.IntN(len(s.table)-1), s.class()
		s.table[at] = s.table[at][:strings.LastIndexByte(s.table[at], ',')+1] + class
		return choose.Event{Kind: choose.SetClass, ID: fmt.Sprint(at), Class: class}
	}
	s.now += r.IntN(3)
	time := fmt.Sprint(s.now - r.IntN(2)*r.IntN(60))
	if r.IntN(20) == 0 {
		time = ""
	}
	source := fmt.Sprintf("s%d", r.IntN(44+s.now/50))
	target := fmt.Sprintf("s%d", r.IntN(44))
	if r.IntN(10) == 0 {
		target = source
	}
	if r.IntN(10) == 0 {
		source = ""
	}
	f := []string{time, source, target, fmt.Sprintf("%.2f", r.ExpFloat64()*10), []string{"card", "cash", "cheque"}[r.IntN(3)], s.class()}
	s.table = append(s.table, strings.Join(f, ","))
	return choose.Event{Kind: choose.AddRow, Row: choose.Row{"time": f[0], "source": f[1], "target": f[2], "amount": json.Number(f[3]), "kind": f[4], "class": f[5]}}
}

// grown opens a model for the rows of a table, in the words of the model.
func grown(t testing.TB, p *sinks.Predictor, table []string) *choose.OpenHistory {
	t.Helper()
	set := rowsOf(t, table)
	h, err := choose.HistoryOf(p, set, nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := h.OpenRows(p, choose.RowColumns{Time: "time", Class: "class"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// told is what a model tells about rows, stored and new, and why about some.
func told(t testing.TB, o *choose.OpenHistory, ids []string, rows []choose.Row) (all []string) {
	t.Helper()
	asked, _, err := o.Ask(ids, rows)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range asked {
		a, err := o.Predict(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if i%20 > 0 {
			all = append(all, fmt.Sprint(a))
			continue
		}
		why, err := o.Explain(t.Context(), q, "")
		if err != nil && strings.Contains(err.Error(), "*nn.Pooled has no weights") {
			all = append(all, fmt.Sprint(a))
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(why)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(a, string(text)))
	}
	return all
}

// rowSystem returns a system of the rows, or "fields", a network on receptive fields of the past.
func rowSystem(t testing.TB, h *choose.History, name string) choose.System {
	t.Helper()
	systems := must(h.Systems())
	if name != "fields" {
		return must(choose.Pick(systems, []string{name}))[0]
	}
	words := must(choose.Pick(systems, []string{"words"}))[0]
	return choose.System{
		Name: name, Recipe: append(words.Recipe[:2:2], operators.Assemble{K: 20}, operators.Normalize{By: labeling.WL, Distances: 4}),
		New:    func(seed uint64, _ int) nn.Saver { return &nn.Pooled{Maps: 16, Seed: seed} },
		Epochs: 10, Patience: 5,
	}
}

// predictor is a model of thefts whose rows know the classes of all earlier ones.
func predictor(t testing.TB, system string, table []string) *sinks.Predictor {
	t.Helper()
	set := rowsOf(t, table)
	h := &choose.History{Set: set, Windows: []earlier.Window{{Name: "20", Length: 20}}, Delay: 3}
	s := rowSystem(t, h, system)
	s.Epochs = min(s.Epochs, 2)
	chosen := must(choose.Choice{Systems: []choose.System{s}, Classes: set.Classes, Train: h.Rows(first(450)), Valid: h.Rows(first(600)[450:]), Seed: 1}.Run(t.Context()))
	if err := h.Keep(chosen.Net); err != nil {
		t.Fatal(err)
	}
	p := must(sinks.NewPredictor(chosen.Net, chosen.Recipe))
	t.Cleanup(func() { p.Close() })
	return p
}

// Answers and reasons of rows that grow are, to the last bit, those of a table that has the rows in the order of their events, at each of four
// positions, or ten if SANFLOW_LONG is set.
func TestGrowing(t *testing.T) {
	race.Skip(t)
	positions := 4
	if long {
		positions = 10
	}
	for _, system := range []string{"trees-words", "fields"} {
		base := thefts(600)
		p := predictor(t, system, base)
		s := &script{rand: rand.New(rand.NewPCG(5, 6)), table: base, now: 299}
		o := grown(t, p, base)
		for position := range positions {
			var events []choose.Event
			for range 40 {
				events = append(events, s.next())
			}
			for from := 0; from < len(events); { // in batches
				to := min(len(events), from+1+s.rand.IntN(8))
				b := o.Begin()
				if err := b.Add(events[from:to]...); err != nil {
					t.Fatal(err)
				}
				o.Apply(int64(40*position+to), b.Changes...)
				from = to
			}
			var ids []string
			for i := range 200 { // the new ones, and some of old
				ids = append(ids, fmt.Sprint(max(1, len(s.table)-1-i*(1+i/100))))
			}
			rows := []choose.Row{
				{"time": s.now + 5, "source": "s8", "target": "s2", "amount": 9.5, "kind": "cash"},
				{"time": s.now - 40, "source": "s8", "target": "s1000", "amount": 9.5, "kind": "cheque"},
				{"time": nil, "source": "s8", "target": "s2"},
			}
			got, want := told(t, o, ids, rows), told(t, grown(t, p, s.table), ids, rows)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("%s, position %d, %s:\n%s\nwant\n%s", system, position, append(ids, "new", "late", "no time")[i], got[i], want[i])
				}
			}
		}
	}
}

// A batch accepts all events of a call or none, and refuses what contradicts the rows, the model or itself.
func TestRefused(t *testing.T) {
	race.Skip(t)
	base := thefts(600)
	o := grown(t, predictor(t, "trees", base), base)
	row := func(more ...any) choose.Row {
		r := choose.Row{"time": 300, "source": "s1"}
		for i := 0; i < len(more); i += 2 {
			r[more[i].(string)] = more[i+1]
		}
		return r
	}
	b := o.Begin()
	if err := b.Add(choose.Event{Kind: choose.AddRow, Row: row()}, choose.Event{Kind: choose.SetClass, ID: "601", Class: "yes"}); err != nil {
		t.Fatal(err)
	}
	for want, e := range map[string]choose.Event{
		`event 2: there is no row "700"`:                                {Kind: choose.SetClass, ID: "700"},
		`event 2: there is no row "account:s1"`:                         {Kind: choose.SetClass, ID: "account:s1"},
		`event 2: the class is "maybe", want one of the model, or none`: {Kind: choose.SetClass, ID: "1", Class: "maybe"},
		`event 2: the kind is "add_edge", want add_row or set_class; a row with a column "kind" is written {"row": {"kind": …}}`: {Kind: "add_edge"},
		`event 2: there is a row "601" already`:                                {Kind: choose.AddRow, ID: "601", Row: row()},
		`event 2: there is a row "7" already`:                                  {Kind: choose.AddRow, ID: "7", Row: row()},
		`event 2: the model reads no column "color"`:                           {Kind: choose.AddRow, Row: row("color", 1)},
		`event 2: "amount" is "much", want a finite decimal number`:            {Kind: choose.AddRow, Row: row("amount", "much")},
		`event 2: the class is "maybe", want one of the model, or none, ` + "": {Kind: choose.AddRow, Row: row("class", "maybe")},
		`event 2: "time" is "1e300", want a time up to 3.4028234663852886e+38`: {Kind: choose.AddRow, Row: choose.Row{"time": "1e300"}},
		`event 2: the row has no "time", the time: null is an unknown one`:     {Kind: choose.AddRow, Row: choose.Row{"source": "s1"}},
	} {
		err := b.Add(choose.Event{Kind: choose.AddRow, Row: row()}, e)
		if want = strings.TrimSuffix(want, ", "); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := b.Add(choose.Event{Kind: choose.AddRow, Row: row()}); err != nil || len(b.Changes) != 3 || b.Changes[2].Event.ID != "602" {
		t.Errorf("%d changes, %v: refused events are counted", len(b.Changes), err)
	}
	if _, _, err := o.Ask([]string{"601"}, nil); err == nil {
		t.Error("a row is there before it is applied")
	}
	o.Apply(3, b.Changes...)
	if _, position, err := o.Ask([]string{"601", "602"}, nil); err != nil || position != 3 {
		t.Errorf("position %d, %v", position, err)
	}
}
